"""Maps of the fabric: a row for each switch, a column for each of its ports."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from tomllib import loads
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from etherweave.report.style import INK
from etherweave.results import Result

NAMED_MAX = 40
"""Of rows with a name each."""

_SECONDS = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


@dataclass(frozen=True)
class Layer:
    """What one column of maps shows."""

    column: str
    """Of :func:`ports`."""
    title: str
    """Above the map."""


def measured_ns(result: Result) -> float:
    """Tell for how long counters counted: from the end of the warm-up on [ns]."""
    warm_up = str(loads(result.resolved).get("run", {}).get("warm_up", "0s"))
    number = re.match(r"[\d.]+", warm_up)
    assert number, "a resolved scenario tells times in numbers and units"
    seconds = float(number[0]) * _SECONDS[warm_up[number.end() :].strip()]
    return max(result.summary["end_ns"] - seconds * 1e9, 1.0)


def ports(result: Result) -> pl.DataFrame:
    """List the switch ports that did anything, with shares of time and of the line rate [%]."""
    time = measured_ns(result)
    table = result.to_polars("ports").filter(~pl.col("node").str.starts_with("host"))
    capacity = pl.col("rate_gbps").first() * time / 8 / 100
    return table.group_by("node", "port", "class", maintain_order=True).agg(
        sent=pl.col("tx_bytes").sum() / capacity,
        received=pl.col("rx_bytes").sum() / capacity,
        is_paused=pl.col("rx_pause_duration_ns").max() / time * 100,
        pauses=pl.col("tx_pause_duration_ns").max() / time * 100,
    )


def maps(tables: Sequence[tuple[str, pl.DataFrame]], layers: Sequence[Layer], unit: str) -> Figure:
    """Draw maps, a column for each layer and rows for each kind of switch in each table.

    Parameters
    ----------
    tables
        Names and :func:`ports`; names are left out when there is only one.
    layers
        What to draw, side by side.
    unit
        Of the colours.
    """
    columns = [layer.column for layer in layers]
    top = max(float(table.select(pl.max_horizontal(columns).max()).item()) for _, table in tables)
    bands = [(name, kind, part) for name, table in tables for kind, part in _kinds(table)]
    heights = [min(max(part["node"].n_unique(), 2), 24) for _, _, part in bands]
    figure = Figure(figsize=(9.6, 0.8 + sum(0.62 + 0.16 * height for height in heights)))
    panels = figure.subplots(len(bands), len(layers), squeeze=False, height_ratios=heights)
    scale = Normalize(0, max(top, 1e-9))
    for row, (name, kind, part) in zip(panels, bands, strict=True):
        for axes, layer in zip(row, layers, strict=True):
            _map(axes, part, layer.column, scale)
            words = [name] if len(tables) > 1 else []
            axes.set_title(": ".join([*words, f"{kind}, {layer.title}"]))
    bar = ScalarMappable(scale, "cividis")
    figure.colorbar(bar, ax=panels.ravel().tolist(), label=unit, shrink=0.9, pad=0.01)
    return figure


def _kinds(table: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """Part switches by the word in their names, such as leaves and cores."""
    kind = pl.col("node").str.extract(r"^(\D*)").alias("kind")
    parts = table.with_columns(kind).group_by("kind", maintain_order=True)
    return sorted(
        ((str(name), part) for (name,), part in parts), key=lambda pair: pair[0] != "leaf"
    )


def _map(axes: Axes, part: pl.DataFrame, column: str, scale: Normalize) -> None:
    nodes = sorted(part["node"].unique(), key=_number)
    grid = np.full((len(nodes), int(part["port"].max()) + 1), np.nan)  # type: ignore[arg-type]
    rows = part["node"].replace_strict(nodes, range(len(nodes)), return_dtype=pl.Int64).to_numpy()
    grid[rows, part["port"].to_numpy()] = part[column].to_numpy()
    axes.set_facecolor("#eeeeee")
    look: dict[str, Any] = {"edgecolors": "white", "linewidth": 0.4} if grid.size <= 2000 else {}
    # By colour alone: a map of many ports becomes an image.
    axes.pcolormesh(grid, cmap="cividis", norm=scale, rasterized=grid.size > 2000, **look)
    axes.invert_yaxis()
    axes.grid(visible=False)
    _name(axes, nodes, grid)
    _part(axes, part)


def _name(axes: Axes, nodes: list[str], grid: npt.NDArray[np.float64]) -> None:
    step = -(-len(nodes) // NAMED_MAX)
    axes.set_yticks(np.arange(0, len(nodes), step) + 0.5, nodes[::step], fontsize=7)
    every = -(-grid.shape[1] // 16)
    places = np.arange(0, grid.shape[1], every)
    axes.set_xticks(places + 0.5, [str(place) for place in places], fontsize=7)
    axes.tick_params(length=0)
    axes.set_xlabel("port", fontsize=8, labelpad=1)


def _part(axes: Axes, part: pl.DataFrame) -> None:
    """Draw a line between ports to hosts and ports to switches, where one can be drawn."""
    to_hosts = part.filter(pl.col("class") == "host")["port"]
    others = part.filter(pl.col("class") != "host")["port"]
    if to_hosts.is_empty() or others.is_empty():
        return
    last, first = int(to_hosts.max()), int(others.min())  # type: ignore[arg-type]
    if last < first:
        axes.axvline(first, color=INK, linewidth=1.5)


def _number(node: str) -> tuple[str, int]:
    digits = re.search(r"\d+$", node)
    return (node, 0) if digits is None else (node[: digits.start()], int(digits[0]))
