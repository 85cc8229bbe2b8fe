"""The time of an iteration, found in what ranks do: autocorrelation of their communication.

References
----------
Talkin, "A robust algorithm for pitch tracking (RAPT)", in "Speech Coding and Synthesis" (1995):
the correlation at a lag, divided by what both stretches of time have themselves, and the preference
for short lags that correlate nearly as well as the best.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.fft import next_fast_len

from etherweave.report.intervals import Floats, Intervals, sums_of
from etherweave.report.repetition import Stretch, stretches

Integers = npt.NDArray[np.int64]

CELLS = tuple(1 << bits for bits in range(8, 17))
"""Cells of the time over which communication is summed: wide ones allow different iterations."""
STEPS = 4
"""Parts of a cell, by one of which each begins after the last: lags need not be whole cells."""
LAG_MIN = 8  # Shortest lag [cells]; shorter ones belong to narrower cells.
PARTS = tuple(2 ** (-halvings / 2) for halvings in range(7))
"""Parts of the time, the longest first: a program starts up and cleans up, without iterations."""
PERIODS_MIN = 3
"""Periods of the whole time; a part has one more: the best of many agrees sooner by chance."""
CORRELATION_MIN = 0.5**0.5
"""Correlation of a period, whose square is half of the variance; below it nothing repeats."""
NEAR_BEST = 0.9
"""Part of the best correlation with which a shorter lag is preferred to its multiples."""
MULTIPLES = 5  # Multiples of a lag that are followed: longer times are less rounded.
ROUNDING = 1e-9  # Share of the sum of squares: what varies less is constant.
WINDOW_PERIODS = 64
"""Periods of a part's middle in which shorter ones are looked for, in narrower cells."""


class Period(NamedTuple):
    """How long an iteration takes."""

    ns: float  # Time from the beginning of one to that of the next [ns].
    correlation: float
    """Correlation of communication with itself a period or two later; 1 if all iterations agree."""
    from_ns: float  # Beginning of the time in which iterations were found [ns].
    until_ns: float  # Its end [ns].
    iterations: int = 0  # Number of iterations there.

    def scaled(self, unit_ns: float, origin_ns: float) -> "Period":
        """Give its times from units since an origin."""
        start, end = (origin_ns + unit_ns * from_nse for from_nse in (self.from_ns, self.until_ns))
        return Period(self.ns * unit_ns, self.correlation, start, end)


def autocorrelation(values: Floats, lags: int) -> Floats:
    """Correlate values with themselves at each lag up to a number below theirs.

    Each sum is divided by the root of what both of its stretches have with themselves.
    """
    mean = values.mean()
    centred = values - mean
    size = next_fast_len(len(values) + lags, real=True)
    spectrum = np.fft.rfft(centred, size)
    power = np.square(spectrum.real) + np.square(spectrum.imag)
    sums = np.fft.irfft(power, size)[: lags + 1]
    energy = sums_of(centred * centred)
    first, second = energy[::-1][: lags + 1], energy[-1] - energy[: lags + 1]
    own = np.sqrt(first * second)
    # Of values, or a stretch of them, without variation only rounding is left.
    is_known = own > ROUNDING * (energy[-1] + len(values) * mean * mean)
    correlated: Floats = np.divide(sums, own, out=np.zeros(lags + 1), where=is_known)
    return correlated


def period(starts_ns: Floats, ends_ns: Floats) -> Period | None:
    """Find the time after which communication repeats.

    Ranks communicate from ``starts_ns`` to ``ends_ns``, in any order [ns]. Returns the period of
    the longest part of the time in which communication repeats, the shortest that correlates nearly
    as well as the best; ``None`` when nothing repeats.
    """
    if not len(starts_ns):
        return None
    from_ns, until_ns = float(starts_ns.min()), float(ends_ns.max())
    if until_ns <= from_ns:
        return None
    calls = Intervals(starts_ns, ends_ns)
    best = _search(calls, from_ns, until_ns, PARTS)
    while best and (shorter := _shorter(calls, best)):
        best = shorter
    return best and _counted(calls, best, (from_ns, until_ns))


def _counted(calls: Intervals, best: Period, bounds_ns: tuple[float, float]) -> Period:
    """Count iterations where communication repeats, which is not all of the part."""
    where = stretches(calls, bounds_ns, best.ns, CORRELATION_MIN)
    where = where or [Stretch(best.from_ns, best.until_ns)]
    count = sum(stretch.iterations(best.ns) for stretch in where)
    return best._replace(from_ns=where[0].from_ns, until_ns=where[-1].until_ns, iterations=count)


def _search(
    calls: Intervals, from_ns: float, until_ns: float, parts: Sequence[float]
) -> Period | None:
    """Find the period of the longest part of a stretch of time in which anything repeats."""
    steps = STEPS * CELLS[-1]
    covered = sums_of(calls.share(from_ns, until_ns, steps))
    begun = calls.begun(from_ns, until_ns, steps)
    for part in parts:
        length = round(part * steps)
        starts = np.linspace(0, steps - length, 1 + round(4 * (1 / part - 1))).round()
        correlations = [
            (span.correlation * weight, span)
            for sums, weight in ((covered, 1), (begun, NEAR_BEST))
            for start in starts
            if (span := _shortest(sums, int(start), length))
        ]
        if correlations:
            return max(correlations)[1].scaled((until_ns - from_ns) / steps, from_ns)
    return None


def _shorter(calls: Intervals, longer: Period) -> Period | None:
    """Find a shorter period, of which the cells of the whole time were too wide."""
    middle, half = (longer.from_ns + longer.until_ns) / 2, WINDOW_PERIODS / 2 * longer.ns
    if middle - half < longer.from_ns:
        return None
    inner = _search(calls, middle - half, middle + half, PARTS[:1])
    if not inner or inner.correlation < NEAR_BEST * longer.correlation:
        return None
    if inner.ns < NEAR_BEST * longer.ns:
        return inner._replace(from_ns=longer.from_ns, until_ns=longer.until_ns)
    return None


def _shortest(sums: Floats, start: int, length: int) -> Period | None:
    """Find the period of a part, in steps of the narrowest cells."""
    periods = PERIODS_MIN + (length + 1 < len(sums))
    spans = [
        Period(lag * stride, correlation, start, start + length)
        for stride in (CELLS[-1] // cells for cells in CELLS)
        for lag, correlation in _peaks(sums[start : start + length + 1 : stride], periods)
    ]
    best = max((period.correlation for period in spans), default=0.0)
    near = [period for period in spans if period.correlation >= NEAR_BEST * best]
    return min(near, key=lambda span: span.ns, default=None)


def _peaks(sums: Floats, periods: int) -> Iterator[tuple[float, float]]:
    """Yield lags, beyond the values' own extent, at which the correlation has a peak, and it."""
    if len(sums) <= STEPS * CELLS[0]:
        return
    most = (len(sums) - 1) // periods
    correlation = autocorrelation(sums[STEPS:] - sums[:-STEPS], 2 * most)
    falling = np.flatnonzero(correlation < CORRELATION_MIN)
    if not len(falling):
        return
    inner = correlation[1:-1]
    is_peak = (inner >= correlation[:-2]) & (inner > correlation[2:]) & (inner >= CORRELATION_MIN)
    lags = np.flatnonzero(is_peak) + 1
    lags = lags[(lags > falling[0]) & (lags >= LAG_MIN * STEPS) & (lags <= most)]
    # What changes slowly correlates at every lag: only what rises above that is a period's.
    slow = _around(correlation, lags)
    is_above = _above(correlation[lags], slow) >= CORRELATION_MIN
    for lag, low in zip(lags[is_above], slow[is_above], strict=True):
        multiples = list(_multiples(correlation, int(lag)))
        # What repeats, repeats twice: of a part of a period, the second lag is another part.
        lower = float(_above(correlation[multiples[:2]].min(), low))
        if lower >= CORRELATION_MIN:
            yield float(multiples[-1] / len(multiples)), lower


def _around(correlation: Floats, lags: Integers) -> Floats:
    """Average the correlation over a lag around each; nothing below zero."""
    sums = sums_of(correlation)
    half = lags // 2
    mean: Floats = (sums[lags + half] - sums[lags - half]) / (2 * half)
    return np.maximum(mean, 0)


def _above(correlation: Floats, slow: Floats) -> Floats:
    """Give the part of what a slow change leaves."""
    return (correlation - slow) / (1 - slow)


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
