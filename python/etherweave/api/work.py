"""Time left of work: of several items by the expected time of each, or of a share that is done.

Workers take items in order, each the next one when it is free. So the ends so far say when each
item that runs has begun, and the items that have ended say how much faster or slower this machine
is than expected.
"""

import functools
import heapq
import itertools
import statistics
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

_PRIOR = 0.002  # Share of all work that expected seconds count for, as if they had been measured.
_START = 0.1  # Weight of an item in which a worker has started, once others have ended.
_PART = 1 / 16  # Part of a worker's share of all later work from which an item counts by itself.


class _Sums(NamedTuple):
    """Sums over items that have ended."""

    taken_s: float = 0.0  # Time that they took [s].
    expected: float = 0.0  # Expected times, of a worker's first item with the start of the worker.

    def plus(self, other: "_Sums", times: float = 1.0) -> "_Sums":
        """Add others, weighed."""
        return _Sums(self.taken_s + times * other.taken_s, self.expected + times * other.expected)


class _Schedule:
    """Items that are not kept, in the order in which ``workers`` take them, as they begin and end.

    ``start`` is the expected start of a worker, which is in the time of its first item. Items of a
    later batch begin at ``known_s`` at the earliest.
    """

    def __init__(
        self,
        names: Sequence[str],
        times: Mapping[str, float],
        workers: int,
        start: float,
        known_s: Mapping[str, float],
    ) -> None:
        self._names = names
        self._times = times
        self._known_s = known_s
        self._workers = workers
        self._start = start
        self._first = frozenset(names[:workers])
        self._next = 0  # Place of the item that begins next.
        self._after = [0.0, *itertools.accumulate(times[name] for name in reversed(names))][::-1]
        self._long = [
            place
            for place, (name, after) in enumerate(zip(names, self._after[1:], strict=True))
            if times[name] * workers > _PART * after
        ]
        """Places of items that count by themselves: of equal ones the last."""
        self._ended = dict[str, float]()
        self._by_end = dict[float, _Sums]()  # Sums of items that ended at the same time.
        self._first_ends = set[float]()
        self._all = _Sums()
        self.running = dict[str, float]()  # Items that run, and when they have begun [s].
        for _ in range(workers):
            self._begin(0.0)

    def _begin(self, now_s: float) -> None:
        while self._next < len(self._names):
            name = self._names[self._next]
            self._next += 1
            if name not in self._ended:
                self.running[name] = max(now_s, self._known_s.get(name, 0.0))
                return

    def end(self, name: str, now_s: float) -> None:
        """Take in that an item has ended; its worker takes the next one."""
        self._ended[name] = now_s
        if (begun_s := self.running.pop(name, None)) is not None:
            own = _Sums(now_s - begun_s, self.expected(name))
            self._all = self._all.plus(own)
            self._by_end[now_s] = self._by_end.get(now_s, _Sums()).plus(own)
            self._first_ends |= {now_s} if name in self._first else set()
        self._begin(now_s)

    def expected(self, name: str) -> float:
        """Return the expected time of an item."""
        return self._times[name] + self._start * (name in self._first)

    def ended(self, first: float) -> _Sums:
        """Sum up the items that have ended.

        The start of a worker is in the time of its first item, and of those that end with it: they
        count by the weight ``first`` once others have ended.
        """
        if len(self._by_end) == len(self._first_ends):
            return self._all
        ends = (self._by_end[end_s] for end_s in self._first_ends)
        return functools.reduce(lambda sums, own: sums.plus(own, first - 1.0), ends, self._all)

    def left_s(self, free_s: list[float], pace: float) -> float:
        """Predict when workers, each free after some time, have ended all items that wait."""
        levels = _Levels(free_s)
        place = self._next
        for long in self._long[bisect_left(self._long, place) :]:
            levels.fill(pace * (self._after[place] - self._after[long]))
            levels.add(pace * self._times[self._names[long]])
            place = long + 1
        return levels.last_s()


class _Levels:
    """Times after which workers are free, with the number of workers of each [s]."""

    def __init__(self, free_s: Sequence[float]) -> None:
        self._levels = [(own_s, 1) for own_s in free_s]
        heapq.heapify(self._levels)

    def add(self, item_s: float) -> None:
        """Give an item to the worker that is free first."""
        level_s, workers = self._levels[0]
        heapq.heapreplace(self._levels, (level_s + item_s, 1))
        if workers > 1:
            heapq.heappush(self._levels, (level_s, workers - 1))

    def fill(self, work_s: float) -> None:
        """Give many short items to the workers that are free first, until they end together."""
        level_s, workers = heapq.heappop(self._levels)
        while self._levels and work_s > (to_next_s := workers * (self._levels[0][0] - level_s)):
            work_s -= to_next_s
            level_s, more = heapq.heappop(self._levels)
            workers += more
        heapq.heappush(self._levels, (level_s + work_s / workers, workers))

    def last_s(self) -> float:
        """Return when the last worker is free; 0 without workers."""
        return max(self._levels, default=(0.0, 0))[0]


class Work:
    """Items of work, of which some have ended.

    ``names`` are in the order in which items are taken, ``workers`` of them at once. ``expected``
    gives expected times by name, in any unit, or in seconds of some machine with ``in_seconds``; it
    is called once, when the time left is first asked for. Items without one take as long as the
    others on average; without it all are equal. A worker needs ``start_s`` before its first item,
    in the same unit. ``clock`` gives the time [s] from any origin; work whose items were counted
    after it had begun has begun at ``begun_s``. ``running`` says how far running items are.
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
        begun_s: float | None = None,
        running: Callable[[], str] = str,
    ) -> None:
        self.last = ""
        self._running = running
        self._names = list(names)
        self._expected = [expected or dict]
        self._workers = max(workers, 1)
        self._in_seconds = in_seconds
        self._worker_start = start_s
        self._clock = clock
        self._start_s = clock() if begun_s is None else begun_s
        self._end_s = dict[str, float]()
        self._kept = set[str]()
        self._repeated = set[str]()  # Tries of items that were carried out again.
        self._schedule: _Schedule | None = None
        self._times = dict[str, float]()
        self._more = 0.0
        self._known_s = dict[str, float]()  # When items of later batches became known [s].
        self._later = dict[str, tuple[float, float]]()
        self._step_s = dict[str, float]()
        self._last_end_s = 0.0
        self._lock = threading.Lock()  # A bar asks for the time left in a thread of its own.

    @property
    def count(self) -> int:
        """Number of items."""
        return len(self._names) - len(self._repeated)

    @property
    def done(self) -> int:
        """Number of items that have ended."""
        return len(self._end_s) + len(self._kept) - len(self._repeated)

    def has_ended(self, name: str) -> bool:
        """Whether an item has ended, or was kept."""
        return name in self._end_s or name in self._kept

    @property
    def elapsed_s(self) -> float:
        """Time since the start [s]."""
        return self._clock() - self._start_s

    @property
    def running(self) -> str:
        """Say how far the running items are; empty where nothing is known of them."""
        return self._running()

    @property
    def step(self) -> str:
        """Name of the step that follows all items and has not ended; empty before and after."""
        with self._lock:
            left = (name for name in self._later if name not in self._step_s)
            return next(left, "") if self.done == self.count else ""

    def extend(
        self, names: Sequence[str], expected: Callable[[], Mapping[str, float]], more: float = 0.0
    ) -> None:
        """Add items behind the others, without those that it has, and steps that end anew.

        ``more`` items may follow these in turn, or none: nobody knows before these have ended.
        """
        with self._lock:
            known = set(self._names)
            new = [name for name in names if name not in known]
            if known:
                self._known_s |= dict.fromkeys(new, self.elapsed_s)
            self._names += new
            self._expected.append(expected)
            self._more, self._schedule = more, None
            self._step_s.clear()

    def repeat(self, name: str) -> None:
        """Take in that an item that has ended is carried out again, behind the others.

        The time that it has taken before still says how fast this machine is.
        """
        with self._lock:
            before = f"{name}, try {len(self._repeated) + 1}"
            self._repeated.add(before)
            self._names[self._names.index(name)] = before
            self._names.append(name)
            self._end_s = {before if key == name else key: own for key, own in self._end_s.items()}
            for values in (self._times, self._known_s):
                if name in values:
                    values[before] = values[name]
            self._known_s[name] = self.elapsed_s
            self._schedule = None

    def expect_step(self, name: str, expected: float, items: float = 0.0) -> None:
        """Add a step that follows all items.

        One process takes it ``expected``, in the unit of these, and all workers ``items`` that take
        as long as those of this work on average.
        """
        with self._lock:
            self._later.setdefault(name, (expected, items))

    def expect(self, expected: Mapping[str, float]) -> None:
        """Replace the expected times of items, in the same unit, also of those that have ended."""
        with self._lock:
            self._expected.clear()
            self._times, self._schedule = dict(expected), None

    def end(self, name: str, *, is_kept: bool = False) -> None:
        """Take in that an item or a step has ended; a result that was there has taken no time."""
        with self._lock:
            self._end(name, is_kept)

    def _end(self, name: str, is_kept: bool) -> None:
        before_s, self._last_end_s = self._last_end_s, self.elapsed_s
        if name in self._later:
            self._step_s[name] = self._last_end_s - before_s
            return
        self.last = name
        if is_kept:
            self._kept.add(name)
            self._schedule = None
        else:
            self._end_s[name] = self._last_end_s
            if self._schedule:
                self._schedule.end(name, self._last_end_s)

    def left_s(self) -> float | None:
        """Predict the time until all items and steps have ended [s].

        None where nothing says how long they take, and where the last ones take longer than
        expected.
        """
        with self._lock:
            return self._left_s()

    def left(self) -> "LeftRange | None":
        """Predict it without the items that may follow, and with all of them."""
        with self._lock:
            least_s = self._left_s()
            pace = self._pace(self._schedule) if self._schedule and self._more else None
            more_s = self._more * (pace or 0.0) * (self._mean or 1.0) / self._workers
        if least_s is None:
            return None
        return LeftRange(least_s, least_s + more_s)

    def _left_s(self) -> float | None:
        schedule = self._schedule = self._schedule or self._scheduled()
        is_running = bool(schedule.running)
        if not is_running and len(self._step_s) == len(self._later):
            return 0.0
        pace = self._pace(schedule)
        if pace is None:
            return None
        free_s = [
            max(pace * schedule.expected(name) - passed_s, 0.0)
            for name, passed_s in self._passed(schedule)
        ]
        return schedule.left_s(free_s, pace) + self._steps_left_s(is_running, pace) or None

    @property
    def _mean(self) -> float:
        """Expected time of an item on average; 0 where none is known."""
        return statistics.fmean(self._times.values()) if self._times else 0.0

    def _scheduled(self) -> _Schedule:
        """List what is not kept, and take in what has ended so far."""
        while self._expected:
            self._times |= self._expected.pop(0)()
        times, mean = self._times, self._mean or 1.0
        names = [name for name in self._names if name not in self._kept]
        own = {name: times.get(name, mean) for name in names}
        start = self._worker_start if times else 0.0
        schedule = _Schedule(names, own, self._workers, start, self._known_s)
        for name, end_s in self._end_s.items():
            schedule.end(name, end_s)
        return schedule

    def _passed(self, schedule: _Schedule) -> list[tuple[str, float]]:
        """List the items that run, and for how long [s]."""
        now_s = self.elapsed_s
        return [(name, now_s - begun_s) for name, begun_s in schedule.running.items()]

    def _steps_left_s(self, is_running: bool, pace: float) -> float:
        """Predict how long steps take after all items; where none runs, the first step does."""
        steps = self._steps(pace)
        if ended := sum(steps.pop(name) for name in self._step_s):
            # One process may be faster than several side by side.
            faster = statistics.fmean((1.0, sum(self._step_s.values()) / ended))
            steps = {name: faster * step_s for name, step_s in steps.items()}
        present = 0.0 if is_running else next(iter(steps.values()), 0.0)
        return sum(steps.values()) - min(self.elapsed_s - self._last_end_s, present)

    def _pace(self, schedule: _Schedule) -> float | None:
        """Compute how long takes what is expected to take 1; None where nothing is known."""
        is_known = self._in_seconds and bool(self._mean)
        prior = _PRIOR * self._mean * len(self._names) * is_known
        has_start = bool(self._worker_start) or not self._in_seconds
        taken, weight = schedule.ended(_START if has_start else 1.0).plus(_Sums(prior, prior))
        if not weight:
            has_items = schedule.running or any(items for _, items in self._later.values())
            return 1.0 if self._in_seconds and not has_items else None
        pace = taken / weight
        # What runs may be late: so will others.
        for name, passed_s in self._passed(schedule):
            if passed_s > pace * schedule.expected(name):
                taken, weight = taken + passed_s, weight + schedule.expected(name)
        return taken / weight

    def _steps(self, pace: float) -> dict[str, float]:
        """Predict how long each step takes [s]; in seconds where no item has an expected time."""
        item_s = pace * (self._mean or 1.0) / self._workers
        own = pace if self._mean or not self._in_seconds else 1.0
        return {
            name: own * expected + items * item_s for name, (expected, items) in self._later.items()
        }


WorkCallback: TypeAlias = Callable[[Work], None]  # Takes work whenever an item has ended.


def unheard(work: Work) -> None:
    """Take work, and show nothing."""


class LeftRange(NamedTuple):
    """Time left, at least and at most [s]: equal where it is known."""

    min_s: float
    max_s: float

    @classmethod
    def of_shares(
        cls, elapsed_s: float, share: float | None, share_max: float | None = None
    ) -> "LeftRange | None":
        """Predict it of work of which a share is done, or a larger one; None if unknown."""
        most_s = left_of_share_s(elapsed_s, share)
        if most_s is None:
            return None
        least_s = left_of_share_s(elapsed_s, share_max)
        return cls(most_s if least_s is None else min(least_s, most_s), most_s)

    def text(self, write: Callable[[float], str]) -> str:
        """Write both ends, each as ``write`` does, or the one time where they look alike."""
        least, most = write(self.min_s), write(self.max_s)
        return most if least == most else f"between {least} and {most}"


def left_of_share_s(elapsed_s: float, share: float | None) -> float | None:
    """Predict the time left [s] of work of which a share is done; None where that is not known."""
    return elapsed_s * (1 - share) / share if share else None
