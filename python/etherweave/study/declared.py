"""Declarations of ``study.toml``: texts, experiments, metrics, charts and questions."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from etherweave.api.inputs import decoded, read_toml
from etherweave.api.results import Result
from etherweave.study.deployments import DeploymentResult
from etherweave.study.experiments import (
    CurveExperiment,
    CurveResult,
    DesignExperiment,
    DesignResult,
    RunExperiment,
    StudyExperiment,
)

FILE = "study.toml"  # A folder with this file is a study.
Results: TypeAlias = Mapping[str, Any]  # Results by the name of their experiment.
Metric: TypeAlias = Callable[[Results], float]  # Computes the figure of a check.


@dataclass(frozen=True)
class DeclaredExperiment:
    """A table ``[[experiment]]``."""

    name: str
    scenario: str  # Path of the scenario from the study's folder, without ``.toml``.
    kind: str = "run"  # One of ``run``, ``curve``, ``design``.
    is_full_only: bool = False  # Whether it is carried out with ``--full`` only.


@dataclass(frozen=True)
class DeclaredMetric:
    """A table ``[[metric]]``: a statistic of a column, or a figure by its key."""

    check: str  # Id of a row of ``expected.csv``.
    experiment: str
    key: str = ""  # Dotted key of a figure of the design, the deployment or the run's summary.
    table: str = ""  # Table of a run, such as ``iterations``; a curve has its points only.
    column: str = ""
    statistic: str = "mean"  # One of ``max``, ``mean``, ``median``, ``min``, ``sum``.
    scale: float = 1.0  # Factor from the column's unit to that of the check.
    where: dict[str, str] = field(default_factory=dict)
    """Columns and the values of the rows that count."""


@dataclass(frozen=True)
class Bar:
    """One bar of a chart."""

    label: str
    check: str = ""  # Check whose value is drawn; none where only the published value is known.
    published: str = ""
    """Case in ``published.csv``; without one the check's published figure is marked."""
    colour: str = ""
    """Network option whose colour the bar has, such as ``tcp``; otherwise one of a series."""


@dataclass(frozen=True)
class BarChart:
    """A table ``[[bars]]``: values of checks with their published values marked."""

    name: str  # Name of the figure's files.
    title: str
    axis: str  # Label of the axis, with the unit.
    unit: str
    bars: tuple[Bar, ...]
    caption: str = ""
    published: str = ""  # Figure in ``published.csv`` that has the cases.
    checks: tuple[str, ...] = ()  # Checks that the chart illustrates; a ``*`` stands for anything.


@dataclass(frozen=True)
class ChartLine:
    """One line of a chart."""

    experiment: str
    """Name of the experiment; with a ``*``, all of these names are points of one line."""
    label: str = ""  # Name in the legend; a line without one belongs to the line before.
    y: str = ""  # Column up; by default that of the chart.
    series: int = 0  # Number of its colour and marks, from 1; by default its place in the chart.
    is_open: bool = False  # Whether it is dashed, with open marks.


@dataclass(frozen=True)
class Guide:
    """A value that a chart marks across all its lines."""

    axis: str  # ``x`` or ``y``.
    at: float  # The value, in the unit of the axis.
    label: str


@dataclass(frozen=True)
class ChartColumn:
    """A column of the table below a chart."""

    head: str
    column: str  # Column of the results, as of ``x`` and ``y``.
    form: str = ""  # Format of its numbers, such as ``,.1f``.


@dataclass(frozen=True)
class LineChart:
    """A table ``[[lines]]``: a column of a table of results against another."""

    name: str  # Name of the figure's files.
    title: str
    x: str  # Column across.
    y: str  # Column up.
    lines: tuple[ChartLine, ...]
    table: str = "points"
    x_axis: str = ""  # Label, with the unit; the column's name by default.
    y_axis: str = ""
    x_scale: float = 1.0  # Factor from the column's unit to that of the axis.
    y_scale: float = 1.0
    is_logarithmic: bool = False  # Whether the upright axis is.
    x_is_logarithmic: bool = False  # Whether the axis across is.
    guides: tuple[Guide, ...] = ()
    columns: tuple[ChartColumn, ...] = ()
    """Table below the chart: a row for each row of the results of its lines."""
    caption: str = ""
    checks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question:
    """A question of a reader, and the checks that answer it."""

    text: str  # The question, answered by yes where all checks pass.
    checks: tuple[str, ...]  # Ids of checks; a ``*`` stands for anything.
    settings: str  # Settings, or steps to take where the answer is no.
    figures: dict[str, str] = field(default_factory=dict)
    """Sentence for the value of a check, by its id; ``{}`` stands for the value."""


@dataclass(frozen=True)
class QuestionTable:
    """A table ``[[questions]]``: questions with their answers, figures and settings."""

    name: str  # Name of the section.
    title: str
    question: tuple[Question, ...]
    caption: str = ""


@dataclass(frozen=True)
class FittedConstant:
    """A table ``[[constant]]``: a constant of hosts, and the only figure that it is fitted to."""

    key: str  # Dotted key in a scenario.
    check: str  # Check whose figure is met, measured in the experiment of the same name.
    target: float  # Middle of what was published.
    low: int  # Start of the search, in the unit.
    high: int  # End of the search, in the unit.
    unit: str = ""  # Unit of the constant, such as ``ns`` or ``Mb/s``; none of a count.


@dataclass(frozen=True)
class DeclaredUnknown:
    """A table ``[[unknown]]``: keys of the scenarios that samples draw, and what these rest on."""

    experiments: str = "*"  # Pattern of the experiments that it is of.
    profiles: tuple[str, ...] = ()
    """Interconnects: where a scenario states the value of a figure, it has that figure's basis."""
    keys: tuple[str, ...] = ()  # Dotted keys.
    spread: str = ""
    """Name of the spread that they have, as ``etherweave uncertainty spreads`` lists it; by default
    their own."""
    share_of: str = ""  # Measurement of a time that they divide: their sum moves with it.
    measured_here: str = ""
    """Part of the source of a measurement of this very system: what is fitted to it is known."""
    low: str = ""  # Lower end of a range, in place of a spread.
    high: str = ""
    source: str = ""  # Source of the range or the spread.


@dataclass(frozen=True)
class Declaration:
    """A whole ``study.toml``."""

    title: str  # Title of the report.
    authors: str = ""  # Authors of the publication.
    venue: str = ""  # Where and when it was published, and by whom.
    about: str = ""  # Description of its experiments and rows, as Markdown.
    value_name: str = "simulated"  # Name of the column of computed figures: simulated, computed.
    shortened: str = ""
    """Parts that are shorter than published, without ``--full``; empty when none are."""
    scenarios_shown: tuple[str, ...] = ()
    """Experiments whose resolved scenario stands in the report."""
    opening: tuple[str, ...] = ()  # Sections of the report that stand before the checks that fail.
    sections: tuple[str, ...] = ()
    """Names of charts and of tables of questions, and functions of ``report.py``, in the order of
    the report."""
    experiment: tuple[DeclaredExperiment, ...] = ()
    metric: tuple[DeclaredMetric, ...] = ()
    bars: tuple[BarChart, ...] = ()
    lines: tuple[LineChart, ...] = ()
    questions: tuple[QuestionTable, ...] = ()
    constant: tuple[FittedConstant, ...] = ()
    unknown: tuple[DeclaredUnknown, ...] = ()
    overrides: Mapping[str, dict[str, object]] = field(default_factory=dict)
    """Dotted keys and values, by experiment; in the file they stand in its table."""

    def experiments(self, full: bool) -> list[StudyExperiment]:
        """List the declared experiments, with those that need ``--full`` or without."""
        return [
            _EXPERIMENTS[entry.kind](entry.name, entry.scenario, self.overrides[entry.name])
            for entry in self.experiment
            if full or not entry.is_full_only
        ]

    def metrics(self) -> dict[str, Metric]:
        """Give the declared metric of each check, by its id."""
        return {metric.check: partial(_measure, metric) for metric in self.metric}


_EXPERIMENTS: dict[str, Callable[[str, str, dict[str, object]], StudyExperiment]] = {
    "run": RunExperiment,
    "curve": CurveExperiment,
    "design": DesignExperiment,
}
_STATISTICS = ("max", "mean", "median", "min", "sum")


def read_declaration(file: Path) -> Declaration:
    """Read a ``study.toml``.

    Raises ``ValueError`` when something in it is wrong; names the file and the key; ``OSError``
    when it cannot be read.
    """
    facts = read_toml(file)
    overrides = dict(_overrides(facts, file))
    if "overrides" in facts:
        raise ValueError(f"{file}: unknown key 'overrides'")
    content = decoded(Declaration, facts, str(file))
    for name in [entry.name for entry in content.experiment if entry.kind not in _EXPERIMENTS]:
        raise ValueError(f"{file}: experiment {name}: expected a kind of {', '.join(_EXPERIMENTS)}")
    for own in content.metric:
        if bool(own.key) == bool(own.column):
            raise ValueError(f"{file}: metric of {own.check}: expected either a key or a column")
        if own.statistic not in _STATISTICS:
            raise ValueError(
                f"{file}: metric of {own.check}: expected a statistic of {', '.join(_STATISTICS)}"
            )
    for table in content.questions:
        for question in table.question:
            _check_words(question, f"{file}: questions {table.name}: {question.text}")
    charts = [own.name for own in content.bars] + [own.name for own in content.lines]
    sections = charts + [own.name for own in content.questions]
    for name in [name for name in sections if sections.count(name) > 1]:
        raise ValueError(f"{file}: section {name}: twice; expected names that differ")
    for number, unknown in enumerate(content.unknown):
        _check_unknown(unknown, f"{file}: unknown.{number}")
    return Declaration(**{**vars(content), "overrides": overrides})


def _check_words(question: Question, where: str) -> None:
    """Refuse a sentence that no number can stand in."""
    for check, words in question.figures.items():
        try:
            words.format(1.0)
        except (ValueError, LookupError, AttributeError, TypeError) as error:
            wrong = f"{where}: {check}: {words!r}: {error}"
            raise ValueError(f"{wrong}; expected {{}} or {{:.1f}} for the value") from None


def _check_unknown(unknown: DeclaredUnknown, where: str) -> None:
    """Refuse an unknown of nothing, or with two distributions."""
    if [bool(unknown.profiles), bool(unknown.keys), bool(unknown.measured_here)].count(True) != 1:
        raise ValueError(f"{where}: expected either profiles, keys or measured_here")
    if bool(unknown.low) != bool(unknown.high):
        raise ValueError(f"{where}: one end of a range; expected low and high")
    ways = {"spread": unknown.spread, "share_of": unknown.share_of, "low": unknown.low}
    if len(stated := [key for key, text in ways.items() if text]) > 1:
        raise ValueError(f"{where}.{stated[0]}: beside {stated[1]}; expected one of both")
    if unknown.profiles and stated:
        raise ValueError(f"{where}.{stated[0]}: of profiles; expected it beside keys")


def _overrides(facts: dict[str, Any], file: Path) -> Iterator[tuple[str, dict[str, object]]]:
    """Take overrides out of the experiments: their values may be of any type."""
    experiments = facts.get("experiment")
    for experiment in experiments if isinstance(experiments, list) else []:
        if isinstance(experiment, dict):
            own = experiment.pop("overrides", {})
            if not isinstance(own, dict):
                raise ValueError(
                    f"{file}: experiment {experiment.get('name')}: expected overrides = {{…}}"
                )
            yield str(experiment.get("name")), own


def table_of(result: Any, name: str) -> pl.DataFrame:
    """Take a table out of a result; a curve has its points only, a design one row of figures.

    Raises ``ValueError`` when the result has no such table.
    """
    if isinstance(result, CurveResult):
        return result.points
    if isinstance(result, DesignResult):
        return pl.DataFrame([dict(flat({**result.formula, **result.design}))])
    if isinstance(result, Result) and name in result.tables:
        return result.to_polars(name)
    raise ValueError(f"no table {name!r} in a result of type {type(result).__name__}")


def flat(figures: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """List the numbers and texts of nested figures by dotted keys."""
    for name, value in figures.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{name}.")
        elif isinstance(value, int | float | str):
            yield f"{prefix}{name}", value


def _measure(metric: DeclaredMetric, results: Results) -> float:
    result = results[metric.experiment]
    try:
        return metric.scale * (_figure if metric.key else _statistic)(metric, result)
    except (KeyError, TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise ValueError(f"metric of {metric.check}: {error}") from None


def _statistic(metric: DeclaredMetric, result: Any) -> float:
    rows = table_of(result, metric.table)
    for column, value in metric.where.items():
        rows = rows.filter(pl.col(column).cast(pl.String) == value)
    statistic = getattr(rows[metric.column].cast(pl.Float64), metric.statistic)()
    return float("nan") if statistic is None else float(statistic)


def _figure(metric: DeclaredMetric, result: Any) -> float:
    if isinstance(result, DesignResult):
        figure: Any = {**result.formula, **result.design}
    else:
        figure = result.figures if isinstance(result, DeploymentResult) else result.summary
    for part in metric.key.split("."):
        figure = figure[part]
    return float(figure)
