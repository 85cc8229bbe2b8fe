"""Links that are busy: utilisation between any two groups, a map for each pattern."""

from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from etherweave.api.observations import Observation, PatternInterval
from etherweave.report.drawing import TooLargeError
from etherweave.report.style import write_figure

AREAS_MAX = 1024
"""Groups or switches along a side of a map: more are thinner than any screen shows."""
COLOURS = "cividis"  # Colour-blind readers see the same steps, from 0 to 1.
EDGED_MAX = 40  # Groups whose cells are drawn with an edge.
ABSENT = "#e4e4e4"  # Where no link leads.


def draw_heat(observation: Observation, path: Path) -> Path:
    """Draw how busy the links between any two groups are, on average over each pattern.

    Raises ``TooLargeError`` when there are more groups than a map can show.
    """
    areas(observation)
    return write_figure(lambda: heat_figure(observation), path)


def areas(observation: Observation) -> int:
    """Count the groups, or the switches of a fabric without; refuse too many."""
    ends = [observation.steps[side].to_numpy() for side in ("group_from", "group_to")]
    highest = max(int(end.max(initial=0)) for end in ends)
    if highest >= AREAS_MAX:
        kinds = "switches" if observation.area == "switch" else "groups"
        raise TooLargeError(f"{highest + 1:,} {kinds}; expected at most {AREAS_MAX:,}")
    return highest + 1


def title(observation: Observation) -> str:
    """Say what was observed: fabric, routing and load."""
    (point,) = observation.points.to_pylist()
    return f"{observation.fabric}: {point['routing']}, load {point['load']:g}"


def heat_figure(observation: Observation) -> Figure:
    """Draw a map for each pattern, side by side, three in a row."""
    intervals = list(observation.intervals())
    columns = min(len(intervals), 3)
    rows = -(-len(intervals) // columns)
    figure = Figure(figsize=(1.3 + 4.1 * columns, 0.5 + 4.3 * rows))
    figure.suptitle(title(observation), x=0.01, ha="left", fontsize=11, fontweight="bold")
    panels = figure.subplots(rows, columns, squeeze=False)
    side = areas(observation)
    for axes, interval in zip(panels.flat, intervals, strict=False):
        _map(axes, _grid(interval, side), observation.area)
        span = f"{interval.start_ns / 1e3:g} to {interval.end_ns / 1e3:g} us"
        axes.set_title(fill(f"{interval.pattern}, {span}", 46))
    for axes in panels.flat[len(intervals) :]:
        axes.set_visible(False)
    label = "mean utilisation of the links"
    bar = ScalarMappable(Normalize(0, 1), COLOURS)
    figure.colorbar(bar, ax=panels.ravel().tolist(), label=label, shrink=0.8, pad=0.02)
    return figure


def _grid(interval: PatternInterval, side: int) -> npt.NDArray[np.float64]:
    """Utilisation by both ends; not a number where no link leads."""
    grid = np.full((side, side), np.nan)
    pairs: pl.DataFrame = interval.pairs
    ends = pairs["group_from"].to_numpy(), pairs["group_to"].to_numpy()
    grid[ends] = pairs["utilisation"].to_numpy()
    return grid


def _map(axes: Axes, grid: npt.NDArray[np.float64], area: str) -> None:
    side = len(grid)
    look: dict[str, Any] = {"cmap": COLOURS, "vmin": 0, "vmax": 1}
    axes.set_facecolor(ABSENT)
    if side <= EDGED_MAX:
        places = np.arange(side + 1) - 0.5
        axes.pcolormesh(places, places, grid, edgecolors="white", linewidth=0.4, **look)
        axes.set_aspect("equal")
        axes.invert_yaxis()
    else:
        # A dot for each cell, which the viewer scales without blurring it.
        axes.imshow(grid, interpolation="none", **look)
    axes.grid(visible=False)
    axes.tick_params(length=2, labelsize=8)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=9, integer=True))
    axes.set_xlabel(f"to {area}")
    axes.set_ylabel(f"from {area}")
