"""How launches spread about their medians."""

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from etherweave.report.benchmarks import Benchmarks
from etherweave.report.section import Section
from etherweave.report.style import ASIDE, DASHES, SERIES

CAPTION = (
    "The share of launches that are no further above or below the median of their point than this. "
    "A steep step is a steady benchmark; two steps are two modes; a long foot or shoulder are "
    "outliers, which stay."
)
_KEYS = ["program", "fabric", "hosts", "ranks_per_node", "metric", "statistic", "size_bytes"]


def relative(found: Benchmarks) -> pl.DataFrame:
    """Give each number that counts as a share of its point's median, less one: ``spread``."""
    rows = found.measurements
    if not rows.height:
        return rows
    medians = found.points.select(*_KEYS, "labels", "median")
    # Points without a size are alike too.
    joined = rows.join(medians, on=[*_KEYS, "labels"], how="inner", nulls_equal=True)
    usable = joined.filter(pl.col("median") != 0)
    return usable.with_columns(spread=pl.col("value") / pl.col("median") - 1)


def section(found: Benchmarks) -> Section | None:
    """Show a cumulative distribution for each program, metric and fabric."""
    rows = relative(found)
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
    return Section("distributions", "How launches spread", CAPTION, figure)


def _dash(number: int) -> Any:
    """Tell curves of one colour apart."""
    return ["-", *DASHES][number // len(SERIES) % (len(DASHES) + 1)]
