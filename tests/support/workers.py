"""Workers that need no process of their own."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from etherweave.api.machine import build
from etherweave.sweeps.executors import Answer, Task, answer


def answered_here(
    function: str, tasks: Iterable[Task], home: Path, workers: int
) -> Iterator[tuple[str, Answer]]:
    """Carry out tasks one after the other, as a worker does, in the process that asks."""
    for key, argument in tasks:
        yield key, answer(function, build(), argument)
