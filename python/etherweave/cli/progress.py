"""Progress on standard error: a bar on a terminal, a plain line now and then in a log."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from etherweave.bench.measure import Progress as Launched
from etherweave.simulation import Progress as Facts

console = Console(stderr=True)

LINE_EVERY_S = 10.0
"""Between two lines of a log [s]; what takes less leaves none."""

TellRun: TypeAlias = Callable[[Facts], bool]
"""Takes how far a run is; answers whether to go on."""
TellStudy: TypeAlias = Callable[[int, int, str], None]
"""Takes how many experiments are done, of how many, and which was the last."""
TellStep: TypeAlias = Callable[[str, str], bool]
"""Takes a fabric's name and what is found out next; answers whether to go on."""


@contextmanager
def run_progress(name: str) -> Iterator[TellRun]:
    """Show simulated time, packet-hops per second and the time left of a run."""
    if not console.is_terminal:
        yield RunLines(name)
        return
    with _bar("{task.fields[facts]}") as bar:
        task = bar.add_task(name, total=None, facts="")

        def tell(facts: Facts) -> bool:
            done = share(facts)
            total = None if done is None else 1.0
            bar.update(task, total=total, completed=done or 0.0, facts=speed(facts))
            return True

        yield tell


@contextmanager
def study_progress(name: str, what: str = "experiments") -> Iterator[TellStudy]:
    """Show how many experiments of a study are done, and the time left."""
    if not console.is_terminal:
        yield StudyLines(name, what)
        return
    with _bar("{task.completed}/{task.total} {task.fields[last]}") as bar:
        task = bar.add_task(name, total=None, last="")

        def tell(done: int, count: int, last: str) -> None:
            bar.update(task, completed=done, total=count, last=last)

        yield tell


@contextmanager
def point_progress(name: str) -> Iterator[Callable[[int, int, str], bool]]:
    """Show how many points of a curve are done, and the time left."""
    with study_progress(name, "points") as tell:

        def go_on(done: int, count: int, last: str) -> bool:
            tell(done, count, last)
            return True

        yield go_on


@contextmanager
def measure_progress(name: str) -> Iterator[Callable[[Launched], None]]:
    """Show which launch of a measurement is under way, beside what was expected of it."""
    if not console.is_terminal:
        yield LaunchLines(name)
        return
    with console.status("") as status:
        yield lambda facts: status.update(f"{name}: {_launched(facts)}")


@contextmanager
def step_progress() -> Iterator[TellStep]:
    """Show what is being found out about which fabric."""
    if not console.is_terminal:
        yield StepLines()
        return
    with console.status("") as status:

        def tell(name: str, step: str) -> bool:
            status.update(f"{name}: {step}")
            return True

        yield tell


def _bar(facts: str) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn(facts),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )


class RunLines:
    """Tells how far a run is, as lines.

    Parameters
    ----------
    name
        Begins every line.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._next_s = LINE_EVERY_S

    def __call__(self, facts: Facts) -> bool:
        """Print a line if the last is long ago."""
        if facts["wall_s"] >= self._next_s:
            self._next_s = facts["wall_s"] + LINE_EVERY_S
            _line(f"{self._name}: {speed(facts)}{_left(facts['wall_s'], share(facts))}")
        return True


class StudyLines:
    """Tells how far a study is, as lines.

    Parameters
    ----------
    name
        Begins every line.
    what
        Is counted.
    clock
        Real time [s].
    """

    def __init__(
        self,
        name: str,
        what: str = "experiments",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = name
        self._what = what
        self._clock = clock
        self._start_s = clock()
        self._next_s = LINE_EVERY_S

    def __call__(self, done: int, count: int, last: str) -> None:
        """Print a line if the last is long ago."""
        wall_s = self._clock() - self._start_s
        if wall_s >= self._next_s:
            self._next_s = wall_s + LINE_EVERY_S
            _line(f"{self._name}: {done} of {count} {self._what}{_left(wall_s, done / count)}")


class StepLines:
    """Tells what is being found out, as lines.

    Parameters
    ----------
    clock
        Real time [s].
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next_s = clock() + LINE_EVERY_S

    def __call__(self, name: str, step: str) -> bool:
        """Print a line if the last is long ago."""
        if self._clock() >= self._next_s:
            self._next_s = self._clock() + LINE_EVERY_S
            _line(f"{name}: {step}")
        return True


class LaunchLines:
    """Tells how far a measurement is, as lines.

    Parameters
    ----------
    name
        Begins every line.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._launch = -1
        self._next_s = 0.0

    def __call__(self, facts: Launched) -> None:
        """Print a line for a new launch if it is expected to be long, and now and then."""
        if facts.launch != self._launch:
            self._launch, self._next_s = facts.launch, LINE_EVERY_S
        if facts.elapsed_s >= self._next_s:
            self._next_s = facts.elapsed_s + LINE_EVERY_S
            _line(f"{self._name}: {_launched(facts)}")


def _launched(facts: Launched) -> str:
    return (
        f"launch {facts.launch + 1} of {facts.launches}, {facts.elapsed_s:.0f} s; "
        f"expected {facts.expected}"
    )


def share(facts: Facts) -> float | None:
    """Tell the share of a run that is done, 0 to 1, if anybody can know."""
    if facts["fraction"] is None and facts["end_ns"]:
        return facts["simulated_ns"] / facts["end_ns"]
    return facts["fraction"]


def speed(facts: Facts) -> str:
    """Tell simulated time and packet-hops per real second, as text."""
    hops_per_s = facts["packet_hops"] / max(facts["wall_s"], 1e-9)
    return f"{facts['simulated_ns'] / 1e6:.3f} ms, {hops_per_s / 1e6:.2f} M packet-hops/s"


def _left(wall_s: float, share: float | None) -> str:
    return f", {wall_s * (1 - share) / share:.0f} s left" if share else ""


def _line(text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)
