"""Time left of work of several items, by the expected time of each.

Workers take items in order, each the next one when it is free. So the expected times say when each
item ends, and the items that have ended say how much faster or slower this machine is.
"""

import heapq
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

_PRIOR = 0.02  # Share of all work that expected seconds count for, as if they had been measured.


class Work:
    """Items of work, of which some have ended.

    ``names`` are in the order in which items are taken, ``workers`` of them at once. ``expected``
    gives expected times by name, in any unit, or in seconds of some machine with ``in_seconds``; it
    is called when the time left is first asked for. Items without one take as long as the others on
    average; without it all are equal. ``clock`` gives the time [s] from any origin.
    """

    def __init__(
        self,
        names: Sequence[str],
        expected: Callable[[], Mapping[str, float]] | None = None,
        workers: int = 1,
        *,
        in_seconds: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.last = ""
        self._names = names
        self._expected = expected or dict
        self._workers = max(workers, 1)
        self._in_seconds = in_seconds
        self._clock = clock
        self._start_s = clock()
        self._taken_s = dict[str, float]()
        self._kept = set[str]()
        self._times: Mapping[str, float] = {}
        self._ends = dict[str, float]()

    @property
    def count(self) -> int:
        """Number of items."""
        return len(self._names)

    @property
    def done(self) -> int:
        """Number of items that have ended."""
        return len(self._taken_s) + len(self._kept)

    @property
    def elapsed_s(self) -> float:
        """Time since the start [s]."""
        return self._clock() - self._start_s

    def end(self, name: str, *, is_kept: bool = False) -> None:
        """Take in that an item has ended; one whose result was there before has taken no time."""
        self.last = name
        if is_kept:
            self._kept.add(name)
            self._ends = {}
        else:
            self._taken_s[name] = self.elapsed_s

    def left_s(self) -> float | None:
        """Predict the time until all items have ended [s].

        None where no item has ended, and where the last items take longer than expected.
        """
        ends = self._ends = self._ends or self._scheduled()
        taken_s = dict(self._taken_s)
        waiting = [end for name, end in ends.items() if name not in taken_s]
        if not waiting:
            return 0.0
        last, now_s = max(ends.values()), self.elapsed_s
        prior = _PRIOR * last * self._in_seconds
        ended = [ends[name] for name in taken_s]
        weight = prior + sum(ended)
        if not weight:
            return None
        pace = (prior + sum(taken_s.values())) / weight
        if min(waiting) >= max(ended, default=0.0):  # The next item may be late: so will others.
            pace = max(pace, now_s / min(waiting))
        return pace * last - now_s if now_s < pace * last else None

    def _scheduled(self) -> dict[str, float]:
        """Compute when each item ends, in the unit of expected times."""
        self._times = self._times or self._expected()
        mean = statistics.fmean(self._times.values()) if self._times else 1.0
        free, ends = [0.0] * self._workers, dict[str, float]()
        for name in self._names:
            if name not in self._kept:
                ends[name] = free[0] + self._times.get(name, mean)
                heapq.heapreplace(free, ends[name])
        return ends


WorkCallback: TypeAlias = Callable[[Work], None]  # Takes work whenever an item has ended.


def unheard(work: Work) -> None:
    """Take work, and show nothing."""
