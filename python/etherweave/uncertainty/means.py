"""Means of independent observations, with their intervals by Student's t.

An end beyond what a figure can be is moved to that bound: 0, of slowdowns 1, of shares also 1. The
truth lies within these bounds, so that intervals cover it exactly as often as they would otherwise.
"""

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

CONFIDENCE = 0.95  # Confidence of intervals.
Floats = npt.NDArray[np.float64]
_SLOWDOWN = re.compile(r"slowdown|^(mean|p\d+)$")
_SHARE = re.compile(r"(^|[._])(jain|share)$")


class MeanInterval(NamedTuple):
    """Mean of independent observations, with its interval."""

    mean: float
    half_width: float  # Student's t by the standard error; infinite for a single observation.
    deviation: float  # Standard deviation of one observation.
    observations: int
    ends: tuple[float, float]  # Both ends of the interval, within what the figure can be.

    @property
    def share(self) -> float:
        """Half width over the mean."""
        if not self.half_width:
            return 0.0
        return self.half_width / abs(self.mean) if self.mean else math.inf


def mean_interval(
    values: Sequence[float], confidence: float = CONFIDENCE, name: str = ""
) -> MeanInterval:
    """Compute the mean of independent observations and its interval by Student's t.

    Parameters
    ----------
    values
        Observations, of which the least says whether the figure can be negative.
    confidence
        Confidence of the interval, between 0 and 1.
    name
        Name of the figure, which says whether it is a slowdown or a share.

    Examples
    --------
    >>> interval = mean_interval([9.0, 10.0, 11.0])
    >>> interval.mean, round(interval.half_width, 3)
    (10.0, 2.484)
    >>> [round(end, 3) for end in mean_interval([0.0, 0.0, 3.0]).ends]
    [0.0, 5.303]
    """
    count = len(values)
    mean = math.fsum(values) / count
    if count < 2:
        return MeanInterval(mean, math.inf, math.nan, count, (-math.inf, math.inf))
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1))
    half = float(half_widths(deviation, count, confidence))
    low, high = bounded(name, min(values), mean - half, mean + half)
    return MeanInterval(mean, half, deviation, count, (float(low), float(high)))


def half_widths(deviations: Any, counts: Any, confidence: float = CONFIDENCE) -> Floats:
    """Compute half widths of intervals of means; not a number for a count of 1."""
    from scipy.stats import t

    counts = np.asarray(counts, float)
    quantiles = np.where(counts > 1, t.ppf((1 + confidence) / 2, np.maximum(counts - 1, 1)), np.nan)
    widths: Floats = quantiles * np.asarray(deviations, float) / np.sqrt(counts)
    return widths


def bounded(name: str, least: Any, low: Any, high: Any) -> tuple[Floats, Floats]:
    """Move ends of intervals of a figure, whose least observations are given, to its bounds."""
    least = np.asarray(least, float)
    floor = np.where(least >= 0, 0.0, -np.inf)
    if _SLOWDOWN.search(name):
        floor = np.where(least >= 1, 1.0, floor)
    top = 1.0 if _SHARE.search(name) else 100.0 if name.endswith("percent") else np.inf
    return np.maximum(low, floor), np.minimum(high, top)
