"""Two sets of launches side by side: the difference, and whether chance explains it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import accumulate

from etherweave.bench.statistics.quantiles import CONFIDENCE, Interval, median

_EXACT_MAX = 2_500
"""Up to this product of sample sizes the distribution is counted; above, it is taken as normal."""


class Direction(StrEnum):
    """Result of a comparison."""

    MORE = "more"
    LESS = "less"
    NO_DIFFERENCE_SEEN = "no difference seen"
    """The interval encloses zero: a difference may exist, smaller than the interval's width."""
    TOO_FEW = "too few launches"


@dataclass(frozen=True)
class LaunchComparison:
    """A candidate against a baseline."""

    shift: float  # Amount by which the candidate is above the baseline, in the values' unit.
    interval: Interval | None  # Interval of the shift; ``None`` for too few launches.
    baseline: float  # The baseline's median.

    @property
    def direction(self) -> Direction:
        """Result of the comparison."""
        if self.interval is None:
            return Direction.TOO_FEW
        if self.interval.low > 0:
            return Direction.MORE
        return Direction.LESS if self.interval.high < 0 else Direction.NO_DIFFERENCE_SEEN

    @property
    def relative(self) -> float | None:
        """The shift as a share of the baseline's median; ``None`` if that is zero."""
        return self.shift / abs(self.baseline) if self.baseline else None


def compare(
    baseline: Sequence[float], candidate: Sequence[float], confidence: float = CONFIDENCE
) -> LaunchComparison:
    """Compare by the median of all differences between a candidate's and a baseline's value.

    The shift of Hodges and Lehmann ("Estimates of location based on rank tests", 1963); the
    interval contains the shifts that Mann and Whitney's test does not reject (Hollander and Wolfe,
    *Nonparametric Statistical Methods*, section 4.3). With ties the closed interval covers at least
    as much (Noether, "Wilcoxon confidence intervals for location parameters in the discrete case",
    JASA 62, 1967).

    Both have at least one number, one of each launch; ``confidence`` is the least probability that
    the interval encloses the true shift.
    """
    differences = sorted(new - old for new in candidate for old in baseline)
    return LaunchComparison(
        median(differences),
        _interval(differences, len(baseline), len(candidate), confidence),
        median(baseline),
    )


def _interval(rows: Sequence[float], first: int, second: int, confidence: float) -> Interval | None:
    rank = critical_rank(first, second, confidence)
    if rank == 0:
        return None
    low, high = rows[rank - 1], rows[-rank]
    return Interval(low, high, coverage(first, second, rank))


@lru_cache(maxsize=64)
def rank_sums(first: int, second: int) -> tuple[int, ...]:
    """Count the arrangements of two samples by Mann and Whitney's U, from 0 to ``first * second``.

    scipy's ``mannwhitneyu`` gives the probability of one U of two samples; an interval needs the
    quantile of U, which scipy does not offer.

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
    if first * second > _EXACT_MAX:
        from scipy.special import ndtri

        middle, deviation = _normal_rank_sum(first, second)
        return math.floor(middle + deviation * float(ndtri(risk)) + 0.5)
    total = math.comb(first + second, first)
    return sum(1 for count in accumulate(rank_sums(first, second)) if count <= risk * total)


def coverage(first: int, second: int, rank: int) -> float:
    """Return P(rank ≤ U ≤ first * second - rank), the exact confidence of an interval."""
    if first * second > _EXACT_MAX:
        middle, deviation = _normal_rank_sum(first, second)
        return math.erf((middle - rank + 0.5) / deviation / math.sqrt(2))
    outside = 2 * sum(rank_sums(first, second)[:rank])
    return 1 - outside / math.comb(first + second, first)


def _normal_rank_sum(first: int, second: int) -> tuple[float, float]:
    return first * second / 2, math.sqrt(first * second * (first + second + 1) / 12)
