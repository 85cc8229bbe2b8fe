"""Exact distributions of rank statistics when chance alone is at work: integers, no tables."""

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, combinations

_EXACT_MOST = 2_500
"""Products of two sample sizes up to here are counted out; above, the normal law is as good."""


@lru_cache(maxsize=64)
def rank_sums(first: int, second: int) -> tuple[int, ...]:
    """Count the arrangements of two samples by Mann and Whitney's U, from 0 to ``first * second``.

    U counts the pairs in which the first sample's value is the larger. Its generating function is
    the Gaussian binomial coefficient (Mann and Whitney, "On a test of whether one of two random
    variables is stochastically larger than the other", 1947): each factor (1 - q^(second+i)) / (1 -
    q^i) is applied in place.
    """
    counts = [1] + [0] * (first * second)
    for part in range(1, first + 1):
        for at in range(len(counts) - 1, second + part - 1, -1):
            counts[at] -= counts[at - second - part]
        for at in range(part, len(counts)):
            counts[at] += counts[at - part]
    return tuple(counts)


def critical_rank(first: int, second: int, confidence: float) -> int:
    """Return the largest k with P(U < k) ≤ (1 - confidence) / 2; 0 for samples too small."""
    risk = (1 - confidence) / 2
    if first * second > _EXACT_MOST:
        return _critical_rank_normal(first, second, risk)
    total = math.comb(first + second, first)
    return sum(1 for ways in accumulate(rank_sums(first, second)) if ways <= risk * total)


def coverage(first: int, second: int, rank: int) -> float:
    """Return P(rank ≤ U ≤ first * second - rank), the exact confidence of an interval."""
    if first * second > _EXACT_MOST:
        middle, deviation = _normal_rank_sum(first, second)
        return math.erf((middle - rank + 0.5) / deviation / math.sqrt(2))
    outside = 2 * sum(rank_sums(first, second)[:rank])
    return 1 - outside / math.comb(first + second, first)


def trend(values: Sequence[float]) -> float:
    """Return the probability that chance alone orders values so much up or down, 0..1.

    Mann's test of Kendall's S against time (Mann, "Nonparametric tests against trend", Econometrica
    13, 1945). Exact without ties; with ties the normal law with Kendall's variance, and a
    correction for continuity.
    """
    rises = sum((later > earlier) - (later < earlier) for earlier, later in combinations(values, 2))
    if rises == 0:
        return 1.0
    if len(set(values)) < len(values):
        return _trend_normal(values, abs(rises))
    pairs = len(values) * (len(values) - 1) // 2
    counts = _inversions(len(values))
    return min(1.0, 2 * sum(counts[: (pairs - abs(rises)) // 2 + 1]) / math.factorial(len(values)))


@lru_cache(maxsize=64)
def _inversions(count: int) -> tuple[int, ...]:
    """Count permutations by their inversions (Mahonian numbers)."""
    counts = [1]
    for size in range(2, count + 1):
        sums = [0, *accumulate(counts)]
        most = len(counts) - 1
        counts = [
            sums[min(at, most) + 1] - sums[max(at - size + 1, 0)] for at in range(most + size)
        ]
    return tuple(counts)


def _trend_normal(values: Sequence[float], rises: int) -> float:
    def spread(size: int) -> int:
        return size * (size - 1) * (2 * size + 5)

    ties = [list(values).count(value) for value in set(values)]
    variance = (spread(len(values)) - sum(map(spread, ties))) / 18
    return math.erfc((rises - 1) / math.sqrt(2 * variance))


def _normal_rank_sum(first: int, second: int) -> tuple[float, float]:
    return first * second / 2, math.sqrt(first * second * (first + second + 1) / 12)


def _critical_rank_normal(first: int, second: int, risk: float) -> int:
    middle, deviation = _normal_rank_sum(first, second)
    low, high = 0, first * second // 2
    while low < high:
        rank = (low + high + 1) // 2
        is_rare = math.erfc((middle - rank + 0.5) / deviation / math.sqrt(2)) / 2 <= risk
        low, high = (rank, high) if is_rare else (low, rank - 1)
    return low
