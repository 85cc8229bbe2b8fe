"""Iteration times of FFT on every node as they follow one another: Figures 9 and 10."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from etherweave.report.figures.sandia.interference import colour, iterations, label, results
from etherweave.report.published import Published
from etherweave.report.section import Table
from etherweave.report.source import Study
from etherweave.report.style import INK, POINTS_MAX, line

CAPTION = (
    "Each point is an iteration on one of the 48 nodes, on the first random placement; black: the "
    "median over nodes. The time axis is logarithmic and the same for all panels. "
)
HEAD = ("FFT, all placements", "iterations", "min", "median", "mean", "99 %", "max", "< 0.25 ms")


@dataclass(frozen=True)
class Panel:
    """One case."""

    case: str
    """As listed for all figures of interference."""
    published: Mapping[str, Published]
    """Published times of an iteration [ms], with labels."""


def draw(study: Study, panels: Sequence[Panel]) -> Figure:
    """Draw panels below each other in two columns, filled row by row."""
    rows = -(-len(panels) // 2)
    figure = Figure(figsize=(9.6, 0.5 + 2.5 * rows))
    grid = figure.subplots(rows, 2, sharey=True, squeeze=False).ravel()
    for axes, panel in zip(grid, panels, strict=False):
        _draw(axes, iterations(results(study, panel.case)[0]), panel)
    for axes in grid[len(panels) :]:
        axes.remove()
    return figure


def _draw(axes: Axes, rows: pl.DataFrame, panel: Panel) -> None:
    time = pl.col("duration_ns") / 1e6
    numbers, times = rows["iteration"], rows.select(time).to_series()
    look = {"color": colour(panel.case), "markersize": 2.5, "markeredgewidth": 0, "alpha": 0.35}
    axes.plot(numbers, times, "o", rasterized=len(rows) > POINTS_MAX, **look)  # type: ignore[arg-type]
    medians = rows.group_by("iteration").agg(time.median()).sort("iteration")
    axes.plot(medians["iteration"], medians["duration_ns"], color=INK, linewidth=0.9)
    for words, value in panel.published.items():
        line(axes, value, words)
    axes.set_title(label(panel.case))
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:g}"))
    axes.set_xlabel("iteration")
    axes.set_ylabel("time [ms]")
    axes.tick_params(labelleft=True)
    axes.margins(x=0.01)


def table(study: Study, cases: Sequence[str]) -> Table:
    """List how iteration times of some cases are distributed, over all placements [ms]."""
    return Table(HEAD, [_row(study, case) for case in cases], "Times in ms.")


def _row(study: Study, case: str) -> list[str]:
    found = [iterations(result) for result in results(study, case)]
    times = pl.concat(found)["duration_ns"].to_numpy() / 1e6
    values = [times.min(), np.median(times), times.mean(), np.quantile(times, 0.99), times.max()]
    share = 100 * float((times < 0.25).mean())
    return [label(case), f"{len(times):,}", *(f"{value:.3f}" for value in values), f"{share:.1f} %"]
