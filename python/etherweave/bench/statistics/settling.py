"""Whether values settle: the warm-up of one launch, and a trend over launches."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from enum import StrEnum
from itertools import combinations
from typing import NamedTuple

from etherweave.bench.statistics.quantiles import Interval, median, median_interval

TOLERANCE = 0.05
"""Quarters of a settled series have medians that differ by no more than this share."""
_CONFIDENCE = 0.99  # Confidence of the medians of quarters, of which six pairs are compared.
SHORTEST = 32
"""Values in the shortest series whose quarters have such intervals: 1 - 2 / 2^8 > 99 %."""


class Stability(StrEnum):
    """Whether a series settles."""

    SETTLED = "settled"
    UNSETTLED = "unsettled"
    TOO_SHORT = "too short to judge"


class Settling(NamedTuple):
    """The usable part of a series."""

    warm_up: int  # Values to leave out at the start; 0 unless the series settled.
    stability: Stability


def settling(series: Sequence[float], tolerance: float = TOLERANCE) -> Settling:
    """Determine the warm-up of a series, and judge the rest.

    The warm-up is the part, at most half, whose removal leaves the least marginal standard error
    (MSER: White, "An effective truncation heuristic for bias reduction in simulation output",
    Simulation 69, 1997); of the ranks rather than the values, so that single outliers decide
    nothing. The rest is unsettled when the medians of two of its quarters differ significantly
    (their 99 % intervals do not overlap), and by more than ``tolerance``.

    ``series`` is in the order in which it was measured; ``tolerance`` is a share of the smaller
    median.
    """
    warm_up = _truncation(_ranks(series))
    if len(series) - warm_up < SHORTEST:
        return Settling(0, Stability.TOO_SHORT)
    quarters = _quarters(series[warm_up:])
    if any(_differ(first, other, tolerance) for first, other in combinations(quarters, 2)):
        return Settling(0, Stability.UNSETTLED)
    return Settling(warm_up, Stability.SETTLED)


def _ranks(series: Sequence[float]) -> list[float]:
    """Rank values from the smallest; equal ones share the mean of their numbers."""
    ordered = sorted(series)
    return [(bisect_left(ordered, value) + bisect_right(ordered, value)) / 2 for value in series]


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


def _differ(first: Sequence[float], other: Sequence[float], tolerance: float) -> bool:
    medians = sorted((median(first), median(other)))
    is_apart = _are_apart(median_interval(first, _CONFIDENCE), median_interval(other, _CONFIDENCE))
    return is_apart and medians[1] - medians[0] > tolerance * abs(medians[0])


def _are_apart(interval: Interval | None, other: Interval | None) -> bool:
    assert interval and other, "quarters of a series that is long enough have intervals"
    return interval.high < other.low or other.high < interval.low


def trend(values: Sequence[float]) -> float:
    """Return the probability that chance alone orders values so much up or down, 0..1.

    Mann's test of Kendall's S against time (Mann, "Nonparametric tests against trend", Econometrica
    13, 1945). With ties the normal law with Kendall's variance, and a correction for continuity,
    which scipy's test does not make.
    """
    rises = sum((later > earlier) - (later < earlier) for earlier, later in combinations(values, 2))
    if rises == 0:
        return 1.0
    if len(set(values)) < len(values):
        return _trend_normal(values, abs(rises))
    from scipy.stats import kendalltau

    return float(kendalltau(range(len(values)), values, method="exact").pvalue)


def _trend_normal(values: Sequence[float], rises: int) -> float:
    def spread(size: int) -> int:
        return size * (size - 1) * (2 * size + 5)

    ties = [list(values).count(value) for value in set(values)]
    variance = (spread(len(values)) - sum(map(spread, ties))) / 18
    return math.erfc((rises - 1) / math.sqrt(2 * variance))
