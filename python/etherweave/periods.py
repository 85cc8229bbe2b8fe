"""The time of an iteration, found in what ranks do: autocorrelation of their communication.

References
----------
Box, Jenkins, Reinsel, Ljung, "Time Series Analysis", 5th edition (2015), section 2.1.5: the
estimate of the autocorrelation; here each lag is divided by the number of its own terms.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

CELLS = 1 << 15
"""Of the recorded time, at which communication is summed."""
CORRELATION_MIN = 0.5
"""Of a period; below it nothing repeats."""
NEAR_BEST = 0.9
"""Part of the best correlation with which a shorter lag is preferred to its multiples."""


class Period(NamedTuple):
    """How long an iteration takes."""

    ns: float
    """From the beginning of one to that of the next [ns]."""
    correlation: float
    """Of communication with itself one period later; 1 when every iteration is the same."""


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


def period(starts_ns: Floats, ends_ns: Floats, from_ns: float, until_ns: float) -> Period | None:
    """Find the time after which communication repeats.

    Parameters
    ----------
    starts_ns, ends_ns
        When each rank communicates, in any order [ns].
    from_ns, until_ns
        What is looked at, at least two iterations [ns].

    Returns
    -------
    Period
        The shortest that correlates nearly as well as the best; None when nothing repeats.
    """
    if until_ns <= from_ns or not len(starts_ns):
        return None
    values = share(starts_ns, ends_ns, np.linspace(from_ns, until_ns, CELLS + 1))
    correlation = autocorrelation(values)
    lag = _first_peak(correlation)
    if lag is None:
        return None
    cell_ns = (until_ns - from_ns) / CELLS
    return Period(_refined(correlation, lag) * cell_ns, float(correlation[lag]))


def _first_peak(correlation: Floats) -> int | None:
    """Return the first lag, beyond the values' own extent, that is nearly as good as the best."""
    falling = np.flatnonzero(correlation < CORRELATION_MIN)
    if not len(falling):
        return None
    inner = correlation[1:-1]
    is_peak = (inner >= correlation[:-2]) & (inner > correlation[2:])
    peaks = np.flatnonzero(is_peak) + 1
    peaks = peaks[peaks > falling[0]]
    if not len(peaks) or (best := correlation[peaks].max()) < CORRELATION_MIN:
        return None
    return int(peaks[correlation[peaks] >= NEAR_BEST * best][0])


def _refined(correlation: Floats, lag: int) -> float:
    """Divide the lag of the last multiple that can be followed, which is less rounded."""
    refined, count = float(lag), 1
    while True:
        wanted = round((count + 1) * refined)
        reach = max(1, lag // 8)
        if wanted + reach >= len(correlation):
            return refined
        low = wanted - reach
        best = low + int(correlation[low : wanted + reach + 1].argmax())
        if correlation[best] < CORRELATION_MIN:
            return refined
        count += 1
        refined = best / count
