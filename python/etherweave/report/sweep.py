"""A figure of a sweep's runs over one of its axes, a line or points for each value of another.

Rows that are samples have a median and a band of 90 % at each place; rows of several seeds a mean
with its interval of 95 %, as Student's t gives it; others a mean and their range.
"""

import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias, overload

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etherweave.api.results import HasResults, Result
from etherweave.api.toml import differences
from etherweave.api.units import length_of, rate_of, size_of, time_of
from etherweave.report import style
from etherweave.report.flow_page import FlowPlots
from etherweave.report.run.flow_figures import Labelled
from etherweave.report.sizes import size_name
from etherweave.uncertainty.intervals import Interval, quantiles
from etherweave.uncertainty.means import bounded, half_widths
from etherweave.uncertainty.together import CONDITIONS, SAMPLE, SEED, errors_in, together_of

_UNITS: list[tuple[Callable[[str], float], str]] = [
    (size_of, "B"),
    (time_of, "s"),
    (rate_of, "B/s"),
    (length_of, "m"),
]

LINES_MAX = 12  # Most points whose flows are drawn in the same figures.
LINE_MAX = 20  # Largest number of places that a line joins; those of samples are points.
PANEL_MAX = 12  # Largest number of panels of a figure.
PANELS_IN_ROW = 3
BANDS = "Medians of samples; bands: 90 % of samples"
WITH_MODEL = "lighter, 90 % with the error of the model"
_OF_MODEL = "_with the error of the model"  # Label of such bands and bars, in no legend.
STEP = 0.4  # Width of the points of all lines at a name, of which one follows each 1.
APART = 0.18  # Share of a logarithmic axis between two names in a small panel.
DECADE = 10  # Ratio of the ends of an axis above which it is logarithmic.


def draw_sweep(
    table: pl.DataFrame, columns: Mapping[str, str], path: Path, axes: Sequence[str] = ()
) -> Path:
    """Draw means of rows with equal ``x`` and ``by``, with intervals or ranges.

    ``columns`` are names of columns: ``x``, ``y``, ``by`` if there are several lines, and ``mean``
    for axes to average over, separated by commas. Any other name is a column, of which rows with
    this value are drawn. Axes of the sweep that nothing names have a panel for each value. Raises
    ``ValueError`` when there is no such column or value, or nothing to draw.
    """
    for role in ("x", "y"):
        if role not in columns:
            raise ValueError(f"no {role}; expected {role}=COLUMN")
    roles = {name: columns[name] for name in ("x", "y", "by") if name in columns}
    averaged = [name for name in columns.get("mean", "").split(",") if name]
    _check({f"{role}={name}": name for role, name in roles.items()}, table)
    _check({f"mean={name}": name for name in averaged}, table)
    _check_values("x", roles["x"], table)
    for name, value in columns.items():
        if name not in (*roles, "mean"):
            table = selected(table, name, value)
    # The keys that samples draw are those of one point.
    points = table.filter(pl.col(SAMPLE) < 0) if SAMPLE in table.columns else table
    left = [
        name
        for name in axes
        if name not in (*roles.values(), *averaged, SAMPLE, SEED)
        and not name.startswith(CONDITIONS)
        and points[name].n_unique() > 1
    ]
    panels = math.prod(points[name].n_unique() for name in left)
    if panels > PANEL_MAX:
        raise ValueError(
            f"{panels} panels of {', '.join(left)}; expected at most {PANEL_MAX}: draw rows of a "
            f"value by {left[0]}=VALUE, or average by mean={left[0]}"
        )
    return style.write_figure(
        lambda: _with_note(plot(table, **roles, panels=left), table, averaged), path
    )


def _with_note(figure: Figure, table: pl.DataFrame, averaged: Sequence[str]) -> Figure:
    """Write below a figure which axes it averages over, and what its bands are."""
    names = ", ".join(averaged)
    if SAMPLE in table.columns:
        over = f" over {names}" if averaged else ""
        note = BANDS.replace("samples;", f"samples{over};")
        drawn = [own.get_label() for axes in figure.axes for own in axes.collections]
        note += f"; {WITH_MODEL}" if _OF_MODEL in drawn else ""
    elif averaged:
        band = "intervals of 95 %" if set(averaged) == {SEED} else "range of the runs"
        note = f"Means over {names}; bands and bars: {band}"
    else:
        return figure
    figure.supxlabel(style.literal(note), fontsize="small")
    return figure


def draw_flows(results: Mapping[str, Sequence[Result]], name: str, path: Path) -> Path:
    """Draw a figure of flows by its name, a line for each point of a sweep.

    Raises ``ValueError`` when no point keeps its results, there are too many, or no such figure.
    """
    points = labelled(results) or {}
    if not 0 < len(points) <= LINES_MAX:
        expected = (
            f"x=COLUMN, or 1 to {LINES_MAX}, by `sweep run --tables` and COLUMN=VALUE of many"
        )
        raise ValueError(f"{name}: {len(points)} points with tables; expected {expected}")
    figures = FlowPlots(points).figures
    if name not in figures:
        raise ValueError(f"{name}: no such figure; expected x=COLUMN, or {', '.join(figures)}")
    return style.write_figure(lambda: figures[name], path)


def selected(table: pl.DataFrame, name: str, value: str) -> pl.DataFrame:
    """Return the rows with a value of a column, as it is written there."""
    _check({name: name}, table)
    rows = table.filter(pl.col(name).cast(pl.String) == value)
    if rows.is_empty():
        values = ", ".join(map(str, table[name].unique(maintain_order=True)[:8]))
        raise ValueError(f"{name}={value}: no such row; expected one of {values}")
    return rows


def _check(columns: Mapping[str, str], table: pl.DataFrame) -> None:
    for role, name in columns.items():
        if name not in table.columns:
            raise ValueError(f"{role}: no such column; nearest: {_nearest(name, table)}")


def _check_values(role: str, name: str, table: pl.DataFrame) -> None:
    """Refuse a column of empty texts alone, as that of messages is where all runs ended well."""
    if table[name].dtype == pl.String and not any(table[name]):
        raise ValueError(f"{role}={name}: no value in any row; nearest: {_nearest(name, table)}")


def _nearest(name: str, table: pl.DataFrame) -> str:
    """List columns that have the name as a part, and those that are written much alike."""
    others = [own for own in table.columns if own != name]
    near = [own for own in others if name in own.split(".")]
    near += difflib.get_close_matches(name, others, 3, 0.3)
    return ", ".join([*dict.fromkeys(near)][:3] or others[:8])


class Plot(Figure):
    """A figure that notebooks show as SVG; ``savefig`` writes it as PNG, PDF or SVG."""

    def _repr_svg_(self) -> str:
        return style.image_of(lambda: self).decode()


Results: TypeAlias = Result | list[Result] | HasResults
"""A result, those of several seeds, or a sweep or replications that kept theirs."""


@overload
def plot(table: Results | Mapping[str, Results]) -> FlowPlots: ...
@overload
def plot(table: Any, x: str, y: str, by: str | None = None, panels: Sequence[str] = ()) -> Plot: ...
def plot(
    table: Any,
    x: str | None = None,
    y: str | None = None,
    by: str | None = None,
    panels: Sequence[str] = (),
) -> Plot | FlowPlots:
    """Draw one column of a table over another: means of equal ``x``, with intervals or ranges.

    The interval is that of the mean of several seeds; rows without seeds have their range. Results
    take the place of a table: then it draws slowdowns by size, completion times, queues, loads,
    pauses, goodput and fairness of their flows, side by side, of several seeds means with
    intervals.

    Parameters
    ----------
    table
        Of polars, Arrow or pandas: of a result, a curve or the dataset of a sweep. Without ``x``
        and ``y`` a result, a list of results that differ in their seeds, what
        ``run_replications`` returned, or ``sweep`` with ``tables``, or any of these by label.
    x, y
        Names of columns; ``y`` has numbers. Texts with units, such as ``"1MiB"``, are amounts.
    by
        Column for each of whose values there is a line.
    panels
        Columns for each combination of whose values there is a panel.

    Raises
    ------
    ValueError
        When there is no such column, or nothing to draw.
    """
    if (results := labelled(table)) is not None:
        _check_alone(x=x, y=y, by=by, panels=panels)
        return FlowPlots(results)
    _check_results(table)
    if x is None or y is None:
        raise ValueError("x and y: not stated; expected names of columns")
    table = pl.DataFrame(table)
    roles = {"x": x, "y": y, **({"by": by} if by else {})}
    _check({f"{role}={name}": name for role, name in roles.items()}, table)
    rows = table.filter(pl.col(x).is_not_null(), pl.col(y).is_not_null())
    if SAMPLE in rows.columns:
        rows = rows.filter(pl.col(SAMPLE) >= 0)  # Without the run as it stands.
    if rows.is_empty() or not rows[y].dtype.is_numeric():
        raise ValueError(f"y={y}: no numbers beside x={x}; expected a column of figures")
    with style.house():
        return _figure(rows, x, y, by, panels)


def _check_alone(**columns: object) -> None:
    """Refuse columns beside results, of which none is drawn."""
    if stated := [name for name, value in columns.items() if value]:
        expected = "a table beside columns, as result.to_polars('flow_times') is"
        raise ValueError(f"{' and '.join(stated)}: stated beside results; expected {expected}")


def _check_results(source: object) -> None:
    """Refuse what holds a result and something else, and what holds nothing."""
    named = source.items() if isinstance(source, Mapping) else ()
    listed = enumerate(source) if isinstance(source, list) else ()
    values = dict([*named, *listed])
    if isinstance(source, Mapping | list) and not values:
        raise ValueError("an empty collection; expected results, or a table with x and y")
    if any(labelled(value) is not None for value in values.values()):
        where, what = next(pair for pair in values.items() if labelled(pair[1]) is None)
        raise ValueError(f"{where}: {str(what)[:40]!r}; expected a result, as all others are")


def labelled(source: object, label: str = "") -> Labelled | None:
    """Give results that stand in place of a table by the labels of their lines; None of a table."""
    if isinstance(source, Mapping):
        parts = [labelled(value, str(name)) for name, value in source.items()]
        known = [part for part in parts if part is not None]
        return dict(chain(*(part.items() for part in known))) if len(known) == len(parts) else None
    if isinstance(source, HasResults):
        return {
            ", ".join(filter(None, (label, own))) or seeds[0].summary["name"]: seeds
            for own, seeds in source.results().items()
        }
    seeds = [source] if isinstance(source, Result) else source
    if isinstance(seeds, list) and seeds and all(isinstance(own, Result) for own in seeds):
        return {label or seeds[0].summary["name"]: seeds}
    return None


def _figure(rows: pl.DataFrame, x: str, y: str, by: str | None, panels: Sequence[str]) -> Plot:
    parts = _parts(rows, panels)
    wide = min(len(parts), PANELS_IN_ROW)
    high = math.ceil(len(parts) / wide)
    figure = Plot(figsize=(6.5, 4) if len(parts) == 1 else (3.6 * wide + 1.5, 2.9 * high))
    grid = figure.subplots(high, wide, squeeze=False, sharex=True, sharey=True).flat
    places, unit = _places(rows[x].unique(maintain_order=True).to_list())
    values: dict[Any, Any] = _named(rows, by) if by else {None: None}
    for axes, (title, part) in zip(grid, parts, strict=False):
        _lines(axes, part, (x, y, by), places, values, are_names=unit is None)
        axes.set_title(style.literal(title), fontsize="small")
        if unit is None:
            axes.set_xticks(list(places.values()), [style.literal(str(place)) for place in places])
        elif min(places.values()) > 0 and max(places.values()) > DECADE * min(places.values()):
            axes.set_xscale("log")
            _name_places(
                axes, sorted(places.values()), unit, APART if len(parts) > 1 else APART / 2
            )
        elif all(isinstance(place, int) for place in places):
            axes.xaxis.set_major_locator(style.WholeNumbers())
        axes.set_xlabel(style.literal(f"{x} [{unit}]" if unit else x))
        axes.set_ylabel(style.literal(with_unit(y)))
        axes.label_outer()
    for axes in list(grid)[len(parts) :]:
        axes.set_axis_off()
    if by:
        figure.axes[wide - 1].legend(title=style.literal(by), **style.ASIDE)
    return figure


def _name_places(axes: Axes, places: Sequence[float], unit: str | None, apart: float) -> None:
    """Name the places of a logarithmic axis that are apart by a share of it, the largest first.

    Sizes are powers of two; where places are too many to be joined, powers of ten have names.
    """
    if len(places) > LINE_MAX:
        return style.name_decades(axes.xaxis)
    least = math.log(places[-1] / places[0]) * apart
    shown = [places[-1]]
    for place in reversed(places):
        if math.log(shown[-1] / place) >= least:
            shown.append(place)
    name = (lambda place: size_name(round(place))) if unit == "B" else "{:,.6g}".format
    axes.set_xticks(shown[::-1], [name(place) for place in reversed(shown)])
    axes.set_xticks([], minor=True)
    return None


def _lines(
    axes: Axes,
    rows: pl.DataFrame,
    columns: tuple[str, str, str | None],
    places: Mapping[Any, float],
    values: Mapping[Any, str | None],
    *,
    are_names: bool,
) -> None:
    """Draw lines with bands; points with bars where places are names, between which is nothing."""
    x, y, by = columns
    ends = _ends(y, rows.columns)
    for number, (value, name) in enumerate(values.items()):
        line = rows.filter(pl.col(by).eq_missing(value)) if by else rows
        means = _with_intervals(line.group_by(x, maintain_order=True).agg(ends), y)
        order = sorted(range(len(means)), key=lambda at: places[means[x][at]])
        means = means[order]
        at, colour = [places[place] for place in means[x]], style.SERIES[number % len(style.SERIES)]
        of_model: dict[str, Any] = {"color": colour, "label": _OF_MODEL}
        wide = [together_at(line.filter(pl.col(x).eq_missing(place)), y) for place in means[x]]
        label = None if name is None else style.literal(name)
        look: dict[str, Any] = {"marker": "o", "markersize": 4, "color": colour, "label": label}
        if are_names:
            at = [place + STEP * (number - (len(values) - 1) / 2) / len(values) for place in at]
            axes.vlines(at, means["low"], means["high"], color=colour, alpha=0.5, lw=2)
            for place, span in zip(at, wide, strict=True):
                if span:
                    axes.vlines([place], [span.low], [span.high], alpha=0.3, lw=1, **of_model)
        if are_names or len(places) > LINE_MAX:
            axes.plot(at, means["mean"], linestyle="", **look)
            continue
        axes.plot(at, means["mean"], **look)
        axes.fill_between(at, means["low"], means["high"], color=colour, alpha=0.2, lw=0)
        known = [span for span in wide if span]
        if len(known) == len(at):
            low, high = [span.low for span in known], [span.high for span in known]
            axes.fill_between(at, low, high, alpha=0.1, lw=0, **of_model)


def together_at(rows: pl.DataFrame, figure: str) -> Interval | None:
    """Return the interval of samples with the error of the model, where rows know its conditions.

    Of rows of several conditions, such as those of several sizes, nothing is known.
    """
    if SAMPLE not in rows.columns or rows.is_empty():
        return None
    columns = [name for name in rows.columns if name.startswith(CONDITIONS)]
    samples = rows.filter(pl.col(SAMPLE) >= 0).drop_nulls(figure)
    if samples.is_empty() or len(rows.select(columns).unique()) != 1:
        return None
    return together_of(figure, samples[figure].to_list(), errors_in(samples.to_dicts()))


def _parts(rows: pl.DataFrame, panels: Sequence[str]) -> list[tuple[str, pl.DataFrame]]:
    """Part rows by the values of columns, in the order of the values, each with a title."""
    parts = [("", rows)]
    for name in panels:
        parts = [
            (
                ", ".join(filter(None, (title, f"{name} = {value}"))),
                part.filter(pl.col(name).eq_missing(value)),
            )
            for title, part in parts
            for value in _ordered(rows[name])
        ]
    return [(title, part) for title, part in parts if not part.is_empty()]


def _named(rows: pl.DataFrame, by: str) -> dict[Any, str]:
    """Name the values of a column, of tables by what distinguishes them, in order."""
    values = texts = _ordered(rows[by])
    if f"{by}.toml" in rows.columns:
        known = dict(rows.select(by, f"{by}.toml").iter_rows())
        texts = [known[value] for value in values]
    return dict(zip(values, differences(texts), strict=True))


def _ordered(column: pl.Series) -> list[Any]:
    """Return the values of a column by size where they are amounts, else as they first appear."""
    values = column.unique(maintain_order=True).to_list()
    places, unit = _places(values)
    return values if unit is None else sorted(values, key=places.__getitem__)


_SUFFIXES = {
    "per_s": "1/s",
    "us": "us",
    "ns": "ns",
    "ms": "ms",
    "s": "s",
    "gbps": "Gb/s",
    "bytes": "B",
}
"""Units at the ends of names of figures."""


def with_unit(name: str) -> str:
    """Write the unit at the end of a name as a unit."""
    tail = next((own for own in _SUFFIXES if name.endswith(f"_{own}")), None)
    return f"{name.removesuffix(f'_{tail}')} [{_SUFFIXES[tail]}]" if tail else name


def _ends(y: str, columns: Sequence[str]) -> list[pl.Expr]:
    """Describe equal rows by a middle and two ends: a median and an interval, or mean and range."""
    if SAMPLE not in columns:
        parts = {"mean": pl.col(y).mean(), "low": pl.col(y).min(), "high": pl.col(y).max()}
        if SEED in columns:
            parts |= {"count": pl.len(), "seeds": pl.col(SEED).n_unique(), "std": pl.col(y).std()}
    else:
        levels = {"mean": 2, "low": 0, "high": 4}
        parts = {name: _level(y, at) for name, at in levels.items()}
    return [part.alias(name) for name, part in parts.items()]


def _level(figure: str, at: int) -> pl.Expr:
    """Describe a quantile of samples that have the figure, by its number."""

    def level(values: pl.Series) -> pl.Series:
        levels = [quantiles(values.to_numpy())[at]] if len(values) else [None]
        return pl.Series(levels, dtype=pl.Float64)

    known = pl.col(figure).drop_nulls()
    return known.map_batches(level, return_dtype=pl.Float64, returns_scalar=True)


def _with_intervals(means: pl.DataFrame, y: str) -> pl.DataFrame:
    """Replace the range of rows that differ in their seeds alone by the interval of their mean."""
    if "seeds" not in means.columns:
        return means
    count = means["count"].to_numpy()
    is_repeated = (count > 1) & (means["seeds"].to_numpy() == count)
    half = half_widths(means["std"].fill_null(0.0).to_numpy(), count)
    middle, least = (means[name].to_numpy() for name in ("mean", "low"))
    low, high = bounded(y, least, middle - half, middle + half)
    return means.with_columns(
        low=np.where(is_repeated, low, least),
        high=np.where(is_repeated, high, means["high"].to_numpy()),
    )


def is_amount(column: pl.Series) -> bool:
    """Say whether values have places on an axis, and are not only names."""
    return _places(column.unique(maintain_order=True).to_list())[1] is not None


def _places(values: Sequence[Any]) -> tuple[dict[Any, float], str | None]:
    """Place values on the axis, and name the unit there; None where they are only names."""
    if all(isinstance(value, int | float) for value in values):
        return {value: float(value) for value in values}, ""
    for read, unit in _UNITS:
        try:
            return {value: float(read(value)) for value in values}, unit
        except (ValueError, TypeError):
            continue
    return {value: float(number) for number, value in enumerate(values)}, None
