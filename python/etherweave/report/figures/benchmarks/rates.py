"""Bandwidths of benchmarks that know no message size, a row each."""

from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etherweave.report.benchmarks import Benchmarks
from etherweave.report.figures.levels import GIGABITS, finish, mark_link
from etherweave.report.section import Section
from etherweave.report.style import INK, SERIES

CAPTION = (
    "Medians of launches with their 95 % interval, hollow where unstable; dashed is the rate of a "
    "host's link, dotted the payload of full frames, black lines are published figures."
)
_MOST = 30
"""Rows that are shown; the table of points has all."""
_LINK = "bandwidth"
"""The metric of one pair in one direction, which its link bounds."""
_NAMES = ("program", "hosts", "ranks_per_node", "labels")


def section(found: Benchmarks) -> Section | None:
    """Show what streams carried between two hosts, and what their link could."""
    if not found.points.height:
        return None
    rows = found.points.filter(pl.col("size_bytes").is_null(), metric=_LINK)
    if not rows.height:
        return None
    parts = {str(fabric): part for (fabric,), part in rows.group_by("fabric", maintain_order=True)}
    counts = [min(part.height, _MOST) for part in parts.values()]
    figure = Figure(figsize=(9, sum(1.1 + 0.24 * count for count in counts)))
    panels = figure.subplots(
        len(parts), 1, squeeze=False, height_ratios=[4 + one for one in counts]
    )
    told = [name for name in _NAMES if rows[name].n_unique() > 1] or ["program"]
    for number, (axes, (fabric, part)) in enumerate(zip(panels[:, 0], parts.items(), strict=True)):
        colour = SERIES[number % len(SERIES)]
        for place, row in enumerate(part.head(_MOST).iter_rows(named=True)):
            _draw(axes, place, row, colour)
            mark_link(axes, place, found.medium(fabric))
        names = part.head(_MOST).select(told).iter_rows()
        finish(axes, [" ".join(map(str, name)) for name in names], "payload [Gb/s]")
        axes.set_title(fabric)
    rest = f" Of a fabric the first {_MOST} rows." * any(
        part.height > _MOST for part in parts.values()
    )
    return Section("rates", "Bandwidth of streams", CAPTION + rest, figure)


def _draw(axes: Axes, place: int, row: dict[str, Any], colour: str) -> None:
    median, low, high = (row[name] for name in ("median", "low", "high"))
    if low is not None and high is not None:
        axes.hlines(place, low * GIGABITS, high * GIGABITS, color=colour, linewidth=5, alpha=0.3)
    face = colour if row["is_stable"] else "white"
    axes.plot(median * GIGABITS, place, "o", color=colour, mfc=face, label="measured")
    if row["reference_low"] is not None:
        ends = [row[name] * GIGABITS for name in ("reference_low", "reference_high")]
        name = f"published; ours is {row['reference_ratio']:.3g} of it"
        axes.plot(ends, [place + 0.3] * 2, "-D", color=INK, markersize=3, label=name)
