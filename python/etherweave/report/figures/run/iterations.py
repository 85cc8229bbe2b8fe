"""How long iterations took."""

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etherweave.report.section import Section, Table
from etherweave.report.style import INK, SERIES
from etherweave.results import Result

BINS = 60
CAPTION = (
    "Time of every iteration on every rank. The lines are the median and the 99th percentile. "
    "An iteration counts from its first call to the end of its last one."
)


def section(result: Result) -> Section | None:
    """Show the distribution of each job's iteration times."""
    rows = result.to_polars("iterations")
    if rows.is_empty():
        return None
    jobs = rows.group_by("job", maintain_order=True)
    parts = [(str(job), part["duration_ns"] / 1e3) for (job,), part in jobs]
    figure = Figure(figsize=(9, 2.6 * len(parts)))
    panels = figure.subplots(len(parts), 1, squeeze=False)[:, 0]
    for number, (axes, (job, times)) in enumerate(zip(panels, parts, strict=True)):
        _histogram(axes, job, times, SERIES[number % len(SERIES)])
    return Section("iterations", "Iteration times", CAPTION, figure, [_statistics(rows)])


def _histogram(axes: Axes, job: str, times: pl.Series, colour: str) -> None:
    values = times.to_numpy()
    # Wide enough that equal times make one bar, not a division of nothing.
    spread = max(values.max() - values.min(), values.max() * 1e-3, 1e-3)
    axes.hist(values, bins=BINS, range=(values.min(), values.min() + spread), color=colour)
    for share, style in ((50, "-"), (99, (0, (4, 2)))):
        value = np.percentile(values, share)
        name = "median" if share == 50 else f"{share} %"
        axes.axvline(value, color=INK, linestyle=style, label=f"{name}: {value:,.5g} us")
    axes.set_title(job)
    axes.set_xlabel("iteration time [us]")
    axes.set_ylabel("iterations")
    axes.legend()


def _statistics(rows: pl.DataFrame) -> Table:
    time = pl.col("duration_ns") / 1e3
    table = rows.group_by("job", maintain_order=True).agg(
        pl.col("rank").n_unique(),
        pl.len(),
        time.min().alias("min"),
        time.mean().alias("mean"),
        time.median().alias("median"),
        time.quantile(0.99).alias("p99"),
        time.max().alias("max"),
    )
    head = ["job", "ranks", "iterations"]
    head += [f"{name} [us]" for name in ("min", "mean", "median", "99 %", "max")]
    cells = [
        [str(job), f"{ranks:,}", f"{count:,}", *(f"{time:,.2f}" for time in times)]
        for job, ranks, count, *times in table.rows()
    ]
    return Table(head, cells)
