"""The time of an iteration, found in what ranks do: autocorrelation of their communication.

References
----------
Box, Jenkins, Reinsel, Ljung, "Time Series Analysis", 5th edition (2015), section 2.1.5: the
estimate of the autocorrelation; here each lag is divided by the number of its own terms.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

CELLS = (1 << 8, 1 << 10, 1 << 12, 1 << 14, 1 << 16)
"""Of the time, over which communication is summed: wide ones forgive that iterations differ."""
LAG_MIN = 8
"""Of the lags of a number of cells; shorter ones belong to narrower cells [cells]."""
MARGIN = 0.1
"""Part of the calls that is left out at each end, where a program starts up and cleans up."""
CORRELATION_MIN = 0.5
"""Of a period; below it nothing repeats."""
NEAR_BEST = 0.9
"""Part of the best correlation with which a shorter lag is preferred to its multiples."""
MULTIPLES = 5
"""Of a lag, over which its correlation is averaged: phases within an iteration soon lose step."""
PEAKS = 50
"""Highest of a number of cells that are compared."""


class Period(NamedTuple):
    """How long an iteration takes."""

    ns: float
    """From the beginning of one to that of the next [ns]."""
    correlation: float
    """Of communication with itself some periods later; 1 when every iteration is the same."""


def share(starts_ns: Floats, ends_ns: Floats, edges_ns: Floats) -> Floats:
    """Return the time that intervals cover between each edge and the next [ns].

    Intervals may overlap; each counts.
    """
    return np.diff(_covered(np.sort(starts_ns), edges_ns) - _covered(np.sort(ends_ns), edges_ns))


def _covered(ordered_ns: Floats, edges_ns: Floats) -> Floats:
    """Sum the time from each instant to each later edge."""
    sums = np.concatenate([[0.0], np.cumsum(ordered_ns)])
    count = np.searchsorted(ordered_ns, edges_ns)
    covered: Floats = count * edges_ns - sums[count]
    return covered


def autocorrelation(values: Floats) -> Floats:
    """Correlate values with themselves at each lag up to half their number."""
    centred = values - values.mean()
    size = 1 << (2 * len(values) - 1).bit_length()
    spectrum = np.fft.rfft(centred, size)
    sums = np.fft.irfft(spectrum * spectrum.conj(), size)[: len(values) // 2 + 1]
    terms = len(values) - np.arange(len(sums))
    variance = float(centred @ centred) / len(values)
    correlated: Floats = sums / terms / variance if variance > 0 else np.zeros(len(sums))
    return correlated


def period(starts_ns: Floats, ends_ns: Floats) -> Period | None:
    """Find the time after which communication repeats.

    Parameters
    ----------
    starts_ns, ends_ns
        When each rank communicates, in any order, over at least two iterations [ns].

    Returns
    -------
    Period
        The shortest that correlates nearly as well as the best; None when nothing repeats.
    """
    if not len(starts_ns):
        return None
    from_ns, until_ns = map(float, np.quantile(starts_ns, [MARGIN, 1 - MARGIN]))
    if until_ns <= from_ns:
        return None
    found = [one for cells in CELLS for one in _peaks(starts_ns, ends_ns, from_ns, until_ns, cells)]
    # Where there are some, lags whose multiples could be looked at: one alone may agree by chance.
    found = [one for one in found if 4 * one.ns <= until_ns - from_ns] or found
    best = max((one.correlation for one in found), default=0.0)
    near = [one for one in found if one.correlation >= NEAR_BEST * best]
    return min(near, key=lambda one: one.ns, default=None)


def _peaks(
    starts_ns: Floats, ends_ns: Floats, from_ns: float, until_ns: float, cells: int
) -> Iterator[Period]:
    """Yield lags, beyond the values' own extent, at which the correlation has a peak."""
    values = share(starts_ns, ends_ns, np.linspace(from_ns, until_ns, cells + 1))
    correlation = autocorrelation(values)
    falling = np.flatnonzero(correlation < CORRELATION_MIN)
    if not len(falling):
        return
    inner = correlation[1:-1]
    is_peak = (inner >= correlation[:-2]) & (inner > correlation[2:]) & (inner >= CORRELATION_MIN)
    lags = np.flatnonzero(is_peak) + 1
    lags = lags[(lags > falling[0]) & (lags >= LAG_MIN)]
    for lag in lags[np.argsort(-correlation[lags], kind="stable")][:PEAKS]:
        multiples = list(_multiples(correlation, int(lag)))
        mean = float(correlation[multiples].mean())
        yield Period(multiples[-1] / len(multiples) * (until_ns - from_ns) / cells, mean)


def _multiples(correlation: Floats, lag: int) -> Iterator[int]:
    """Follow a lag to its multiples, the best place near each, which are less rounded."""
    reach = max(1, lag // 8)
    place = lag
    for count in range(1, MULTIPLES + 1):
        yield place
        wanted = round(place * (count + 1) / count)
        if wanted + reach >= len(correlation):
            return
        low = wanted - reach
        place = low + int(correlation[low : wanted + reach + 1].argmax())
