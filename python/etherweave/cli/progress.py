"""Progress on standard error: a bar on a terminal, nothing elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from etherweave.simulation import Progress as Facts

console = Console(stderr=True)


class Teller(Protocol):
    """Takes facts and answers whether to go on."""

    def __call__(self, facts: Facts) -> bool:
        """Tell how far a run is."""


@contextmanager
def simulation_bar(name: str) -> Iterator[Teller]:
    """Show a simulation: simulated time, packet-hops per second, time left."""
    columns = [
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[facts]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    ]
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(name, total=None, facts="")

        def tell(facts: Facts) -> bool:
            share = facts["fraction"]
            if share is None and facts["end_ns"]:
                share = facts["simulated_ns"] / facts["end_ns"]
            speed = facts["packet_hops"] / max(facts["wall_s"], 1e-9) / 1e6
            text = f"{facts['simulated_ns'] / 1e6:.3f} ms, {speed:.2f} M packet-hops/s"
            total = None if share is None else 1.0
            bar.update(task, total=total, completed=share or 0.0, facts=text)
            return True

        yield tell


@contextmanager
def study_bar(name: str) -> Iterator["Bar"]:
    """Show a study: experiments done, time left."""
    columns = [
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total} {task.fields[last]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    ]
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        yield Bar(bar, name)


class Bar:
    """A bar over experiments."""

    def __init__(self, bar: Progress, name: str) -> None:
        self._bar = bar
        self._task = bar.add_task(name, total=None, last="")

    def __call__(self, done: int, count: int, last: str) -> None:
        """Tell how many of how many are done, and which was the last."""
        self._bar.update(self._task, completed=done, total=count, last=last)
