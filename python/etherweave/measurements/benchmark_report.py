"""Measurements in a text, how far they can be trusted, and whether they agree.

A check raises :class:`GarbledError` with the line that contradicts the others.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from etherweave.api.units import Unit
from etherweave.measurements.metrics import Metric


class TextLine(NamedTuple):
    """A line of a text."""

    number: int  # Number of the line, from 1.
    text: str


Labels = Sequence[tuple[str, str]]
"""Names and values that distinguish a measurement from its neighbours."""


@dataclass(frozen=True)
class Measurement:
    """One number of a benchmark."""

    metric: Metric
    value: float  # Value in the metric's base unit.
    statistic: str
    """Over iterations or ranks: ``mean``, ``min``, ``max``, ``stdev``, ``p50``, ``p99.9``…"""
    size_bytes: int | None
    """Size of a message, a block or a request; ``None`` where there is none."""
    labels: tuple[tuple[str, str], ...]
    """Names and values that distinguish it from others: ``operation``, ``from``, ``side``."""
    printed: str  # The number and its unit as the tool means them: ``20.60 us``.
    line: int  # Where it is in the text, from 1.


class Completeness(StrEnum):
    """Whether all that a run should print is there."""

    COMPLETE = "complete"  # The tool's own closing line is there.
    OPEN = "open"  # The tool prints no closing line: the text may be complete or cut.
    PARTIAL = "partial"  # Something is known to be missing; what is here is right.


@dataclass(frozen=True)
class BenchmarkReport:
    """The results of one run of one benchmark."""

    benchmark: str  # The adapter that read it.
    program: str
    version: str | None
    line: int  # Where its text begins, from 1.
    measurements: tuple[Measurement, ...]
    completeness: Completeness
    valid: bool | None  # Whether the benchmark's own verification passed; ``None`` if it made none.
    facts: tuple[tuple[str, str], ...]
    """Facts about the run that it printed: ranks, window, protocol."""
    warnings: tuple[str, ...]
    leftover: tuple[tuple[int, str], ...]  # Lines that were not understood, with their numbers.

    @property
    def is_sound(self) -> bool:
        """Nothing is known to be missing or wrong."""
        return self.completeness != Completeness.PARTIAL and self.valid is not False

    @property
    def has_sound_rows(self) -> bool:
        """Whether nothing but rows of sizes in between is known to be missing."""
        are_gaps = all(warning.startswith(NO_ROW) for warning in self.warnings)
        return self.is_sound or (are_gaps and self.valid is not False)


@dataclass(frozen=True)
class Failure:
    """A benchmark's text that gives no number."""

    benchmark: str
    line: int
    reason: str


class GarbledError(ValueError):
    """A benchmark's text is not what that benchmark writes, or reports that the run failed."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = reason


_ALIGNED_FROM = 4  # Smallest number of rows for a check of alignment.
_SHARE = re.compile(r"p[0-9.]+(?:e[+-]?[0-9]+)?")  # A percentile's name.


def check_alignment(rows: Sequence[TextLine]) -> None:
    """Find the row of a right-aligned table that lost or gained characters.

    A table whose runs of blanks a page has merged is not aligned.

    Raises ``GarbledError`` when nearly all rows end in one column, and one does not.
    """
    ends = Counter(len(row.text.rstrip()) for row in rows)
    is_aligned = any(re.search(r"\S\s{2,}\S", row.text) for row in rows)
    if len(rows) < _ALIGNED_FROM or len(ends) == 1 or not is_aligned:
        return
    (usual, count), *_ = ends.most_common()
    if count * 4 >= len(rows) * 3:
        odd = next(row for row in rows if len(row.text.rstrip()) != usual)
        raise GarbledError(odd.number, "the row is not aligned with the others")


def check_rising(sizes: Iterable[tuple[int, int]]) -> None:
    """Check that sizes rise from row to row; takes pairs of line number and size.

    Raises ``GarbledError`` when two runs are mixed, or a row occurs twice.
    """
    before = -1
    for line, size in sizes:
        if size <= before:
            raise GarbledError(line, f"size {size} after {before}: rows are mixed or repeated")
        before = size


def check_agreement(line: int, what: str, value: float, other: float, tolerance: float) -> None:
    """Compare a printed number with the value that follows from others in its row.

    Raises ``GarbledError`` when they differ by more than the share that rounding explains.
    """
    if abs(value - other) > tolerance * max(abs(value), abs(other)):
        raise GarbledError(line, f"{what} contradict: {value:.5g} and {other:.5g}")


def check_statistics(measurements: Iterable[Measurement]) -> None:
    """Check that means lie between the least and the greatest, and that percentiles rise.

    Percentiles of rates are left alone: some tools count them from the slow side.

    Raises ``GarbledError`` when columns are exchanged, or a digit is lost.
    """
    points: dict[tuple[Metric, int | None, Labels], dict[str, Measurement]] = {}
    for row in measurements:
        point = points.setdefault((row.metric, row.size_bytes, row.labels), {})
        point[row.statistic] = row
    for (metric, _, _), point in points.items():
        _check_rise([point[name] for name in ("min", "mean", "max") if name in point])
        if metric.unit == Unit.SECONDS:
            shares = sorted((name for name in point if _SHARE.fullmatch(name)), key=_share)
            if shares and _share(shares[-1]) > 100:
                raise GarbledError(point[shares[-1]].line, f"{shares[-1]} is no percentile")
            _check_rise([point[name] for name in shares])


def _check_rise(statistics: Sequence[Measurement]) -> None:
    for low, high in itertools.pairwise(statistics):
        if low.value > high.value:
            said = f"{low.statistic} {low.printed} is above {high.statistic} {high.printed}"
            raise GarbledError(high.line, f"{said}: columns or lines are mixed")


def _share(name: str) -> float:
    return float(name.removeprefix("p"))


NO_ROW = "no row for "


def missing_row(size: int) -> str:
    """Write the warning of a size that a sweep by doubling has left out."""
    return f"{NO_ROW}{size} B: sizes of a whole output double"


def missing_powers(sizes: Sequence[int]) -> list[int]:
    """Name the sizes that a sweep by doubling has left out."""
    gaps = []
    for before, after in itertools.pairwise(sizes):
        step = before * 2
        while 0 < step < after:
            gaps.append(step)
            step *= 2
    return gaps
