"""Curves of fabrics under traffic: latency above accepted load, a column for each pattern."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from etherweave.report.section import Table
from etherweave.report.source import Study
from etherweave.report.style import INK, SERIES
from etherweave.study.exascale.traffic import PATTERNS

Curves: TypeAlias = Mapping[tuple[str, str], pl.DataFrame]
"""Points by pattern and routing."""

LABELS = {
    "minimal": "MIN",
    "dimension_order": "MIN (dimension order)",
    "valiant_group": "VAL",
    "valiant": "VAL",
    "piggyback": "PB",
    "conditional": "conditional rules",
    "conditional_tables": "conditional rules, by tables",
    "ugal_local": "UGAL-L",
    "dimension_adaptive": "DAL",
    "ecmp": "ECMP",
    "spray": "a lot per packet",
    "adaptive_up": "up by the shortest queue",
}
"""Of routings, as published where they are."""

PANELS = {"uniform": "(a) UN", "adversarial": "(b) ADV"}
"""As in the publication."""

KEPT_UP = 0.95
"""Share of what is offered that is accepted where latencies count; beyond, marks are open."""

MARKERS = "osD^vP"
HEAD = ("", "routing", "offered", "accepted", "at most", "mean [ns]", "±", "p99 [ns]", "detoured")
COLUMNS = (
    ("load", ".3g"),
    ("load_accepted", ".4f"),
    ("load_bound", ".4f"),
    ("latency_ns_mean", ",.0f"),
    ("latency_ns_half_width", ",.0f"),
    ("latency_ns_p99", ",.0f"),
    ("detoured_share", ".3f"),
)
"""What the table has after pattern and routing; figures that there are none of are dashes."""
SHEET = "±: half of the 95 % confidence interval. At most: from expected loads of all channels."


def of_fabric(study: Study, fabric: str, routings: Sequence[str]) -> Curves:
    """Look up a fabric's curves."""
    return {
        (pattern, routing): study.kept[f"{fabric}.{pattern}.{routing}"].points.sort("load")
        for pattern in PATTERNS
        for routing in routings
    }


def draw(curves: Curves) -> Figure:
    """Draw latencies and accepted loads; a line for each routing."""
    figure = Figure(figsize=(9.6, 6.4))
    panels = figure.subplots(2, len(PATTERNS), sharex=True, squeeze=False)
    for pattern, (latency, accepted) in zip(PATTERNS, panels.T, strict=True):
        latency.set_title(PANELS[pattern])
        _scale(latency)
        accepted.plot((0, 1), (0, 1), color=INK, linewidth=0.8, linestyle=":")
        accepted.set_xlabel("offered load")
        for routing, look in _looks(curves).items():
            points = curves[pattern, routing]
            _line(latency, points, points["latency_ns_mean"] / 1e3, look)
            _line(accepted, points, points["load_accepted"], look)
    panels[0, 0].set_ylabel("mean latency [us]")
    panels[1, 0].set_ylabel("accepted load")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), ncols=4, loc="outside lower center")
    return figure


def table(curves: Curves) -> Table:
    """List all points."""
    rows = [
        [PANELS[pattern][4:], LABELS[routing], *(_cell(row[key], form) for key, form in COLUMNS)]
        for (pattern, routing), points in curves.items()
        for row in points.iter_rows(named=True)
    ]
    return Table(HEAD, rows, SHEET, is_folded=True)


def _scale(axes: Axes) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())


def _looks(curves: Curves) -> dict[str, dict[str, Any]]:
    routings = sorted({routing for _, routing in curves}, key=list(LABELS).index)
    return {
        routing: {"marker": marker, "color": colour, "label": LABELS[routing]}
        for routing, marker, colour in zip(routings, MARKERS, SERIES, strict=False)
    }


def _line(axes: Axes, points: pl.DataFrame, values: pl.Series, look: dict[str, Any]) -> None:
    axes.plot(points["load"], values, linewidth=1.2, markersize=5, **look)
    late = points["load_accepted"] < KEPT_UP * points["load"]
    face = {**look, "label": "_", "markerfacecolor": "white", "linestyle": ""}
    axes.plot(points["load"].filter(late), values.filter(late), markersize=5, **face)


def _cell(value: float, form: str) -> str:
    return format(value, form) if value == value else "–"
