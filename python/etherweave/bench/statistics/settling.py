"""When a series has settled: what of its beginning is warm-up, and whether it comes to rest."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from enum import StrEnum
from itertools import combinations
from typing import NamedTuple

from etherweave.bench.statistics.quantiles import Interval, median, median_interval

TOLERANCE = 0.05
"""Quarters of a settled series have medians that differ by no more than this share."""
_SURENESS = 0.99
"""Confidence of the medians of quarters, of which six pairs are compared."""
SHORTEST = 32
"""Values of which the quarters have such intervals: 1 - 2 / 2^8 > 99 %."""


class Rest(StrEnum):
    """Whether a series comes to rest."""

    SETTLED = "settled"
    UNSETTLED = "unsettled"
    TOO_SHORT = "too short to tell"


class Settling(NamedTuple):
    """What of a series may be used."""

    warm_up: int
    """Values to leave out at the start; 0 unless it settled."""
    rest: Rest


def settling(series: Sequence[float], tolerance: float = TOLERANCE) -> Settling:
    """Find the warm-up of a series, and judge what follows.

    The warm-up is what leaves the least marginal standard error when it is left out (MSER: White,
    "An effective truncation heuristic for bias reduction in simulation output", Simulation 69,
    1997), at most half; of the ranks rather than the values, so that single outliers decide
    nothing. What follows is unsettled when two of its quarters have medians that surely differ
    (their 99 % intervals are apart), and by more than ``tolerance``.

    Parameters
    ----------
    series
        In the order in which it was measured.
    tolerance
        Share of the smaller median.
    """
    warm_up = _truncation(_ranks(series))
    if len(series) - warm_up < SHORTEST:
        return Settling(0, Rest.TOO_SHORT)
    quarters = _quarters(series[warm_up:])
    if any(_differ(one, other, tolerance) for one, other in combinations(quarters, 2)):
        return Settling(0, Rest.UNSETTLED)
    return Settling(warm_up, Rest.SETTLED)


def _ranks(series: Sequence[float]) -> list[float]:
    """Rank values from the smallest; equal ones share the mean of their numbers."""
    ordered = sorted(series)
    return [(bisect_left(ordered, one) + bisect_right(ordered, one)) / 2 for one in series]


def _truncation(series: Sequence[float]) -> int:
    total, squares = sum(series), sum(value * value for value in series)
    best, at = float("inf"), 0
    for start in range(len(series) // 2 + 1):
        left = len(series) - start
        error = (squares - total * total / left) / (left * left)
        if error < best:
            best, at = error, start
        total -= series[start]
        squares -= series[start] * series[start]
    return at


def _quarters(series: Sequence[float]) -> list[Sequence[float]]:
    edges = [len(series) * quarter // 4 for quarter in range(5)]
    return [series[edges[quarter] : edges[quarter + 1]] for quarter in range(4)]


def _differ(one: Sequence[float], other: Sequence[float], tolerance: float) -> bool:
    medians = sorted((median(one), median(other)))
    is_apart = _are_apart(median_interval(one, _SURENESS), median_interval(other, _SURENESS))
    return is_apart and medians[1] - medians[0] > tolerance * abs(medians[0])


def _are_apart(one: Interval | None, other: Interval | None) -> bool:
    assert one and other, "quarters of a series that is long enough have intervals"
    return one.high < other.low or other.high < one.low
