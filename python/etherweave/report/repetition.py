"""Stretches of time in which communication repeats after a known period, and how often."""

from collections.abc import Iterator
from math import ceil
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from etherweave.report.intervals import Floats, Intervals, sums_of

CELLS = 16  # Cells of a period.
WIDTH = 4  # Width compared, so that iterations may differ in length [cells].
PERIODS = 4  # Periods compared with those a period later, from each period on.
GAP_MAX = 8  # Between two stretches that count as one: single iterations may differ [periods].
PRECISION = 1e-3  # Share of a period by which a length may exceed whole periods.
AT_ONCE = 4096  # Periods that are in memory.


class Stretch(NamedTuple):
    """A stretch of time without a gap in which communication repeats."""

    from_ns: float  # The first start of communication [ns].
    until_ns: float  # The last end of communication [ns].

    def iterations(self, period_ns: float) -> int:
        """Count iterations: communication begins in the first and ends in the last of them."""
        return ceil((1 - PRECISION) * (self.until_ns - self.from_ns) / period_ns)


def stretches(
    calls: Intervals, bounds_ns: tuple[float, float], period_ns: float, limit: float
) -> list[Stretch]:
    """Find where communication correlates with that a period later, as the limit demands.

    Short ones, as they occur by chance, are left out where there are longer ones.
    """
    from_ns, until_ns = bounds_ns
    runs = list(_runs(_local(calls, bounds_ns, period_ns) >= limit))
    longest = max((after - first for first, after in runs), default=0)
    spans = []
    for first, after in runs:
        if after - first >= min(longest, GAP_MAX):
            start = from_ns + first * period_ns
            # The last begins one period before the end, and is compared with the periods behind.
            end = from_ns + (after + PERIODS) * period_ns
            spans.append(Stretch(*calls.within(start, min(end, until_ns))))
    return spans


def _runs(is_repeated: npt.NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Yield the first and the one after the last of each run; short gaps are closed."""
    changes = np.flatnonzero(np.diff(np.concatenate([[False], is_repeated, [False]])))
    if not len(changes):
        return
    gaps = changes[2::2] - changes[1:-1:2]
    splits = np.flatnonzero(gaps > GAP_MAX)
    firsts = changes[0::2][np.concatenate([[0], splits + 1])]
    afters = changes[1::2][np.concatenate([splits, [-1]])]
    yield from zip(firsts.tolist(), afters.tolist(), strict=True)


def _local(calls: Intervals, bounds_ns: tuple[float, float], period_ns: float) -> Floats:
    """Correlate the periods behind each with those a period later."""
    from_ns, until_ns = bounds_ns
    count = max(1, ceil((until_ns - from_ns) / period_ns) - PERIODS)
    parts = [
        _correlations(calls, from_ns + first * period_ns, period_ns, min(AT_ONCE, count - first))
        for first in range(0, count, AT_ONCE)
    ]
    return np.concatenate(parts)


def _correlations(calls: Intervals, from_ns: float, period_ns: float, count: int) -> Floats:
    """Correlate what begins at each of a number of periods; the better of two functions of time."""
    periods = count + PERIODS + 1
    until_ns, cells = from_ns + periods * period_ns, periods * CELLS
    covered = sums_of(calls.share(from_ns, until_ns, cells))
    begun = calls.begun(from_ns, until_ns, cells)
    return np.maximum(_pearson(covered, count), _pearson(begun, count))


def _pearson(sums: Floats, count: int) -> Floats:
    """Correlate the cells of some periods with those a period later, for each beginning."""
    values = sums[WIDTH:] - sums[:-WIDTH]
    size = PERIODS * CELLS - WIDTH
    places = CELLS * np.arange(count)

    def total(products: Floats) -> Floats:
        summed = sums_of(products)
        return summed[places + size] - summed[places]

    now, later = values[:-CELLS], values[CELLS:]
    of_now, of_later = total(now), total(later)
    own = total(now * now) - of_now * of_now / size
    own_later = total(later * later) - of_later * of_later / size
    both = total(now * later) - of_now * of_later / size
    energy = np.sqrt(np.maximum(own * own_later, 0))
    # Without variation only rounding is left.
    is_known = energy > 1e-6 * (1e-6 + total(now * now) + total(later * later))
    return np.divide(both, energy, out=np.zeros(count), where=is_known)
