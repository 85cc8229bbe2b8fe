"""Whether launches drift, and what became of each experiment."""

from typing import Any

import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from etherweave.report.benchmarks import Benchmarks
from etherweave.report.figures.benchmarks.distributions import relative
from etherweave.report.section import FOLDED_FROM, Section, Table
from etherweave.report.style import ASIDE, POINTS_MAX, SERIES

CAPTION = (
    "Each launch against the median of its point, in the order of time; lines join the medians of "
    "rounds. A slope is drift of the machine; a column of its own is a launch that went wrong as a "
    "whole."
)
_UNSTABLE_MOST = 200
"""Points that are listed."""


def section(found: Benchmarks) -> Section:
    """Show launches over rounds, experiments and how they ended, and points in doubt."""
    tables = [_experiments(found), *_doubtful(found)]
    return Section("stability", "Stability", CAPTION, _figure(found), tables)


def _figure(found: Benchmarks) -> Figure | None:
    rows = relative(found)
    if not rows.height:
        return None
    figure = Figure(figsize=(9, 3.2))
    axes = figure.subplots()
    for number, ((fabric,), own) in enumerate(rows.group_by("fabric", maintain_order=True)):
        look: dict[str, Any] = {"color": SERIES[number % len(SERIES)], "markersize": 3}
        rounds, spread = own["round"].to_numpy(), own["spread"].to_numpy() * 100
        shift = 0.12 * number
        middle = own.group_by("round").agg(pl.col("spread").median() * 100).sort("round")
        is_dense = own.height > POINTS_MAX
        axes.plot(rounds + shift, spread, "o", rasterized=is_dense, alpha=0.5, mew=0, **look)
        axes.plot(middle["round"] + shift, middle["spread"], label=str(fabric), **look)
    axes.set_yscale("symlog", linthresh=1)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("round of launches")
    axes.set_ylabel("from the median [%]")
    axes.legend(**ASIDE)
    return figure


def _experiments(found: Benchmarks) -> Table:
    head = ("program", "fabric", "hosts", "launches", "that count", "invalid", "state")
    rows = [
        (
            one["program"],
            one["fabric"],
            ", ".join(one["hosts"]),
            str(one["launches"]),
            str(one["counted"]),
            str(one["invalid"]),
            one["state"],
        )
        for one in found.facts["experiments"]
    ]
    caption = (
        "capped: a median is not known as well as wanted after all launches; given up: launches "
        "fail; open: the run ended before it."
    )
    return Table(head, rows, caption, is_folded=len(rows) > FOLDED_FROM)


def _doubtful(found: Benchmarks) -> list[Table]:
    if not found.points.height:
        return []
    shaky = found.points.filter(~pl.col("is_stable"))
    names = ("program", "fabric", "hosts", "metric", "labels", "size_bytes", "doubts")
    rows = [
        ["" if cell is None else str(cell) for cell in row]
        for row in shaky.select(names).head(_UNSTABLE_MOST).iter_rows()
    ]
    caption = f"{shaky.height} of {found.points.height} points are unstable, and why"
    heads = ("program", "fabric", "hosts", "metric", "", "size [bytes]", "why")
    return [Table(heads, rows, caption, is_folded=True)] if rows else []
