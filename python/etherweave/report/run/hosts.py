"""Results of a run at hosts: iterations by job and by node, and goodput of streams."""

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etherweave.api.fidelity import mode_labels
from etherweave.api.overview import launches
from etherweave.api.results import Result
from etherweave.report.section import Section, Table
from etherweave.report.style import INK, POINTS_MAX, SERIES, WholeNumbers

BINS = 60
ITERATIONS_CAPTION = (
    "Time of every iteration on every rank. The solid line is the median, the dashed one the 99th "
    "percentile. "
    "An iteration counts from its first call to the end of its last one."
)


def iterations(result: Result) -> Section | None:
    """Show the distribution of each job's iteration times."""
    rows = _rows(result, "iterations")
    if rows.is_empty():
        return None
    jobs = rows.group_by("job", maintain_order=True)
    parts = [(str(job), part["duration_ns"] / 1e3) for (job,), part in jobs]
    figure = Figure(figsize=(9, 2.6 * len(parts)))
    panels = figure.subplots(len(parts), 1, squeeze=False)[:, 0]
    for number, (axes, (job, times)) in enumerate(zip(panels, parts, strict=True)):
        _histogram(axes, job, times, SERIES[number % len(SERIES)])
    return Section("iterations", "Iteration times", ITERATIONS_CAPTION, figure, [_statistics(rows)])


def _rows(result: Result, table: str) -> pl.DataFrame:
    """Read a table; its jobs say how they were simulated, where not all are alike."""
    return result.to_polars(table).with_columns(pl.col("job").replace(mode_labels(result)))


def _histogram(axes: Axes, job: str, times: pl.Series, colour: str) -> None:
    values = times.to_numpy()
    # Wide enough that equal times make one bar, not a division of nothing.
    spread = max(values.max() - values.min(), values.max() * 1e-3, 1e-3)
    axes.hist(values, bins=BINS, range=(values.min(), values.min() + spread), color=colour)
    for share, style in ((50, "-"), (99, "--")):
        value = np.percentile(values, share)
        name = "median" if share == 50 else f"{share} %"
        axes.axvline(value, color=INK, linestyle=style, label=f"{name}: {value:,.5g} us")
    axes.set_title(job)
    axes.set_xlabel("iteration time [us]")
    axes.set_ylabel("iterations")
    axes.legend(loc="upper right")  # "best" takes seconds among many points


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


NODES_CAPTION = (
    "Each point is an iteration; the dash is a rank's median. The hosts of ranks are those of the "
    "placement, in the order of `rank_order`: a rank that is slow in every iteration is badly "
    "placed, or shares links with others."
)


def nodes(result: Result) -> Section | None:
    """Show iteration times by rank, a panel for each job."""
    rows = _rows(result, "iterations")
    if rows.is_empty():
        return None
    parts = list(rows.group_by("job", maintain_order=True))
    figure = Figure(figsize=(9, 2.8 * len(parts)))
    panels = figure.subplots(len(parts), 1, squeeze=False)[:, 0]
    for number, (axes, ((job,), part)) in enumerate(zip(panels, parts, strict=True)):
        scatter(axes, part, SERIES[number % len(SERIES)])
        axes.set_title(str(job))
    return Section("nodes", "Iterations of every node", NODES_CAPTION, figure)


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


BARS_MAX = 80  # Streams with a bar each; more are drawn as a curve.

STREAMS_CAPTION = (
    "Payload that reached the application, by the time from the end of the warm-up on; "
    "in descending order within each job."
)
LAUNCHES_CAPTION = (
    " Streams, messages and payload are those of all {} launches; the goodput of a destination is "
    "the mean over launches."
)


def streams(result: Result) -> Section | None:
    """Show the goodput of each stream, and its sum at each destination."""
    rows = _rows(result, "streams")
    if rows.is_empty():
        return None
    figure = Figure(figsize=(9, 2.8))
    axes = figure.subplots()
    place = 0
    for at, ((job,), part) in enumerate(rows.group_by("job", maintain_order=True)):
        rates = part["goodput_gbps"].sort(descending=True)
        _draw_rates(axes, place, rates, f"{job}: {len(rates)} streams", SERIES[at % len(SERIES)])
        place += len(rates)
    axes.set_xlabel("stream")
    axes.set_ylabel("goodput [Gb/s]")
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_locator(WholeNumbers())
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=4)
    several = launches(result)
    caption = STREAMS_CAPTION + (LAUNCHES_CAPTION.format(several) if several > 1 else "")
    table = _by_destination(rows, several)
    return Section("streams", "Goodput of streams", caption, figure, [table])


def _draw_rates(axes: Axes, place: int, rates: pl.Series, label: str, colour: str) -> None:
    places = range(place + 1, place + 1 + len(rates))
    if len(rates) <= BARS_MAX:
        axes.bar(places, rates.to_numpy(), color=colour, label=label)
    else:
        axes.fill_between(places, rates.to_numpy(), color=colour, label=label, step="mid")


def _by_destination(rows: pl.DataFrame, launch_count: int) -> Table:
    table = rows.group_by("job", "destination_host", maintain_order=True).agg(
        pl.col("source_host").n_unique(),
        pl.len(),
        pl.col("messages").sum(),
        pl.col("bytes").sum(),
        pl.col("goodput_gbps").sum() / launch_count,
    )
    head = ("job", "destination", "sources", "streams", "messages", "payload [B]")
    cells = [
        [job, host, *(f"{count:,}" for count in counts), f"{rate:,.2f}"]
        for job, host, *counts, rate in table.rows()
    ]
    return Table((*head, "goodput [Gb/s]"), cells, is_folded=len(cells) > 12)
