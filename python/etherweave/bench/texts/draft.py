"""A report under construction, and the functions by which all adapters parse."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

from etherweave.api.units import PRINTED_UNITS, Unit
from etherweave.measurements.benchmark_report import (
    BenchmarkReport,
    Completeness,
    GarbledError,
    Labels,
    Measurement,
    TextLine,
    check_statistics,
)
from etherweave.measurements.metrics import JITTER, Metric

NUMBER = r"[0-9]{1,24}(?:\.[0-9]{1,24})?"  # A number without sign, in the pattern of a line.
_DECIMAL = re.compile(NUMBER + r"(?:[eE][+-]?[0-9]{1,3})?")
_REMARK = re.compile(r"\s+(?:<[-=]+|←).*")  # Remarks that people write behind a row.
INTEGER = re.compile(r"[0-9]{1,18}")
FIXED_2 = re.compile(r"[0-9]{1,18}\.[0-9]{2}")  # Number with two places, as ``%.2f`` prints it.
ANY = re.compile(NUMBER)
_KINDS = {INTEGER: "a whole number", FIXED_2: "a number with two decimal places", ANY: "a number"}
"""Kinds of fields, in words."""
_MAX = {
    Unit.SECONDS: 1e8,
    Unit.BYTES: 1e21,
    Unit.BYTES_PER_SECOND: 1e18,
    Unit.PER_SECOND: 1e20,
    Unit.COUNT: 1e15,
}
"""Years of running, the memory of all nodes of an exascale machine, its operations: no benchmark
measures more."""
_SHOWN_MAX = 100  # Longest part of a line that explains why there is no measurement [characters].
_SIZE_MAX = 2**50  # Largest size of a message [bytes].


class TextBlock(NamedTuple):
    """The part of a text that one run of one benchmark wrote."""

    lines: tuple[TextLine, ...]
    is_cut: bool  # The text ended within a line, which is left out.
    is_object: bool = False  # It is a JSON object rather than lines.
    data: dict[str, Any] | None = None  # That object; ``None`` if it is cut or garbled.
    before: tuple[TextLine, ...] = ()
    """The lines that precede it: the command, perhaps, or the name of a table."""

    @property
    def start(self) -> int:
        """The number of the first line."""
        return self.lines[0].number

    @property
    def end(self) -> int:
        """The number of the last line."""
        return self.lines[-1].number


@dataclass
class Draft:
    """Collects what an adapter parses from a block."""

    benchmark: str
    block: TextBlock
    program: str = ""
    version: str | None = None
    completeness: Completeness = Completeness.OPEN
    valid: bool | None = None
    is_wrong: bool = False  # Its own verification failed.
    facts: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    leftover: list[TextLine] = field(default_factory=list)
    measurements: list[Measurement] = field(default_factory=list)

    def add(
        self,
        metric: Metric,
        printed: str,
        unit: str,
        line: int,
        *,
        size: int | None = None,
        statistic: str = "mean",
        labels: Labels = (),
    ) -> None:
        """Store a printed number in its base unit.

        A time or a rate of zero is left out, with a warning: nothing took that long.

        Raises ``GarbledError`` when it is none of this metric, or no machine could have measured
        it.
        """
        base, factor = PRINTED_UNITS[unit]
        if base != metric.unit:
            raise GarbledError(line, f"{printed[:40]} {unit} cannot be a {metric.name}")
        value = float(decimal(printed, line) * factor)
        if value > _MAX[base] or (size or 0) > _SIZE_MAX:
            raise GarbledError(line, f"{printed[:40]} {unit} is no {metric.name} of any machine")
        if value or base is Unit.COUNT or metric is JITTER:
            said = f"{printed} {unit}"
            self.measurements.append(
                Measurement(metric, value, statistic, size, tuple(labels), said, line)
            )
        elif size != 0:
            self.warn(f"a {metric.name} printed as {printed} is left out")

    def add_each(
        self,
        metric: Metric,
        statistics: Iterable[str],
        printed: Iterable[str],
        unit: str,
        line: int,
        *,
        size: int | None = None,
        labels: Labels = (),
    ) -> None:
        """Store the statistics of a row, as :meth:`add` does."""
        for statistic, value in zip(statistics, printed, strict=True):
            self.add(metric, value, unit, line, size=size, statistic=statistic, labels=labels)

    def rows(
        self,
        lines: Iterable[TextLine],
        *patterns: re.Pattern[str],
        looks: str = r"(?!)",
        known: str = r"(?!)",
    ) -> Iterator[tuple[TextLine, re.Match[str]]]:
        """Give the lines that one of the patterns matches as a whole; others are left over.

        ``looks`` is the beginning of a row: a line that looks so must match. ``known`` is the
        beginning of lines that are understood, and say nothing; so are blanks. Raises
        ``GarbledError`` when a line looks like a row, and is none.
        """
        for line in lines:
            matches = (pattern.fullmatch(line.text) for pattern in patterns)
            if row := next(filter(None, matches), None):
                yield line, row
            elif re.match(looks, line.text):
                raise not_understood(line)
            elif line.text.strip() and not re.match(known, line.text):
                self.leftover.append(line)

    def warn(self, warning: str) -> None:
        """Add a warning, once."""
        if warning not in self.warnings:
            self.warnings.append(warning)

    def miss(self, what: str) -> None:
        """Add a warning of missing text, and mark the report as partial."""
        self.warn(what)
        self.completeness = Completeness.PARTIAL

    def end(self, is_seen: bool, what: str) -> None:
        """Close a format that has an end of its own."""
        if not is_seen:
            self.miss(f"{what} is missing")
        elif self.completeness == Completeness.OPEN:
            self.completeness = Completeness.COMPLETE

    def check(self, is_passed: bool, failure: str) -> None:
        """Record a verification by the benchmark itself."""
        self.valid = is_passed and self.valid is not False
        self.is_wrong = self.is_wrong or not is_passed
        if not is_passed:
            self.warn(failure)

    def fail(self, failure: str) -> None:
        """Record that the benchmark itself reports a failure; its silence verifies nothing."""
        self.valid = False
        self.warn(failure)

    def report(self) -> BenchmarkReport:
        """Finish; raises ``GarbledError`` when nothing was measured."""
        if self.block.is_cut:
            self.miss("the text ends within a line, which is left out")
        if not self.measurements:
            raise GarbledError(self.block.start, f"no measurement: {self._reason()}")
        check_statistics(self.measurements)
        return BenchmarkReport(
            self.benchmark,
            self.program,
            self.version,
            self.block.start,
            tuple(self.measurements),
            self.completeness,
            self.valid,
            tuple(self.facts.items()),
            tuple(self.warnings),
            tuple((line.number, line.text) for line in self.leftover),
        )

    def _reason(self) -> str:
        """Say why there is no measurement, by what the text says."""
        reasons = list(self.warnings)
        if self.is_wrong:
            reasons.insert(0, "its own verification FAILED")
        elif line := next((line for line in self.leftover if re.search(r"\w", line.text)), None):
            reasons.append(f"line {line.number}: {line.text.strip()[:_SHOWN_MAX]}")
        return "; ".join(reasons) or "the text has no row of results"


def not_understood(line: TextLine) -> GarbledError:
    """Return the error for a line that looks like a row, and is none."""
    return GarbledError(line.number, f"a row that is not understood: {line.text[:60]!r}")


def decimal(printed: str, line: int) -> Decimal:
    """Read a number that may not be negative.

    Raises ``GarbledError`` when it is none, or beyond any measurement.
    """
    if not _DECIMAL.fullmatch(printed):
        is_negative = printed[:1] == "-" and _DECIMAL.fullmatch(printed[1:])
        expected = "a number of 0 or more" if is_negative else "a number"
        raise GarbledError(line, f"expected {expected}, found {printed[:40]!r}")
    value = Decimal(printed)
    if value and not -60 < value.adjusted() < 60:
        raise GarbledError(line, f"{printed[:40]!r} is no measurement")
    return value


def integer(printed: str, line: int) -> int:
    """Read a count; raises ``GarbledError`` when it is none."""
    if not INTEGER.fullmatch(printed):
        raise GarbledError(line, f"expected a whole number, found {printed[:40]!r}")
    return int(printed)


def size_bytes(printed: str, line: int) -> int:
    """Read a size with a suffix in powers of two: 64, 1k, 4m."""
    scale = {"k": 2**10, "m": 2**20, "g": 2**30}.get(printed[-1:].lower(), 1)
    return integer(printed[:-1] if scale > 1 else printed, line) * scale


def columns(header: str) -> list[str]:
    """Split a header whose names are two or more blanks apart."""
    return re.split(r"\s{2,}", header.strip(" #"))


def begins_with_digit(text: str) -> bool:
    """Whether a line looks like a row of numbers."""
    return bool(re.match(r"\s*[-+.]?\d", text))


def fields(
    line: TextLine, kinds: Sequence[re.Pattern[str]], names: Sequence[str] = ()
) -> list[str]:
    """Split a row, and check each field against its kind; ``names`` are those of the columns.

    Raises ``GarbledError`` when there are more or fewer fields, or one is of another kind.
    """
    parts = _REMARK.sub("", line.text).split()
    if len(parts) != len(kinds):
        raise GarbledError(line.number, f"expected {len(kinds)} columns, found {len(parts)}")
    for number, (part, kind) in enumerate(zip(parts, kinds, strict=True)):
        if not kind.fullmatch(part):
            name = f" ({names[number]})" if names else ""
            expected = _KINDS.get(kind, "another form")
            reason = f"column {number + 1}{name} is {part[:40]!r}; expected {expected}"
            raise GarbledError(line.number, reason)
    return parts


def find(
    pattern: re.Pattern[str], lines: Iterable[TextLine]
) -> Iterator[tuple[TextLine, re.Match[str]]]:
    """Find the lines that match."""
    for line in lines:
        if match := pattern.search(line.text):
            yield line, match
