"""Time left of work: of several items by the expected time of each, or of a share that is done.

Workers take items in order, each the next one when it is free. So the ends so far say when each
item that runs has begun, and the items that have ended say how much faster or slower this machine
is than expected.
"""

import heapq
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

_PRIOR = 0.002  # Share of all work that expected seconds count for, as if they had been measured.
_START = 0.1  # Weight of an item in which a worker has started, once others have ended.


class _Item(NamedTuple):
    """An item that has begun."""

    expected: float  # Expected time, of a worker's first item with the start of the worker.
    begun_s: float  # When it has begun [s].
    end_s: float | None  # When it has ended [s].
    is_first: bool  # Whether its worker has had no other.

    def passed_s(self, now_s: float) -> float:
        """Return how long it took, or has taken until now [s]."""
        return (now_s if self.end_s is None else self.end_s) - self.begun_s


class Work:
    """Items of work, of which some have ended.

    ``names`` are in the order in which items are taken, ``workers`` of them at once. ``expected``
    gives expected times by name, in any unit, or in seconds of some machine with ``in_seconds``; it
    is called when the time left is first asked for. Items without one take as long as the others on
    average; without it all are equal. A worker needs ``start_s`` before its first item, in the same
    unit. ``clock`` gives the time [s] from any origin.
    """

    def __init__(
        self,
        names: Sequence[str],
        expected: Callable[[], Mapping[str, float]] | None = None,
        workers: int = 1,
        *,
        in_seconds: bool = False,
        start_s: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.last = ""
        self._names = names
        self._expected = expected or dict
        self._workers = max(workers, 1)
        self._in_seconds = in_seconds
        self._worker_start = start_s
        self._clock = clock
        self._start_s = clock()
        self._end_s = dict[str, float]()
        self._kept = set[str]()
        self._times: dict[str, float] = {}
        self._later = dict[str, tuple[float, float]]()
        self._step_s = dict[str, float]()
        self._last_end_s = 0.0

    @property
    def count(self) -> int:
        """Number of items."""
        return len(self._names)

    @property
    def done(self) -> int:
        """Number of items that have ended."""
        return len(self._end_s) + len(self._kept)

    @property
    def elapsed_s(self) -> float:
        """Time since the start [s]."""
        return self._clock() - self._start_s

    @property
    def step(self) -> str:
        """Name of the step that follows all items and has not ended; empty before and after."""
        left = (name for name in self._later if name not in self._step_s)
        return next(left, "") if self.done == self.count else ""

    def expect_step(self, name: str, expected: float, items: float = 0.0) -> None:
        """Add a step that follows all items.

        One process takes it ``expected``, in the unit of these, and all workers ``items`` that take
        as long as those of this work on average.
        """
        self._later.setdefault(name, (expected, items))

    def end(self, name: str, *, is_kept: bool = False) -> None:
        """Take in that an item or a step has ended; a result that was there has taken no time."""
        before_s, self._last_end_s = self._last_end_s, self.elapsed_s
        if name in self._later:
            self._step_s[name] = self._last_end_s - before_s
            return
        self.last = name
        if is_kept:
            self._kept.add(name)
        else:
            self._end_s[name] = self._last_end_s

    def left_s(self) -> float | None:
        """Predict the time until all items and steps have ended [s].

        None where nothing says how long they take, and where the last ones take longer than
        expected.
        """
        items, waiting = self._begun(), self._waiting()
        is_running = any(item.end_s is None for item in items)
        if not is_running and len(self._step_s) == len(self._later):
            return 0.0
        pace = self._pace(items)
        if pace is None:
            return None
        return (
            self._items_left_s(items, waiting, pace) + self._steps_left_s(is_running, pace) or None
        )

    def _items_left_s(self, items: Sequence[_Item], waiting: Sequence[float], pace: float) -> float:
        """Predict when workers have ended all items that run and wait."""
        now_s = self.elapsed_s
        running = [item for item in items if item.end_s is None]
        free = [max(pace * item.expected - (now_s - item.begun_s), 0.0) for item in running]
        heapq.heapify(free)
        for expected in waiting:
            heapq.heapreplace(free, free[0] + pace * expected)
        return max(free, default=0.0)

    def _steps_left_s(self, is_running: bool, pace: float) -> float:
        """Predict how long steps take after all items; where none runs, the first step does."""
        steps = self._steps()
        if ended := sum(steps.pop(name) for name in self._step_s):
            # One process may be faster than several side by side.
            pace = statistics.fmean((pace, sum(self._step_s.values()) / ended))
        present = 0.0 if is_running else pace * next(iter(steps.values()), 0.0)
        return pace * sum(steps.values()) - min(self.elapsed_s - self._last_end_s, present)

    def _pace(self, items: Sequence[_Item]) -> float | None:
        """Compute how long takes what is expected to take 1; None where nothing is known."""
        taken = weight = _PRIOR * sum(self._times.values()) * self._in_seconds
        for item, counted in self._weights(items):
            taken += counted * item.passed_s(self.elapsed_s)
            weight += counted * item.expected
        if not weight:
            return None
        pace = taken / weight
        # What runs may be late: so will others.
        running = [item for item in items if item.end_s is None]
        late = [item for item in running if item.passed_s(self.elapsed_s) > pace * item.expected]
        taken += sum(item.passed_s(self.elapsed_s) for item in late)
        return taken / (weight + sum(item.expected for item in late))

    def _weights(self, items: Sequence[_Item]) -> list[tuple[_Item, float]]:
        """Weigh the items that have ended.

        The start of a worker is in the time of its first item, and of those that end with it: they
        count for less once others have ended, unless workers need no start.
        """
        ended = [item for item in items if item.end_s is not None]
        started_s = {item.end_s for item in ended if item.is_first}
        has_start = bool(self._worker_start) or not self._in_seconds
        has_others = any(item.end_s not in started_s for item in ended)
        first = _START if has_start and has_others else 1.0
        return [(item, first if item.end_s in started_s else 1.0) for item in ended]

    def _begun(self) -> list[_Item]:
        """List the items that have begun, but for those whose results were there."""
        self._times = self._times or dict(self._expected())
        mean = statistics.fmean(self._times.values()) if self._times else 1.0
        self._times |= {name: mean for name in self._names if name not in self._times}
        names = [name for name in self._names if name not in self._kept]
        ends = sorted(self._end_s.values())
        items = []
        for place, name in enumerate(names[: len(ends) + self._workers]):
            before = place - self._workers
            start = self._worker_start if before < 0 else 0.0
            begun_s = 0.0 if before < 0 else ends[before]
            end_s = self._end_s.get(name)
            items.append(_Item(start + self._times[name], begun_s, end_s, before < 0))
        return items

    def _waiting(self) -> list[float]:
        """List the expected times of items that have not begun, in their order."""
        names = [name for name in self._names if name not in self._kept]
        return [self._times[name] for name in names[len(self._end_s) + self._workers :]]

    def _steps(self) -> dict[str, float]:
        mean = statistics.fmean(self._times.values()) / self._workers if self._times else 0.0
        return {name: expected + items * mean for name, (expected, items) in self._later.items()}


WorkCallback: TypeAlias = Callable[[Work], None]  # Takes work whenever an item has ended.


def unheard(work: Work) -> None:
    """Take work, and show nothing."""


def left_of_share_s(elapsed_s: float, share: float | None) -> float | None:
    """Predict the time left [s] of work of which a share is done; None where that is not known."""
    return elapsed_s * (1 - share) / share if share else None
