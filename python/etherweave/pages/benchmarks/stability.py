"""Spread of launches about their medians, their drift, and the end of each experiment."""

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from etherweave.pages.benchmarks.data import Benchmarks
from etherweave.report.section import FOLDED_FROM, Section, Table
from etherweave.report.style import ASIDE, DASHES, POINTS_MAX, SERIES, WholeNumbers

DISTRIBUTIONS_CAPTION = (
    "The share of launches that are no further above or below the median of their point than this. "
    "A steep step is a steady benchmark; two steps are two modes; a long foot or shoulder are "
    "outliers, which stay."
)
_KEYS = ["program", "fabric", "hosts", "ranks_per_node", "metric", "statistic", "size_bytes"]


def relative(benchmarks: Benchmarks) -> pl.DataFrame:
    """Give each number that counts as a share of its point's median, less one: ``spread``."""
    rows = benchmarks.measurements
    if not rows.height:
        return rows
    medians = benchmarks.points.select(*_KEYS, "labels", "median")
    # Points without a size are alike too.
    joined = rows.join(medians, on=[*_KEYS, "labels"], how="inner", nulls_equal=True)
    usable = joined.filter(pl.col("median") != 0)
    return usable.with_columns(spread=pl.col("value") / pl.col("median") - 1)


def distributions(benchmarks: Benchmarks) -> Section | None:
    """Show a cumulative distribution for each program, metric and fabric."""
    rows = relative(benchmarks)
    if not rows.height:
        return None
    figure = Figure(figsize=(9, 3.6))
    axes = figure.subplots()
    groups = rows.group_by(["program", "metric", "fabric"], maintain_order=True)
    for number, (names, own) in enumerate(groups):
        spread = np.sort(own["spread"].to_numpy()) * 100
        share = np.arange(1, len(spread) + 1) / len(spread)
        label = " ".join(map(str, names)) if number < 10 else None
        look: dict[str, Any] = {"color": SERIES[number % len(SERIES)], "linestyle": _dash(number)}
        axes.step(spread, share, where="post", linewidth=1.3, label=label, **look)
    axes.set_xscale("symlog", linthresh=1)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("from the median of the point [%]")
    axes.set_ylabel("share of launches")
    axes.set_ylim(0, 1.02)
    axes.legend(**ASIDE)
    return Section("distributions", "How launches spread", DISTRIBUTIONS_CAPTION, figure)


def _dash(number: int) -> Any:
    """Choose a dash that distinguishes curves of one colour."""
    return ["-", *DASHES][number // len(SERIES) % (len(DASHES) + 1)]


STABILITY_CAPTION = (
    "Each launch against the median of its point, in the order of time; lines join the medians of "
    "rounds. A slope is drift of the machine; a column of its own is a launch that went wrong as a "
    "whole."
)
_UNSTABLE_MAX = 200  # Points that are listed.


def stability(benchmarks: Benchmarks) -> Section:
    """Show launches over rounds, experiments and how they ended, and points in doubt."""
    tables = [_experiments(benchmarks), *_doubtful(benchmarks)]
    return Section("stability", "Stability", STABILITY_CAPTION, _figure(benchmarks), tables)


def _figure(benchmarks: Benchmarks) -> Figure | None:
    rows = relative(benchmarks)
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
    axes.xaxis.set_major_locator(WholeNumbers())
    axes.set_xlabel("round of launches")
    axes.set_ylabel("from the median [%]")
    axes.legend(**ASIDE)
    return figure


def _experiments(benchmarks: Benchmarks) -> Table:
    head = ("program", "fabric", "hosts", "launches", "that count", "invalid", "state")
    rows = [
        (
            experiment["program"],
            experiment["fabric"],
            ", ".join(experiment["hosts"]),
            str(experiment["launches"]),
            str(experiment["counted"]),
            str(experiment["invalid"]),
            experiment["state"],
        )
        for experiment in benchmarks.facts["experiments"]
    ]
    caption = (
        "capped: a median is not known as well as wanted after all launches; given up: launches "
        "fail; open: the run ended before it."
    )
    return Table(head, rows, caption, is_folded=len(rows) > FOLDED_FROM)


def _doubtful(benchmarks: Benchmarks) -> list[Table]:
    if not benchmarks.points.height:
        return []
    shaky = benchmarks.points.filter(~pl.col("is_stable"))
    names = ("program", "fabric", "hosts", "metric", "labels", "size_bytes", "doubts")
    rows = [
        ["" if cell is None else str(cell) for cell in row]
        for row in shaky.select(names).head(_UNSTABLE_MAX).iter_rows()
    ]
    caption = f"{shaky.height} of {benchmarks.points.height} points are unstable, and why"
    heads = ("program", "fabric", "hosts", "metric", "", "size [bytes]", "why")
    return [Table(heads, rows, caption, is_folded=True)] if rows else []
