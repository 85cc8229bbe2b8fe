"""Times of iterations and collectives on the path that limits a job, which add up to its time.

A part of the path belongs to the iteration, and to the call of a collective, in which the rank is
that spends the time, or waits. A message belongs to those of the rank that waits for it.
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from statistics import median_low
from typing import Any, TypeVar

from etherweave.api.limits import PARTS, JobLimits, Stretch, percent

Key = TypeVar("Key", bound=Hashable)
LINES_MAX = 8  # Kinds of collectives that are printed.
NAMED_MAX = 2  # Parts that are named of a kind.


@dataclass(frozen=True)
class CollectiveCall:
    """A call of a collective on the path of a job, or messages of a graph with one purpose."""

    collective: str  # Its name.
    communicator: int  # Number of its communicator.
    call: int | None
    """Number among the calls of the collective in the communicator, from 0; none in graphs."""
    call_bytes: int  # Its longest message [B].


def by_iteration(job: JobLimits) -> dict[int | None, JobLimits]:
    """Divide a path by measured iterations; none is what lies outside, such as warm-up."""
    return _divided(job, lambda stretch: stretch.iteration)


def by_call(job: JobLimits) -> dict[CollectiveCall | None, JobLimits]:
    """Divide a path by calls of collectives; none is what lies outside."""
    return _divided(job, _call)


def by_collective(job: JobLimits) -> dict[tuple[str, int] | None, JobLimits]:
    """Divide a path by collectives and their longest message [B].

    Messages of a graph are divided by their purpose, with the longest of all messages of it.
    """
    longest: dict[str, int] = {}
    for step in job.path:
        longest[step.collective] = max(step.call_bytes, longest.get(step.collective, 0))

    def kind(stretch: Stretch) -> tuple[str, int] | None:
        name, call_bytes = stretch.collective, stretch.call_bytes
        return (name, longest[name] if stretch.call is None else call_bytes) if name else None

    return _divided(job, kind)


def _call(stretch: Stretch) -> CollectiveCall | None:
    own = (stretch.collective, stretch.communicator, stretch.call, stretch.call_bytes)
    return CollectiveCall(*own) if stretch.collective else None


def _divided(job: JobLimits, key: Callable[[Stretch], Key]) -> dict[Key, JobLimits]:
    """Divide the parts of a path, each with its waits, by a key."""
    starts = [step.start_ns for step in job.path]
    owners = [job.path[bisect_right(starts, wait.start_ns) - 1] for wait in job.waits]
    paths: dict[Key, list[Stretch]] = {}
    for step in job.path:
        paths.setdefault(key(step), []).append(step)
    waits: dict[Key, list[Any]] = {}
    for wait, step in zip(job.waits, owners, strict=True):
        waits.setdefault(key(step), []).append(wait)
    return {own: JobLimits(job.job, path, waits.get(own, [])) for own, path in paths.items()}


def share_figures(job: JobLimits) -> dict[str, Any]:
    """Give all iterations and all calls of collectives with their times [us], in order of time."""
    iterations = [{"iteration": number, **_times(own)} for number, own in by_iteration(job).items()]
    calls = [
        {**(vars(call) if call else {"collective": None}), **_times(own)}
        for call, own in by_call(job).items()
    ]
    return {"iterations": iterations, "collectives": calls}


def _times(own: JobLimits) -> dict[str, Any]:
    parts = {part: time / 1e3 for part, time in own.parts_ns.items()}
    return {"time_us": own.spent_ns / 1e3, "parts_us": parts}


def share_lines(job: JobLimits) -> list[str]:
    """Say what iterations and collectives take, where the job has several iterations, or any."""
    return [*_iteration_lines(job), *_collective_lines(job)]


def _iteration_lines(job: JobLimits) -> list[str]:
    portions = by_iteration(job)
    measured = {number: own for number, own in portions.items() if number is not None}
    if len(measured) < 2:
        return []
    times = {number: own.spent_ns for number, own in measured.items()}
    middle = next(number for number, time in times.items() if time == median_low(times.values()))
    named = {
        "first": min(times),
        "median": middle,
        "last": max(times),
        "slowest": max(times, key=lambda number: times[number]),
    }
    usual = measured[middle].parts_ns
    lines = [
        f"    {name:7} {number:6}  {times[number] / 1e3:12.3f} us"
        f"{_more(measured[number].parts_ns, usual)}"
        for name, number in named.items()
    ]
    outside = portions[None].spent_ns if None in portions else 0.0
    rest = f"    outside {'':6}  {outside / 1e3:12.3f} us"
    return [f"  of {len(measured)} iterations:", *lines, *([rest] if outside else [])]


def _more(parts: Mapping[str, float], usual: Mapping[str, float]) -> str:
    """Name the part by which an iteration differs most from the median one."""
    names = [*parts, *(part for part in usual if part not in parts)]
    more = {part: parts.get(part, 0.0) - usual.get(part, 0.0) for part in names}
    part = max(more, key=lambda name: abs(more[name]))
    return f"  {more[part] / 1e3:+.3f} us {PARTS[part][1]}" if abs(more[part]) >= 1 else ""


def _collective_lines(job: JobLimits) -> list[str]:
    portions = by_collective(job)
    calls = Counter(
        (call.collective, call.call_bytes)
        for call in by_call(job)
        if call is not None and call.call is not None
    )
    kinds = [kind for kind in portions if kind is not None]
    kinds.sort(key=lambda kind: -portions[kind].spent_ns)
    if not kinds:
        return []
    lines = [
        f"    {portions[kind].spent_ns / 1e3:10.3f} us {portions[kind].spent_ns / job.time_ns:6.1%}"
        f"  {kind[0]}, messages up to {kind[1]:,} B{_count(calls[kind])}: "
        f"{_largest(portions[kind])}"
        for kind in kinds[:LINES_MAX]
    ]
    hidden = math.fsum(portions[kind].spent_ns for kind in kinds[LINES_MAX:])
    if hidden:
        lines.append(f"    {hidden / 1e3:10.3f} us {hidden / job.time_ns:6.1%}  others")
    return ["  of collectives:" if calls else "  of messages by purpose:", *lines]


def _count(calls: int) -> str:
    """Write how many calls are on the path, where they have numbers."""
    return f", {calls:,} on the path" if calls else ""


def _largest(own: JobLimits) -> str:
    largest = list(own.parts_ns.items())[:NAMED_MAX]
    words = (f"{PARTS[part][1]} {percent(time / own.spent_ns)}" for part, time in largest)
    return ", ".join(words)
