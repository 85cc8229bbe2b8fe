"""Curves against message size, with all that they can be held against."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etherweave.report.benchmarks import Benchmarks
from etherweave.report.style import INK, SERIES

LEGEND_MOST = 12
"""Curves that a legend names."""
CAPTION = (
    "Medians of launches; the band is the 95 % interval of the median, hollow points are unstable, "
    "diamonds with bars are published figures of the same program, size and kind of fabric. "
)

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Sweep:
    """How one kind of curve is drawn."""

    unit: str
    scale: float
    """From base units to those of the axis."""
    label: str
    """Of the axis."""
    bound: Callable[[Floats, dict[str, Any]], Floats]
    """What no fabric of this rate can pass, by sizes [bytes], in the base unit."""
    bound_name: str
    belief: Callable[[Floats, dict[str, Any]], Floats] | None = None
    """What is expected of a fabric of this rate and latency, in the base unit."""


def sweeps(found: Benchmarks, sweep: Sweep) -> Figure | None:
    """Draw a panel for each metric of the unit; ``None`` if there is none."""
    if not found.points.height:
        return None
    rows = found.points.filter((pl.col("unit") == sweep.unit) & (pl.col("size_bytes") > 0))
    metrics = rows["metric"].unique(maintain_order=True).to_list()
    if not metrics:
        return None
    figure = Figure(figsize=(9, 4.2 * len(metrics)))
    panels = figure.subplots(len(metrics), 1, squeeze=False)[:, 0]
    for axes, metric in zip(panels, metrics, strict=True):
        _panel(axes, found, rows.filter(metric=metric), sweep)
        axes.set_title(metric.replace("_", " "))
    return figure


def _panel(axes: Axes, found: Benchmarks, rows: pl.DataFrame, sweep: Sweep) -> None:
    for number, (name, curve) in enumerate(_curves(rows)):
        label = name if number < LEGEND_MOST else None
        _curve(axes, curve, sweep.scale, SERIES[number % len(SERIES)], label)
    _beliefs(axes, found, rows, sweep)
    _simulation(axes, found, rows, sweep)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    _near(axes, rows, sweep.scale)
    axes.set_xlabel("message size [bytes]")
    axes.set_ylabel(sweep.label)
    axes.legend()


def _near(axes: Axes, rows: pl.DataFrame, scale: float) -> None:
    """Show a decade around what was measured: bounds may lie far away."""
    medians = rows["median"].to_numpy() * scale
    positive = medians[medians > 0]
    if len(positive):
        axes.set_ylim(positive.min() / 10, positive.max() * 10)


def _curves(rows: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Part points into curves, named by what tells these curves apart."""
    names = ["program", "fabric", "hosts", "ranks_per_node", "labels"]
    told = [name for name in names if rows[name].n_unique() > 1] or ["program"]
    for keys, curve in rows.group_by(names, maintain_order=True):
        words = dict(zip(names, keys, strict=True))
        yield " ".join(str(words[name]) for name in told), curve.sort("size_bytes")


def _curve(axes: Axes, curve: pl.DataFrame, scale: float, colour: str, label: str | None) -> None:
    sizes, medians = curve["size_bytes"].to_numpy(), curve["median"].to_numpy() * scale
    axes.plot(sizes, medians, color=colour, linewidth=1.2, label=label)
    low, high = (curve[name].to_numpy() * scale for name in ("low", "high"))
    axes.fill_between(sizes, low, high, color=colour, alpha=0.2, linewidth=0)
    is_stable = curve["is_stable"].to_numpy()
    look: dict[str, Any] = {"linestyle": "", "marker": "o", "markersize": 4, "color": colour}
    axes.plot(sizes[is_stable], medians[is_stable], **look)
    axes.plot(sizes[~is_stable], medians[~is_stable], markerfacecolor="white", **look)
    _published(axes, curve, scale)


def _published(axes: Axes, curve: pl.DataFrame, scale: float) -> None:
    known = curve.filter(pl.col("reference_low").is_not_null())
    if known.height:
        low, high = known["reference_low"].to_numpy(), known["reference_high"].to_numpy()
        middle = np.sqrt(low * high)
        reach = np.vstack([middle - low, high - middle]) * scale
        look: dict[str, Any] = {"color": INK, "markersize": 5, "capsize": 2, "elinewidth": 1}
        axes.errorbar(known["size_bytes"].to_numpy(), middle * scale, reach, fmt="D", **look)


def _beliefs(axes: Axes, found: Benchmarks, rows: pl.DataFrame, sweep: Sweep) -> None:
    sizes = rows["size_bytes"].unique().sort().to_numpy().astype(np.float64)
    for name in rows["fabric"].unique(maintain_order=True).to_list():
        network = found.networks[name]
        words = f"{sweep.bound_name}, {network['rate'] * 8 / 1e9:g} Gb/s"
        bound = sweep.bound(sizes, network) * sweep.scale
        axes.plot(sizes, bound, color=INK, linewidth=1, linestyle=(0, (5, 2)), label=words)
        if sweep.belief:
            belief = sweep.belief(sizes, network) * sweep.scale
            words = f"{name} as believed: latency + size / rate"
            axes.plot(sizes, belief, color=INK, linewidth=0.9, linestyle=":", label=words)


def _simulation(axes: Axes, found: Benchmarks, rows: pl.DataFrame, sweep: Sweep) -> None:
    if found.simulation is None:
        return
    metric = rows["metric"][0]
    own = found.simulation.filter((pl.col("metric") == metric) & (pl.col("unit") == sweep.unit))
    own = own.filter(pl.col("size_bytes") > 0).sort("size_bytes")
    if own.height:
        look: dict[str, Any] = {"color": INK, "linestyle": "-.", "marker": "x", "markersize": 4}
        axes.plot(own["size_bytes"], own["median"] * sweep.scale, label="simulated", **look)
