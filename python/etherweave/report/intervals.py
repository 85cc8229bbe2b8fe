"""Intervals of time: which part of each cell they cover, how many have begun."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


class Intervals:
    """Intervals of time, which may overlap; each counts."""

    def __init__(self, starts_ns: Floats, ends_ns: Floats) -> None:
        self._starts, self._ends = np.sort(starts_ns), np.sort(ends_ns)

    def share(self, from_ns: float, until_ns: float, cells: int) -> Floats:
        """Return which part of each of a number of cells they cover, in sum."""
        begun, ended = (_later(end, from_ns, until_ns, cells) for end in (self._starts, self._ends))
        return begun - ended

    def begun(self, from_ns: float, until_ns: float, cells: int) -> Floats:
        """Count those that have begun before each edge of a number of cells."""
        edges = np.linspace(from_ns, until_ns, cells + 1)
        return np.searchsorted(self._starts, edges).astype(np.float64)

    def within(self, from_ns: float, until_ns: float) -> tuple[float, float]:
        """Give the first start and the last end between two times, or these where none is."""
        first = np.searchsorted(self._starts, from_ns)
        after = np.searchsorted(self._ends, until_ns, side="right")
        start = float(self._starts[first]) if first < len(self._starts) else until_ns
        end = float(self._ends[after - 1]) if after else from_ns
        return (start, end) if from_ns <= start < end <= until_ns else (from_ns, until_ns)


def _later(ordered_ns: Floats, from_ns: float, until_ns: float, cells: int) -> Floats:
    """Sum which part of each cell is later than each instant; exact where a cell has none."""
    before, until = np.searchsorted(ordered_ns, [from_ns, until_ns])
    place = (ordered_ns[before:until] - from_ns) * (cells / (until_ns - from_ns))
    cell = np.minimum(place.astype(np.int64), cells - 1)
    own = np.bincount(cell, weights=cell + 1 - place, minlength=cells)
    count = np.bincount(cell, minlength=cells)
    later: Floats = before + np.cumsum(count) - count + own
    return later


def sums_of(values: Floats) -> Floats:
    """Sum what is before each value, and all."""
    return np.concatenate([[0.0], np.cumsum(values)])
