"""Parts of a test: cases, that is scenarios, and tables of what their runs give."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from etherweave.api.results import Result

if TYPE_CHECKING:
    from etherweave.bmwg.fabric import BenchFabric

WHOLE_MIN = 1000  # Least number that is written without decimals.
Cell: TypeAlias = str | int | float | None  # Value of a table; None where it is not known.


def text_of(cell: Cell) -> str:
    """Write a cell with four significant digits; an en dash where the value is not known."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "–"
    if isinstance(cell, str):
        return cell
    is_short = isinstance(cell, float) and abs(cell) < WHOLE_MIN
    return f"{cell:.4g}" if is_short else f"{cell:,.0f}"


class ObservationPoint(StrEnum):
    """Where a value is observed (Y 2). Values of different points are never merged."""

    BOUNDARY = "DUT boundary"
    REPORTED = "DUT-reported"
    SOFTWARE = "software"
    SETTING = "setting"

    def columns(self, *titles: str) -> list["Column"]:
        """Name columns that are observed here."""
        return [Column(title, self) for title in titles]

    def metric(self, title: str, value: Callable[[Result], "Cell"]) -> "Metric":
        """Make the metric of a value that follows from the run alone."""
        return Column(title, self), lambda _, run: value(run)

    def case_metric(self, title: str, value: Callable[["Case", Result], "Cell"]) -> "Metric":
        """Make the metric of a value that follows from the case and its run."""
        return Column(title, self), value


@dataclass(frozen=True)
class Column:
    """A column of a report table."""

    title: str  # Name of the value, with its unit in brackets.
    point: ObservationPoint  # Point of observation.


@dataclass(frozen=True)
class Plot:
    """Columns that a figure shows, by their places in the table."""

    x: int  # Places along the axis.
    y: int  # Values.
    by: Sequence[int] = ()  # Columns whose values have a line each.
    is_bars: bool = False  # Whether values are bars, as where places have no order.


@dataclass(frozen=True)
class ReportTable:
    """A table of a test's report."""

    name: str  # Name of its file.
    title: str  # Contents, as its heading says.
    columns: Sequence[Column]  # Its columns.
    rows: Sequence[Sequence[Cell]]  # Its rows, a value for each column.
    note: str = ""  # Manner of reading it.
    plot: Plot | None = None  # Figure of it.


@dataclass(frozen=True)
class Case:
    """A trial configuration: values of the axes, and what they change in the fabric's scenario."""

    labels: Mapping[str, Cell]  # Values of the axes.
    changes: Mapping[str, object]  # Keys of the scenario with values.
    excluded: str = ""  # Why it is not attempted; empty where it is.
    may_deadlock: bool = False  # Whether a run without progress is a result.
    is_searched: bool = False  # Whether the largest load without loss is looked for.

    @property
    def name(self) -> str:
        """Axes and values in a line."""
        return ", ".join(f"{axis} {value}" for axis, value in self.labels.items())


@dataclass(frozen=True)
class Trial:
    """A case that was attempted."""

    case: Case  # Its configuration.
    result: Result | None  # Tables of its run; None where it failed.
    problem: str = ""  # Why the trial is excluded; empty where it is included.

    def label(self, axis: str) -> Cell:
        """Return the value of an axis."""
        return self.case.labels.get(axis)


Included: TypeAlias = Sequence[tuple[Case, Result]]  # Cases whose runs count, with their results.


@dataclass(frozen=True)
class BenchTest:
    """A test of a draft."""

    cases: Callable[["BenchFabric", bool], Sequence[Case]]
    """Makes the cases of a fabric: a short sweep, or that of the draft."""
    tables: Callable[["BenchFabric", Included], Sequence[ReportTable]]
    """Computes the report's tables from the trials that count."""


def labelled(axes: Sequence[str], *values: Cell) -> dict[str, Cell]:
    """Name the values of axes."""
    return dict(zip(axes, values, strict=True))


Metric: TypeAlias = tuple[Column, Callable[[Case, Result], Cell]]
"""A column, and how its value follows from a trial."""


def table(
    name: str,
    title: str,
    axes: Sequence[str],
    metrics: Sequence[Metric],
    trials: Included,
    *,
    note: str = "",
    plot: Plot | None = None,
) -> ReportTable:
    """Make a table with a row for each trial: its axes, then its metrics."""
    columns = ObservationPoint.SETTING.columns(*axes)
    rows = [
        [*(case.labels.get(axis) for axis in axes), *(value(case, run) for _, value in metrics)]
        for case, run in trials
    ]
    columns += [column for column, _ in metrics]
    return ReportTable(name, title, columns, rows, note, plot)
