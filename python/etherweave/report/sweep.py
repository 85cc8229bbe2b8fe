"""A figure of a sweep's runs over one of its axes, a line or points for each value of another.

Rows that are samples have a median and a band of 90 % at each place, others a mean and their range.
"""

import difflib
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from etherweave.api.units import rate_of, size_of, time_of
from etherweave.report.style import ASIDE, SERIES, house, literal, write_svg

_UNITS: list[tuple[Callable[[str], float], str]] = [
    (size_of, "B"),
    (time_of, "s"),
    (rate_of, "B/s"),
]

LINE_MOST = 20
"""Largest number of places that a line joins; those of samples are points."""
SAMPLE = "sample"
"""Column of datasets whose rows are samples: their number."""
LOW, HIGH = 0.05, 0.95
"""Quantiles at the ends of a band of samples."""
DECADE = 10
"""Ratio of the ends of an axis above which it is logarithmic."""


def draw_sweep(table: pl.DataFrame, columns: Mapping[str, str], path: Path) -> Path:
    """Draw means of rows with equal ``x`` and ``by``, and the range between them, as SVG.

    Parameters
    ----------
    table
        Dataset of a sweep.
    columns
        Names of columns: ``x``, ``y``, and ``by`` if there are several lines.
    path
        Of the file to write.

    Raises
    ------
    ValueError
        When there is no such column, or nothing to draw.
    """
    for role in ("x", "y"):
        if role not in columns:
            raise ValueError(f"no {role}; expected {role}=COLUMN")
    return write_svg(lambda: plot(table, **columns), path)


class Plot(Figure):
    """A figure that notebooks show as SVG; ``savefig`` writes it as PNG, PDF or SVG."""

    def _repr_svg_(self) -> str:
        text = io.StringIO()
        with house():
            self.savefig(text, format="svg")
        return text.getvalue()


def plot(table: Any, x: str, y: str, by: str | None = None) -> Plot:
    """Draw one column of a table over another: means of equal ``x``, and the range between them.

    Parameters
    ----------
    table
        Of polars, Arrow or pandas: of a result, a curve or the dataset of a sweep.
    x, y
        Names of columns; ``y`` has numbers. Texts with units, such as ``"1MiB"``, are amounts.
    by
        Column for each of whose values there is a line.

    Raises
    ------
    ValueError
        When there is no such column, or nothing to draw.
    """
    table = pl.DataFrame(table)
    for role, name in {"x": x, "y": y, **({"by": by} if by else {})}.items():
        if name not in table.columns:
            near = difflib.get_close_matches(name, table.columns, 3, 0.3) or table.columns[:8]
            raise ValueError(f"{role}={name}: no such column; nearest: {', '.join(near)}")
    rows = table.filter(pl.col(y).is_not_null())
    if SAMPLE in rows.columns:
        rows = rows.filter(pl.col(SAMPLE) >= 0)  # Without the run as it stands.
    if rows.is_empty() or not rows[y].dtype.is_numeric():
        raise ValueError(f"y={y}: no numbers; expected a column of figures")
    with house():
        return _figure(rows, x, y, by)


def _figure(rows: pl.DataFrame, x: str, y: str, by: str | None) -> Plot:
    figure = Plot(figsize=(6.5, 4))
    axes = figure.subplots()
    places, unit = _places(rows[x].unique(maintain_order=True).to_list())
    lines: list[tuple[Any, pl.DataFrame]] = [(None, rows)]
    if by:
        lines = [(key[0], one) for key, one in rows.sort(by).group_by(by, maintain_order=True)]
    ends = _ends(y, SAMPLE in rows.columns)
    for number, (value, line) in enumerate(lines):
        means = line.group_by(x, maintain_order=True).agg(ends)
        order = sorted(range(len(means)), key=lambda at: places[means[x][at]])
        means = means[order]
        at, colour = [places[one] for one in means[x]], SERIES[number % len(SERIES)]
        label = None if value is None else literal(str(value))
        look: dict[str, Any] = {"marker": "o", "markersize": 4, "color": colour, "label": label}
        if len(places) > LINE_MOST:
            axes.plot(at, means["mean"], linestyle="", **look)
            continue
        axes.plot(at, means["mean"], **look)
        axes.fill_between(at, means["low"], means["high"], color=colour, alpha=0.2, lw=0)
    if unit is None:
        axes.set_xticks(list(places.values()), [literal(str(one)) for one in places])
    elif min(places.values()) > 0 and max(places.values()) > DECADE * min(places.values()):
        axes.set_xscale("log")
    axes.set_xlabel(literal(f"{x} [{unit}]" if unit else x))
    axes.set_ylabel(literal(y))
    if by:
        axes.legend(title=literal(by), **ASIDE)
    return figure


def _ends(y: str, is_sampled: bool) -> list[pl.Expr]:
    """Describe equal rows by a middle and two ends: a median and an interval, or mean and range."""
    if not is_sampled:
        parts = {"mean": pl.col(y).mean(), "low": pl.col(y).min(), "high": pl.col(y).max()}
    else:
        levels = {"mean": 0.5, "low": LOW, "high": HIGH}
        parts = {name: pl.col(y).quantile(at, "linear") for name, at in levels.items()}
    return [part.alias(name) for name, part in parts.items()]


def _places(values: Sequence[Any]) -> tuple[dict[Any, float], str | None]:
    """Place values on the axis, and name the unit there; None where they are only names."""
    if not any(isinstance(value, str) for value in values):
        return {value: float(value) for value in values}, ""
    for read, unit in _UNITS:
        try:
            return {value: float(read(value)) for value in values}, unit
        except ValueError:
            continue
    return {value: float(number) for number, value in enumerate(values)}, None
