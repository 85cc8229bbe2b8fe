"""By how much counters rose during a recording."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from etherweave.bench.telemetry.families import FAMILIES, Family
from etherweave.bench.telemetry.recorder import Recording


class Rise(NamedTuple):
    """How one counter of one thing rose."""

    family: str
    thing: str
    """What tells it apart, joined by blanks."""
    column: str
    """With its unit at the end."""
    amount: float
    per_s: float | None
    """``None`` when the recording has no length."""


def rises(recording: Recording) -> list[Rise]:
    """Tell the rise of each counter that anybody counts."""
    return [rise for family in FAMILIES for rise in _rises(family, recording)]


def _rises(family: Family, recording: Recording) -> Iterator[Rise]:
    seconds = recording.duration_s
    series: dict[tuple[tuple[str, ...], int], list[float]] = {}
    for sample in recording.samples:
        for keys, values in sample.rows[family.name]:
            for at, value in enumerate(values):
                if value is not None:
                    series.setdefault((keys, at), []).append(value)
    for (keys, at), counted in series.items():
        amount = risen(counted)
        column = family.columns[at].name
        per_s = amount / seconds if seconds else None
        yield Rise(family.name, " ".join(keys), column, amount, per_s)


def risen(values: Iterable[float]) -> float:
    """Add up what a counter counted; one that was set back counts from zero."""
    return sum(b - a if b >= a else b for a, b in pairwise(values))
