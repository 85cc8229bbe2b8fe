"""Bar and line charts of studies: drawn from values, or as a ``study.toml`` declares them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, NullFormatter

from etherweave.api.machine import build
from etherweave.report.section import Section, Table
from etherweave.report.style import COLOURS, INK, SERIES, key, literal, mark, write_values
from etherweave.study import MissingResultError, PublishedValue, StudyResult
from etherweave.study.declared import Bar, BarChart, ChartLine, Guide, LineChart, table_of
from etherweave.uncertainty import CheckInterval, load_sampled

BARS_HEAD = ("", "simulated", "published", "difference", "source")
MARKERS = "osD^vP"


@dataclass(frozen=True)
class DrawnBar:
    """A computed value, and what was published."""

    label: str  # Below the bar.
    colour: str  # Colour of the bar.
    value: float  # Height of the bar; not a number when there is none.
    published: PublishedValue | None = None  # Published value to be marked.
    interval: tuple[float, float] | None = None
    """Interval of 90 % over samples, drawn broad over the bar."""
    together: tuple[float, float] | None = None  # The same with the error of the model, drawn thin.


def draw_bars(axes: Axes, bars: Sequence[DrawnBar], label: str) -> None:
    """Draw bars side by side, from zero up to room for the legend; the label has their unit."""
    places = range(len(bars))
    drawn = axes.bar(places, [bar.value for bar in bars], color=[bar.colour for bar in bars])
    for place, bar in enumerate(bars):
        if bar.published is not None:
            mark(axes, place, bar.published)
        if bar.interval is not None:
            axes.vlines(place, *bar.interval, color=INK, linewidth=7, alpha=0.25, zorder=3)
        if bar.together is not None:
            axes.vlines(place, *bar.together, color=INK, linewidth=1, zorder=3)
    write_values(axes, drawn)
    axes.set_xticks(places, [bar.label for bar in bars])
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.6, len(bars) - 0.4)
    axes.set_ylim(0, axes.dataLim.y1 * 1.08)
    axes.set_ylabel(label)
    axes.grid(visible=False, axis="x")
    marked = [bar.published for bar in bars if bar.published is not None]
    axes.legend(handles=key(marked), loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0)


def bars_table(bars: Sequence[DrawnBar], unit: str) -> Table:
    """List computed beside published values, with the words of the publication."""
    head = (BARS_HEAD[0], *(f"{name} [{unit}]" for name in BARS_HEAD[1:3]), *BARS_HEAD[3:])
    return Table(head, [_row(bar) for bar in bars])


def _row(bar: DrawnBar) -> list[str]:
    value = f"{bar.value:.4g}" if math.isfinite(bar.value) else "–"
    if bar.published is None:
        return [bar.label, value, "–", "–", ""]
    return [bar.label, value, bar.published.text, _difference(bar), bar.published.words]


def _difference(bar: DrawnBar) -> str:
    """Compare with a published value; with bounds, say only on which side of them it is."""
    assert bar.published is not None, "there is something to compare with"
    low, high = bar.published.low, bar.published.high
    if not math.isfinite(bar.value):
        return "–"
    if low is not None and low == high:
        return f"{100 * (bar.value / low - 1):+.1f} %".replace("-", "−")
    if low is not None and bar.value < low:
        return "below"
    return "above" if high is not None and bar.value > high else "within"


def intervals_of(study: StudyResult) -> dict[str, CheckInterval]:
    """Return the intervals of checks by their ids; none without samples of this core."""
    sampled = load_sampled(study.directory)
    known = sampled.intervals(study) if sampled and sampled.build == build() else []
    return {interval.check.id: interval for interval in known}


def bars_section(chart: BarChart, study: StudyResult) -> Section:
    """Draw bars with their published values, as a chart declares them."""
    known = intervals_of(study)
    intervals = {check: row.parameters.interval for check, row in known.items()}
    together = {check: row.together.interval for check, row in known.items() if row.model}
    bars = [
        DrawnBar(
            literal(bar.label),
            COLOURS.get(bar.colour, SERIES[number % len(SERIES)]),
            study.value(bar.check) if bar.check else math.nan,
            _published(study, chart, bar),
            intervals.get(bar.check),
            together.get(bar.check),
        )
        for number, bar in enumerate(chart.bars)
    ]
    figure = Figure(figsize=(max(6.4, 1.2 + 0.9 * len(bars)), 3.2))
    draw_bars(figure.subplots(), bars, literal(chart.axis))
    tables = [bars_table(bars, chart.unit)]
    return Section(chart.name, chart.title, chart.caption, figure, tables, chart.checks)


def _published(study: StudyResult, chart: BarChart, bar: Bar) -> PublishedValue | None:
    """Find what was published of a bar: its case in a figure, otherwise the figure of its check."""
    if bar.published:
        return study.study.published(chart.published).get(bar.published)
    checks = [check for check in study.checks if check.id == bar.check]
    if not checks or checks[0].published is None:
        return None
    (check,) = checks
    return PublishedValue(check.published, check.published, check.unit, check.source)


def lines_section(chart: LineChart, study: StudyResult) -> Section:
    """Draw columns of results against each other, as a chart declares them."""
    figure = Figure(figsize=(9.6, 3.8 if len(chart.lines) < _MANY else 5.2))
    axes = figure.subplots()
    for number, line in enumerate(chart.lines):
        _draw_line(axes, chart, line, number, study)
    axes.set_xlabel(literal(chart.x_axis or chart.x))
    axes.set_ylabel(literal(chart.y_axis or chart.y))
    if chart.x_is_logarithmic:
        axes.set_xscale("log")
        _name_powers(axes.xaxis)
    if chart.is_logarithmic:
        axes.set_yscale("log")
        if chart.x_is_logarithmic:
            _name_powers(axes.yaxis)
    for guide in chart.guides:
        _draw_guide(axes, guide)
    if len(chart.lines) < _MANY:
        axes.legend()
    else:
        figure.legend(ncols=4, loc="outside lower center")
    tables = [_columns_table(chart, study)] if chart.columns else []
    return Section(chart.name, chart.title, chart.caption, figure, tables, chart.checks)


_MANY = 6  # Lines from which on a chart is higher, and has its legend below.


def _draw_guide(axes: Axes, guide: Guide) -> None:
    line: dict[str, Any] = {"color": INK, "linewidth": 1, "linestyle": ":"}
    words: dict[str, Any] = {"fontsize": 7.5, "color": INK, "va": "bottom"}
    label = literal(guide.label)
    if guide.axis == "x":
        axes.axvline(guide.at, **line)
        turned = {**words, "rotation": 90, "ha": "right"}
        axes.text(guide.at, 0.01, label, transform=axes.get_xaxis_transform(), **turned)
    else:
        axes.axhline(guide.at, **line)
        axes.text(0.01, guide.at, label, transform=axes.get_yaxis_transform(), **words)


def _draw_line(axes: Axes, chart: LineChart, line: ChartLine, at: int, study: StudyResult) -> None:
    y = line.y or chart.y
    rows = _rows(chart, line, study)
    try:
        rows = rows.drop_nulls(y).sort(chart.x)
        across, up = rows[chart.x] * chart.x_scale, rows[y] * chart.y_scale
    except pl.exceptions.ColumnNotFoundError as error:
        raise MissingResultError(f"{line.experiment}: {error}") from None
    place = (line.series or at + 1) - 1
    colour, marker = SERIES[place % len(SERIES)], MARKERS[place % len(MARKERS)]
    look: dict[str, Any] = {"color": colour, "ms": 5, "label": literal(line.label) or "_"}
    if line.is_open:
        look |= {"mfc": "white", "lw": 1}
    axes.plot(across, up, marker, ls="--" if line.is_open else "-", **look)


def _rows(chart: LineChart, line: ChartLine, study: StudyResult) -> pl.DataFrame:
    """Read the results of a line: of one experiment, or of all with a name of its pattern."""
    names = [line.experiment]
    if "*" in line.experiment:
        known = sorted(path.name for path in study.directory.iterdir())
        names = [name for name in known if fnmatchcase(name, line.experiment)]
    try:
        frames = [table_of(study.results[name], chart.table) for name in names]
    except (ValueError, LookupError) as error:
        raise MissingResultError(f"{line.experiment}: {error}") from None
    if not frames:
        raise MissingResultError(f"experiment {line.experiment}")
    return pl.concat(frames, how="diagonal_relaxed")


def _columns_table(chart: LineChart, study: StudyResult) -> Table:
    """List the results of all lines, those of an experiment once."""
    lines = {line.experiment: line for line in reversed(chart.lines) if line.label}
    rows = [
        [line.label, *(_number(row.get(column.column), column.form) for column in chart.columns)]
        for line in reversed(lines.values())
        for row in _rows(chart, line, study).sort(chart.x).iter_rows(named=True)
    ]
    return Table(("", *(column.head for column in chart.columns)), rows)


def _number(value: Any, form: str) -> str:
    return "–" if value is None else format(value, form)


def _name_powers(axis: Axis) -> None:
    axis.set_major_formatter(EngFormatter(sep=""))
    axis.set_minor_formatter(NullFormatter())
