"""Quantiles, and their confidence intervals from the order of the values alone.

The number of values below a quantile of a continuous distribution is binomial, so that the values
of two ranks enclose it with a probability that does not depend on the distribution (Le Boudec,
*Performance Evaluation of Computer and Communication Systems*, 2010; Hoefler and Belli). With ties
the probability is at least that.
"""

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

CONFIDENCE = 0.95  # Default confidence of intervals and bounds.
_ROUNDING = 1e-9  # Relative error of a cumulative binomial probability, generously.


class Interval(NamedTuple):
    """A confidence interval."""

    low: float
    high: float
    coverage: float
    """Probability that such an interval encloses the true value, 0..1; at least the confidence."""


def quantile(values: Sequence[float], probability: float) -> float:
    """Return the least value that at least a share of the values does not exceed.

    ``numpy.quantile`` with ``inverted_cdf`` is the same but for rounding: it takes the 8th of 100
    values for a share of 0.07, since 0.07 * 100 is slightly above 7.

    There is at least one value; ``probability`` is above 0 and up to 1.
    """
    ordered = _ordered(values)
    assert 0 < probability <= 1, f"a share of {probability}"
    return ordered[max(math.ceil(probability * len(ordered) * (1 - _ROUNDING)) - 1, 0)]


def median(values: Sequence[float]) -> float:
    """Return the middle value, or the mean of the middle two."""
    return statistics.median(_ordered(values))


def median_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval | None:
    """Return a confidence interval of the median; ``None`` below 6 values at 95 %."""
    return quantile_interval(values, 0.5, confidence)


def quantile_interval(
    values: Sequence[float], probability: float, confidence: float = CONFIDENCE
) -> Interval | None:
    """Return a confidence interval of a quantile, with equal risk on either side.

    ``values`` are independent of each other, in any order; ``probability`` is above 0 and below 1.
    ``confidence`` is the least probability that the interval encloses the quantile. Returns
    ``None`` when there are too few values for the confidence.
    """
    ordered = _ordered(values)
    below = _binomial(len(ordered), probability)
    risk = (1 - confidence) / 2 * (1 + _ROUNDING)
    low = sum(1 for share in below if share <= risk)
    high = next(rank for rank, share in enumerate(below, 1) if 1 - share <= risk)
    if low == 0 or high > len(ordered):
        return None
    return Interval(ordered[low - 1], ordered[high - 1], below[high - 1] - below[low - 1])


def samples_least(probability: float, confidence: float = CONFIDENCE) -> int:
    """Return the least number of values that bounds a quantile from above.

    The largest of n values exceeds the quantile ``p`` with probability ``1 - p**n`` (Wilks,
    "Determination of sample sizes for setting tolerance limits", 1941): n ≥ ln(1 - confidence) / ln
    p. At 95 % that is 299 for the 99th percentile and 2,995 for the 99.9th.
    """
    return math.ceil(math.log(1 - confidence) / math.log(probability) * (1 - _ROUNDING))


def _ordered(values: Sequence[float]) -> list[float]:
    assert values, "no values"
    assert all(map(math.isfinite, values)), "a value is not finite"
    return sorted(values)


def _binomial(count: int, probability: float) -> list[float]:
    """Return the probabilities of at most 0, 1, ... ``count`` successes."""
    from scipy.special import bdtr  # Takes longer to load than most verbs to run.

    assert 0 < probability < 1, f"a share of {probability}"
    return [float(bdtr(successes, count, probability)) for successes in range(count + 1)]
