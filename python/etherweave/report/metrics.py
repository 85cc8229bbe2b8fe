"""A comparison of fabrics as a figure: bisection against power, price, tables and size."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from etherweave.report.style import INK, SERIES, write_figure

FabricMetrics = dict[str, Any]

AXES = (
    ("watts_per_host", "worst-case power [W per host]"),
    ("price_per_host", "price per host"),
    ("table_entries", "entries of the largest compacted table"),
    ("hosts", "hosts"),
)
"""Metrics to the right, by panel; fewer is better but for hosts."""
OFFER = "bisection_gbps_per_host"
MARKERS = "osD^vP*Xph<>8"  # Thirteen, and six colours: no two of the first 78 fabrics look alike.


def draw_metrics(fabrics: Sequence[FabricMetrics], path: Path) -> Path:
    """Draw fabrics by their metrics as SVG: a panel for each goal against bisection per host.

    ``fabrics`` are as of :func:`etherweave.compare`; Pareto-optimal ones are filled.
    """
    return write_figure(lambda: metrics_figure(fabrics), path)


def metrics_figure(fabrics: Sequence[FabricMetrics]) -> Figure:
    """Draw the panels and, below them, which mark is whose."""
    figure = Figure(figsize=(9, 7))
    panels = figure.subplots(2, 2)
    for axes, (key, label) in zip(panels.flat, AXES, strict=True):
        _panel(axes, fabrics, key, label)
    handles = [
        Line2D([], [], linestyle="", label=fabric["name"], **_mark(place, fabric))
        for place, fabric in enumerate(fabrics)
    ]
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=4,
        title="filled: no other is at least as good in everything and better in something",
        title_fontsize=8,
    )
    return figure


def _panel(axes: Axes, fabrics: Sequence[FabricMetrics], key: str, label: str) -> None:
    known = [(place, fabric) for place, fabric in enumerate(fabrics) if fabric[key] is not None]
    for place, row in known:
        axes.plot(row[key], row[OFFER], linestyle="", zorder=3, **_mark(place, row))
    axes.set_xlabel(label)
    axes.set_ylabel("bisection [Gb/s per host]")
    axes.margins(0.12)
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.tick_params(labelsize=8)
    if len(known) < len(fabrics):
        unknown = f"not known of {len(fabrics) - len(known)} of {len(fabrics)}"
        axes.set_title(unknown, fontsize=8, fontweight="normal", color=INK)


def _mark(place: int, fabric_metrics: FabricMetrics) -> dict[str, Any]:
    colour = SERIES[place % len(SERIES)]
    face = colour if fabric_metrics["is_efficient"] else "white"
    marker = MARKERS[place % len(MARKERS)]
    return {"marker": marker, "color": colour, "markerfacecolor": face, "markersize": 8}
