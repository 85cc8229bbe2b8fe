"""Intervals of a figure from its samples, how well they are known, and what widens them."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Quantiles of a figure: the ends of intervals of 90 and 50 %, and the median."""
DEGREE = 2  # Degree of the polynomials that contributions are fitted by.
ERROR_MIN = 30
"""Least samples from which an end of an interval of 90 % has a standard error: the method weighs
neighbours of the second value on."""
ROUNDING = 1e-20  # Part of a sum of squares that is left by rounding alone.
CHANCE = 0.05
"""Probability that any unknown without effect is named as a contribution to a figure, at most."""
_PER_COLUMN = 2  # Least samples for each coefficient of these polynomials.


class Interval(NamedTuple):
    """Two ends of a figure."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """Difference of the ends."""
        return self.high - self.low


class Contribution(NamedTuple):
    """Effect of an unknown on a figure."""

    unknown: str
    share: float  # First-order Sobol index: its part of the variance, 0 to 1.
    known: Interval | None
    """Interval of 90 % that would be left if it were known and lay in the middle; None where that
    is no narrower than the interval of the figure."""


@dataclass(frozen=True)
class Distribution:
    """A figure over all samples."""

    name: str  # Name in ``etherweave run --json``, with dots: ``jobs.halo.mean_us``.
    point: float | None
    """Value with every unknown as in its profile; None where that run has no such figure."""
    median: float
    half: Interval  # Interval of 50 %.
    most: Interval  # Interval of 90 %.
    error: float
    """Standard error of the ends of the interval of 90 %, the larger, as a part of the median;
    infinite where it is not known."""
    contributions: Sequence[Contribution] | None
    """Those that chance does not explain, the largest first; None where samples are too few."""
    together: Interval | None = None
    """Interval of 90 % by samples and the error of the model together; None where no error of the
    model is known of the figure."""

    @property
    def rest(self) -> float:
        """Part of the variance that no named unknown has alone."""
        named = math.fsum(contribution.share for contribution in self.contributions or ())
        return max(1 - named, 0.0)

    @property
    def varies(self) -> bool:
        """Whether any two samples differ."""
        return self.most.width > 0 or self.error > 0


def distribution(
    name: str,
    point: float | None,
    values: Sequence[float],
    shares: Sequence[Sequence[float]],
    unknowns: Sequence[str],
) -> Distribution:
    """Compute the distribution of a figure from its values in samples.

    Quantiles are medians of their own distribution (Hyndman and Fan, type 8); their standard errors
    are those of Maritz and Jarrett, by SciPy, which take samples as independent: a Sobol sequence
    knows its quantiles better than that. ``point`` is the figure without any draw, ``shares`` where
    each of the unknowns lies in every sample, 0 to 1.
    """
    import numpy as np

    sample = np.asarray(values, dtype=float)
    low, first, median, third, high = quantiles(values)
    return Distribution(
        name,
        point,
        median,
        Interval(first, third),
        Interval(low, high),
        _error(sample, median),
        _contributions(sample, np.asarray(shares, dtype=float), unknowns),
    )


def quantiles(values: "Sequence[float] | NDArray") -> list[float]:  # type: ignore[type-arg]
    """Compute the quantiles of :data:`LEVELS` from values in samples."""
    import numpy as np

    return [float(end) for end in np.quantile(values, LEVELS, method="median_unbiased")]


def _error(values: "NDArray", median: float) -> float:  # type: ignore[type-arg]
    """Return the larger standard error of both ends of the interval of 90 %, over the median."""
    from scipy.stats import mstats

    if values.min() == values.max():
        return 0.0
    if len(values) < ERROR_MIN or not median:
        return math.inf
    return float(max(mstats.mjci(values, [LEVELS[0], LEVELS[-1]]))) / abs(median)


def end_error(values: Sequence[float]) -> float:
    """Return the standard error of the ends of the interval of 90 % of a few samples.

    It is over the median. Below :data:`ERROR_MIN` samples it is that of quantiles of a normal
    distribution, √(p (1 − p)) / φ(z) deviations over the root of the number of samples.

    Examples
    --------
    >>> round(end_error([9.0, 10.0, 11.0, 10.0]), 3), end_error([0.0, 0.0]), end_error([1.0])
    (0.086, 0.0, inf)
    """
    import numpy as np

    sample = np.asarray(values, dtype=float)
    if len(sample) >= ERROR_MIN or (len(sample) > 1 and sample.min() == sample.max()):
        return _error(sample, float(np.median(sample)))
    middle = abs(statistics.median(values)) if len(values) > 1 else 0.0
    if not middle:
        return math.inf
    normal = statistics.NormalDist()
    factor = math.sqrt(LEVELS[0] * LEVELS[-1]) / normal.pdf(normal.inv_cdf(LEVELS[0]))
    return factor * statistics.stdev(values) / math.sqrt(len(values)) / middle


def samples_min(unknowns: int, degree: int) -> int:
    """Return the least samples by which contributions are fitted, by polynomials of a degree."""
    return _PER_COLUMN * (degree * unknowns + 1)


def _contributions(
    values: "NDArray",  # type: ignore[type-arg]
    shares: "NDArray",  # type: ignore[type-arg]
    unknowns: Sequence[str],
) -> list[Contribution] | None:
    """Fit a sum of polynomials of an unknown each, of those that chance does not explain.

    Legendre's polynomials of an evenly distributed unknown are orthogonal, so that the variance of
    a summand over that of the figure is its first-order index (Sudret, Reliability Engineering and
    System Safety 93, 2008), as far as a polynomial of the second degree has it. Fewer samples have
    the first degree alone.
    """
    import numpy as np
    from numpy.polynomial import legendre

    count = len(unknowns)
    fitting = [degree for degree in (1, DEGREE) if len(values) >= samples_min(count, degree)]
    if not fitting or not count:
        return None
    degree, variance = fitting[-1], float(values.var())
    columns = [legendre.legvander(2 * shares[:, at] - 1, degree)[:, 1:] for at in range(count)]
    chosen = _chosen(values - values.mean(), [own - own.mean(axis=0) for own in columns])
    matrix = np.hstack([np.ones((len(values), 1)), *(columns[at] for at in chosen)])
    factors, *_ = np.linalg.lstsq(matrix, values, rcond=None)
    noise = float(((values - matrix @ factors) ** 2).sum()) / (len(values) - matrix.shape[1])
    parts = []
    for place, at in enumerate(chosen):
        part = columns[at] @ factors[1 + place * degree : 1 + (place + 1) * degree]
        # Each factor that is fitted takes as much of the noise as a sample has.
        share = (float(part.var()) - degree * noise / len(values)) / variance
        known = _narrower(values - part + part.mean(), values)
        parts.append(Contribution(unknowns[at], min(max(share, 0.0), 1.0), known))
    return sorted(parts, key=lambda part: -part.share)


def _chosen(rest: "NDArray", columns: "Sequence[NDArray]") -> list[int]:  # type: ignore[type-arg]
    """List the unknowns that explain more of a figure than chance does, one after the other.

    Each step takes the unknown whose columns explain most of what the former leave, while the F
    test of it is significant at :data:`CHANCE` over the number of unknowns (Bonferroni); ``rest``
    and columns have a mean of 0.
    """
    import numpy as np
    from scipy.stats import f

    chosen: list[int] = []
    samples, total = len(rest), float(rest @ rest)
    left = samples - 1  # Degrees of freedom.
    while len(chosen) < len(columns) and float(rest @ rest) > ROUNDING * total:
        others = [at for at in range(len(columns)) if at not in chosen]
        bases = {at: np.linalg.qr(columns[at])[0] for at in others}
        explained = {at: float(((basis.T @ rest) ** 2).sum()) for at, basis in bases.items()}
        best = max(others, key=lambda at: explained[at])
        degree = columns[best].shape[1]
        left -= degree
        noise = max(float(rest @ rest) - explained[best], 0.0) / left
        ratio = explained[best] / degree / noise if noise else np.inf
        if f.sf(ratio, degree, left) > CHANCE / len(columns):
            break
        chosen.append(best)
        basis = bases[best]
        rest = rest - basis @ (basis.T @ rest)
        columns = [own - basis @ (basis.T @ own) for own in columns]
    return chosen


def _narrower(rest: "NDArray", values: "NDArray") -> Interval | None:  # type: ignore[type-arg]
    """Return the interval of 90 % of a rest of values, if it is narrower than that of values."""
    known, whole = (Interval(ends[0], ends[-1]) for ends in map(quantiles, [rest, values]))
    return known if known.width < whole.width else None
