"""Quantiles, and how far they may be off, from the order of the values alone.

The number of values below a quantile of a continuous distribution is binomial, so that the values
of two ranks enclose it with a probability that does not depend on the distribution (Le Boudec,
*Performance Evaluation of Computer and Communication Systems*, 2010; Hoefler and
Belli). With ties the probability is at least that.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

CONFIDENCE = 0.95
"""Of intervals and bounds, unless told otherwise."""
_ROUNDING = 1e-9
"""Relative error of a sum of binomial terms, generously."""


class Interval(NamedTuple):
    """What encloses a quantity that was estimated."""

    low: float
    high: float
    coverage: float
    """The probability that such an interval encloses it, 0..1; at least the confidence wanted."""


def quantile(values: Sequence[float], probability: float) -> float:
    """Return the least value that at least a share of the values does not exceed.

    Parameters
    ----------
    values
        At least one.
    probability
        The share, above 0 and up to 1.
    """
    ordered = _ordered(values)
    assert 0 < probability <= 1, f"a share of {probability}"
    return ordered[max(math.ceil(probability * len(ordered) * (1 - _ROUNDING)) - 1, 0)]


def median(values: Sequence[float]) -> float:
    """Return the middle value, or the mean of the middle two."""
    ordered = _ordered(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def median_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval | None:
    """Enclose the median; ``None`` for too few values: below 6 at 95 %."""
    return quantile_interval(values, 0.5, confidence)


def quantile_interval(
    values: Sequence[float], probability: float, confidence: float = CONFIDENCE
) -> Interval | None:
    """Enclose a quantile, with the same small risk on either side.

    Parameters
    ----------
    values
        Independent of each other, in any order.
    probability
        Which quantile, above 0 and below 1.
    confidence
        The least probability of enclosing it.

    Returns
    -------
    Interval or None
        ``None`` when no two of so few values enclose it surely enough.
    """
    ordered = _ordered(values)
    below = _binomial(len(ordered), probability)
    risk = (1 - confidence) / 2 * (1 + _ROUNDING)
    low = sum(1 for share in below if share <= risk)
    high = next(rank for rank, share in enumerate(below, 1) if 1 - share <= risk)
    if low == 0 or high > len(ordered):
        return None
    return Interval(ordered[low - 1], ordered[high - 1], below[high - 1] - below[low - 1])


def upper_bound(
    values: Sequence[float], probability: float, confidence: float = CONFIDENCE
) -> float | None:
    """Bound a quantile from above; ``None`` below :func:`samples_least` values."""
    ordered = _ordered(values)
    below = _binomial(len(ordered), probability)
    wanted = confidence * (1 - _ROUNDING)
    rank = next(rank for rank, share in enumerate(below, 1) if share >= wanted)
    return ordered[rank - 1] if rank <= len(ordered) else None


def samples_least(probability: float, confidence: float = CONFIDENCE) -> int:
    """Count the values without which nothing bounds a quantile.

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
    assert 0 < probability < 1, f"a share of {probability}"
    return [min(share, 1.0) for share in accumulate(_terms(count, probability))]


def _terms(count: int, probability: float) -> Iterator[float]:
    log_yes, log_no = math.log(probability), math.log1p(-probability)
    whole = math.lgamma(count + 1)
    for yes in range(count + 1):
        ways = whole - math.lgamma(yes + 1) - math.lgamma(count - yes + 1)
        yield math.exp(ways + yes * log_yes + (count - yes) * log_no)
