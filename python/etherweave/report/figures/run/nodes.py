"""Every iteration, by the rank that it ran on."""

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etherweave.report.section import Section
from etherweave.report.style import INK, POINTS_MAX, SERIES
from etherweave.results import Result

CAPTION = (
    "Each point is an iteration; the dash is a rank's median. "
    "Ranks run on one host each, in the order of the placement."
)


def section(result: Result) -> Section | None:
    """Show iteration times by rank, a panel for each job."""
    rows = result.to_polars("iterations")
    if rows.is_empty():
        return None
    parts = list(rows.group_by("job", maintain_order=True))
    figure = Figure(figsize=(9, 2.8 * len(parts)))
    panels = figure.subplots(len(parts), 1, squeeze=False)[:, 0]
    for number, (axes, ((job,), part)) in enumerate(zip(panels, parts, strict=True)):
        scatter(axes, part, SERIES[number % len(SERIES)])
        axes.set_title(str(job))
    return Section("nodes", "Iterations of every node", CAPTION, figure)


def scatter(axes: Axes, rows: pl.DataFrame, colour: str) -> None:
    """Draw the iterations of one job, and each rank's median."""
    ranks, times = rows["rank"].to_numpy(), rows["duration_ns"].to_numpy() / 1e6
    is_dense = len(times) > POINTS_MAX
    look = {"color": colour, "markersize": 3, "markeredgewidth": 0, "alpha": 0.35}
    axes.plot(ranks, times, "o", rasterized=is_dense, **look)  # type: ignore[arg-type]
    medians = rows.group_by("rank").agg(pl.col("duration_ns").median()).sort("rank")
    axes.plot(medians["rank"], medians["duration_ns"] / 1e6, "_", color=INK, markersize=6)
    axes.set_xlabel("rank")
    axes.set_ylabel("iteration time [ms]")
    axes.set_ylim(bottom=0)
    axes.margins(x=0.01)
