"""Progress on standard error: a bar on a terminal, a line every ten seconds in a log."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, TypeAlias

from etherweave.api.work import LeftRange, Work, WorkCallback, left_of_share_s
from etherweave.cli.exits import notice, print_warnings

if TYPE_CHECKING:
    from rich.progress import Progress

    from etherweave.api.simulation import Estimate
    from etherweave.api.simulation import Progress as RunFacts
    from etherweave.bench.measure import MeasureProgress as LaunchFacts

LINE_EVERY_S = 10.0  # Between two lines of a log [s]; shorter work prints none.

MEMORY_SHOWN = 1 << 28  # Estimated memory from which on it is printed before the first event [B].
SPAN_MIN_S = 0.1  # The least estimated time that is printed as such [s].
SETUP_SHOWN_S = 2.0  # Estimated time of building from which on it is printed [s].
HOPS_SHOWN = 50_000_000
"""Estimated packet-hops from which on they are printed: ten seconds' work of a processor."""

RunCallback: TypeAlias = "Callable[[RunFacts], bool]"
"""Takes the progress of a run; returns whether to continue."""
CountCallback: TypeAlias = Callable[[int, int, str], None]
"""Takes the number of items done, their total, and the name of the last."""
PointCallback: TypeAlias = Callable[[int, int, str], bool]
"""Takes the number of points done, their total, and the next; returns whether to continue."""
ByteCallback: TypeAlias = Callable[[int, int], None]
"""Takes how much of a file is done, and its length [B]."""
LaunchCallback: TypeAlias = "Callable[[LaunchFacts], None]"  # Takes the progress of a measurement.


def on_terminal() -> bool:
    """Return whether standard error is a terminal that can redraw a line."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def print_start(name: str, printed: set[str], estimate: "Estimate") -> None:
    """Print warnings, and what a large simulation is expected to need."""
    print_warnings(estimate["warnings"], printed)
    is_large = estimate["memory_bytes"] >= MEMORY_SHOWN or estimate["setup_s"] >= SETUP_SHOWN_S
    if is_large or (estimate["packet_hops"] or 0) >= HOPS_SHOWN:
        print_estimate(name, estimate)


def print_estimate(name: str, estimate: "Estimate") -> None:
    """Print what a simulation is expected to need, as a line."""
    hops = estimate["packet_hops"]
    facts = [f"about {size_text(estimate['memory_bytes'])} of memory at most"]
    if hops is not None:
        facts.append(f"{hops:,} packet-hops")
    if (run_s := estimate["run_s"]) is not None:
        facts.append(f"{span_text(run_s)} on a thread")
    if estimate["setup_s"] >= SETUP_SHOWN_S:
        facts.append(f"{span_text(estimate['setup_s'])} to build before")
    if estimate["disk_bytes"] >= MEMORY_SHOWN:
        facts.append(f"{size_text(estimate['disk_bytes'])} on disk if written")
    notice(f"{name}: expected to take {', '.join(facts)}")


def span_text(span_s: float) -> str:
    """Write an estimated time as people compare them: about 3 min."""
    if span_s < SPAN_MIN_S:
        return f"less than {SPAN_MIN_S} s"
    for seconds, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if span_s >= 2 * seconds:
            return f"about {span_s / seconds:.0f} {unit}"
    return f"about {span_s:.0f} s" if span_s >= 2 else f"about {span_s:.1f} s"


def size_text(size_bytes: float) -> str:
    """Write bytes as people compare them: 3.2 GiB."""
    units = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
    step = max(int(size_bytes).bit_length() - 1, 0) // 10
    return f"{size_bytes / 1024**step:.1f} {units[step]}"


@contextmanager
def run_progress(name: str) -> Iterator[RunCallback]:
    """Show simulated time, packet-hops per second and the time left of a run."""
    if not on_terminal():
        lines = RunLines(name)
        with _heartbeat(lambda s: None if lines.has_begun else f"{name}: building, {s:.0f} s"):
            yield lines
        return
    begun = Event()
    building = _heartbeat(lambda s: None if begun.is_set() else f"{name}: building, {s:.0f} s")
    with building, _LateBar(name, "{task.fields[facts]}", run_left, facts="", run=None) as bar:

        def report(facts: "RunFacts") -> bool:
            begun.set()
            done = share(facts)
            total = None if done is None else 1.0
            bar.update(total=total, completed=done or 0.0, facts=speed(facts), run=facts)
            return True

        yield report


@contextmanager
def work_progress(name: str, what: str = "experiments") -> Iterator[WorkCallback]:
    """Show how many items of work are done, and the time left; ``what`` is their plural."""
    if not on_terminal():
        lines = WorkLines(name, what)
        with _heartbeat(lines.line):
            yield lines
        return
    work = "task.fields[work]"
    facts = f"{{{work}.done}}/{{{work}.count}} {{{work}.step}} {{{work}.running}} {{{work}.last}}"
    with _LateBar(name, facts, _work_left, work=Work([])) as bar:
        yield lambda work: bar.update(completed=work.done, total=work.count, work=work)


@contextmanager
def count_progress(name: str, what: str) -> Iterator[CountCallback]:
    """Show how many items are done that take about as long as each other, and the time left."""
    with work_progress(name, what) as show:
        begun_s = time.monotonic()  # The first report may be that of the first end.
        works = list[Work]()

        def report(done: int, count: int, last: str) -> None:
            works[:] = works or [Work([str(item) for item in range(count)], begun_s=begun_s)]
            for item in range(works[0].done, done):
                works[0].end(str(item))
            works[0].last = last
            show(works[0])

        yield report


@contextmanager
def point_progress(name: str) -> Iterator[PointCallback]:
    """Show how many points of a curve are done, and the time left."""
    with count_progress(name, "points") as report:

        def report_and_continue(done: int, count: int, last: str) -> bool:
            report(done, count, last)
            return True

        yield report_and_continue


@contextmanager
def byte_progress(name: str) -> Iterator[ByteCallback]:
    """Show how much of a file is done, and the time left."""
    with count_progress(name, "MiB") as report:
        yield lambda done, length: report(done >> 20, max(length >> 20, 1), "MiB")


@contextmanager
def measure_progress(name: str) -> Iterator[LaunchCallback]:
    """Show the present launch of a measurement beside its predicted duration."""
    with _status() if on_terminal() else _status_lines() as update:
        update(f"{name}: starting")
        yield lambda facts: update(f"{name}: {_launch_text(facts)}")


@contextmanager
def step_progress() -> Iterator["Steps"]:
    """Show which step of which fabric's design is computed, and the time left for it."""
    with _status() if on_terminal() else _status_lines() as update:
        update("building the fabric")
        yield Steps(update)


class Steps:
    """Shows steps, by a function that shows a text from now on."""

    def __init__(self, update: Callable[[str], None]) -> None:
        self._update = update
        self._begun_s: dict[tuple[str, str], float] = {}

    def __call__(self, name: str, step: str, share: float | None = None) -> bool:
        """Show the next step of ``name``, or the share of the present one that is done."""
        begun_s = self._begun_s.setdefault((name, step.partition(",")[0]), time.monotonic())
        left_s = left_of_share_s(time.monotonic() - begun_s, share)
        self._update(f"{name}: {step}{_left_text(left_s)}")
        return True


@contextmanager
def _heartbeat(line: Callable[[float], str | None]) -> Iterator[None]:
    """Print a line every ten seconds, also while the core is busy and reports nothing.

    ``line`` takes the time since the start [s] and returns a line, or None for none.
    """
    done = Event()
    start_s = time.monotonic()

    def beat() -> None:
        while not done.wait(LINE_EVERY_S):
            if text := line(time.monotonic() - start_s):
                notice(text)

    beating = Thread(target=beat, daemon=True)
    beating.start()
    try:
        yield
    finally:
        done.set()
        beating.join()


@contextmanager
def _status() -> Iterator[Callable[[str], None]]:
    from rich.console import Console

    with Console(stderr=True).status("") as status:
        yield status.update


@contextmanager
def _status_lines() -> Iterator[Callable[[str], None]]:
    shown = ""

    def update(text: str) -> None:
        nonlocal shown
        shown = text

    with _heartbeat(lambda wall_s: f"{shown}, {wall_s:.0f} s"):
        yield update


class _LateBar(ExitStack):
    """A bar that appears with the first update: work that is done before needs none.

    A name stands before it and columns, as rich formats them, behind it. The time left is what a
    function writes of the bar's task.
    """

    def __init__(self, name: str, columns: str, left: Callable[[Any], str], **fields: Any) -> None:
        super().__init__()
        self._name = name
        self._columns = columns
        self._left = left
        self._fields = fields
        self._bar: Progress | None = None
        self._task: Any = None

    def update(self, **facts: Any) -> None:
        """Draw the bar anew."""
        if self._bar is None:
            self._bar = self.enter_context(_bar(self._columns, self._left))
            self._task = self._bar.add_task(self._name, total=None, **self._fields)
        self._bar.update(self._task, **facts)


def _bar(columns: str, left: Callable[[Any], str]) -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn

    class Left(ProgressColumn):
        """The time left."""

        max_refresh = 1.0

        def render(self, task: Any) -> Any:
            return left(task)

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn(columns),
        TimeElapsedColumn(),
        Left(),
        console=Console(stderr=True),
        transient=True,
    )


class RunLines:
    """Prints the progress of a run as lines."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._next_s = LINE_EVERY_S
        self.has_begun = False

    def __call__(self, facts: "RunFacts") -> bool:
        """Print a line if the last is long ago."""
        self.has_begun = True
        if facts["wall_s"] >= self._next_s:
            self._next_s = facts["wall_s"] + LINE_EVERY_S
            left = left_of_run(facts)
            text = f", {left.text(_seconds_text)} left" if left else ""
            notice(f"{self._name}: {speed(facts)}{text}")
        return True


class WorkLines:
    """The progress of work as lines; ``what`` is the plural of its items."""

    def __init__(self, name: str, what: str) -> None:
        self._name = name
        self._what = what
        self._work: Work | None = None

    def __call__(self, work: Work) -> None:
        """Take in how much is done."""
        self._work = work

    def line(self, wall_s: float) -> str:
        """Write how much is done after so much real time [s]."""
        if (work := self._work) is None:
            return f"{self._name}: no {self._what} yet, {wall_s:.0f} s"
        done = f"{work.done} of {work.count} {self._what}"
        step = "".join(f", {text}" for text in (work.running, work.step) if text)
        left = work.left()
        text = f", {left.text(_seconds_text)} left" if left else ""
        return f"{self._name}: {done}{step}, {wall_s:.0f} s{text}"


def _launch_text(facts: "LaunchFacts") -> str:
    times = f"{facts.elapsed_s:.0f} s, expected {facts.expected}"
    return f"launch {facts.launch + 1} of {facts.launches} ({times})"


def share(facts: "RunFacts") -> float | None:
    """Return the share of a run that is done, 0 to 1, or None when it is not known."""
    if facts["fraction"] is None and facts["end_ns"]:
        return facts["simulated_ns"] / facts["end_ns"]
    return facts["fraction"]


def speed(facts: "RunFacts") -> str:
    """Write simulated time and packet-hops per real second."""
    hops_per_s = facts["packet_hops"] / max(facts["wall_s"], 1e-9)
    return f"{facts['simulated_ns'] / 1e6:.3f} ms, {hops_per_s / 1e6:.2f} M packet-hops/s"


def _work_left(task: Any) -> str:
    """Write the time left of a bar's work, once it has begun."""
    left = task.fields["work"].left() if task.total else None
    return left.text(_clock_text) if left else _clock_text(None)


def run_left(task: Any) -> str:
    """Write the time left of a bar's run, once it has begun."""
    facts: RunFacts | None = task.fields["run"]
    left = left_of_run(facts) if facts else None
    return left.text(_clock_text) if left else _clock_text(None)


def left_of_run(facts: "RunFacts") -> LeftRange | None:
    """Predict the time left of a run: less where repetitions are skipped soon."""
    return LeftRange.of_shares(facts["wall_s"], share(facts), facts["fraction_max"])


def _clock_text(left_s: float | None) -> str:
    return "-:--:--" if left_s is None else str(timedelta(seconds=round(left_s)))


def _seconds_text(left_s: float) -> str:
    return f"{left_s:.0f} s"


def _left_text(left_s: float | None) -> str:
    return "" if left_s is None else f", {_seconds_text(left_s)} left"
