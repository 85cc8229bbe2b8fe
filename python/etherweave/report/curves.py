"""Latency and throughput over load, a row of panels for each pattern."""

import math
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etherweave.report.style import INK, SERIES, name_decades, write_figure


def draw_curves(points: pl.DataFrame, path: Path) -> Path:
    """Draw the points of :func:`etherweave.curve`."""
    return write_figure(lambda: curves_figure(points), path)


def curves_figure(points: pl.DataFrame) -> Figure:
    """Draw mean latency on the left and accepted load on the right; a line for each routing."""
    patterns = points["pattern"].unique(maintain_order=True).to_list()
    figure = Figure(figsize=(9, 3.4 * len(patterns)))
    panels = figure.subplots(len(patterns), 2, squeeze=False)
    for pattern, (latency, accepted) in zip(patterns, panels, strict=True):
        rows = points.filter(pattern=pattern)
        _latency(latency, rows, pattern)
        _accepted(accepted, rows)
    return figure


def _latency(axes: Axes, rows: pl.DataFrame, pattern: str) -> None:
    for (routing,), line in rows.group_by("routing", maintain_order=True):
        style = _style(rows, routing)
        axes.plot(line["load"], line["latency_ns_mean"] / 1e3, **style)
        _doubt(
            axes, line, line["latency_ns_mean"] / 1e3, line["latency_ns_half_width"] / 1e3, style
        )
    scale_latency(axes)
    axes.set_title(pattern)
    axes.set_xlabel("offered load")
    axes.set_ylabel("mean latency [us]")
    axes.set_xlim(0, 1)
    axes.legend(title=_key(rows), title_fontsize=7.5, alignment="left")


def scale_latency(axes: Axes) -> None:
    """Make the upright axis logarithmic, with plain numbers."""
    axes.set_yscale("log")
    name_decades(axes.yaxis)


def _accepted(axes: Axes, rows: pl.DataFrame) -> None:
    axes.plot((0, 1), (0, 1), color=INK, linewidth=0.8, linestyle=":")
    for (routing,), line in rows.group_by("routing", maintain_order=True):
        style = _style(rows, routing)
        axes.plot(line["load"], line["load_accepted"], **style)
        _bound(axes, line, style["color"])
        _doubt(axes, line, line["load_accepted"], line["load_accepted_half_width"], style)
    axes.set_xlabel("offered load")
    axes.set_ylabel("accepted load")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)


def _bound(axes: Axes, line: pl.DataFrame, colour: str) -> None:
    """Draw what can be accepted at most, where the table has it: a thin dashed line."""
    bound = line["load_bound"][0]
    if not math.isnan(bound):
        axes.axhline(bound, color=colour, linewidth=0.8, linestyle="--")


def _key(rows: pl.DataFrame) -> str | None:
    """Explain what is drawn around the lines."""
    band = rows["latency_ns_half_width"].is_not_nan().any()
    hollow = (rows["is_steady"] == 0).any()
    words = ["band: 95 % confidence"] * band + ["hollow: not steady"] * hollow
    return "\n".join(words) or None


def _doubt(
    axes: Axes, line: pl.DataFrame, mean: pl.Series, half: pl.Series, style: dict[str, Any]
) -> None:
    """Draw the confidence interval where it is known, and points that are not steady hollow."""
    # An interval that reaches 0 has no place on a logarithmic axis.
    low = pl.select(pl.max_horizontal(mean - half, mean / 10)).to_series()
    known = half.is_not_nan()
    axes.fill_between(
        line["load"],
        low,
        mean + half,
        where=known.to_numpy(),
        color=style["color"],
        alpha=0.2,
        lw=0,
    )
    hollow = {**style, "linestyle": "", "markerfacecolor": "white", "label": None}
    is_steady = line["is_steady"] == 1
    axes.plot(line["load"].filter(~is_steady), mean.filter(~is_steady), **hollow)


def _style(rows: pl.DataFrame, routing: object) -> dict[str, Any]:
    place = rows["routing"].unique(maintain_order=True).to_list().index(routing)
    marker, colour = "osD^vP*X"[place % 8], SERIES[place % len(SERIES)]
    return {"marker": marker, "color": colour, "markersize": 4, "label": str(routing)}
