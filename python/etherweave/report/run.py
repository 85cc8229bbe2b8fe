"""The report of one run."""

from pathlib import Path

import polars as pl
from matplotlib.figure import Figure

from etherweave.report.fabric import heat_maps
from etherweave.report.page import Plot, Sheet, write_page
from etherweave.results import Result


def write_run(result: Result, directory: Path) -> Path:
    """Write a run's page into a directory; returns its path."""
    summary = result.summary
    plots = []
    if len(result.tables["iterations"]) > 0:
        caption = "Left: how many iterations took how long. Right: each iteration by host."
        plots.append(Plot("iterations", "Iteration times", caption, iterations(result)))
    if len(result.tables["streams"]) > 0:
        caption = "Payload per time, from the end of the warm-up on."
        plots.append(Plot("streams", "Goodput of streams", caption, streams(result)))
    caption = "Each cell is a switch port that sent or received anything."
    plots.append(Plot("fabric", "The fabric", caption, heat_maps(result)))
    facts = [(name, f"{value}") for name, value in summary.items() if name != "warnings"]
    facts += [("warning", warning) for warning in summary["warnings"]]
    facts += list(result.machine.items())
    sheets = [Sheet("The run in short", ("fact", "value"), facts), counters(result)]
    intro = f"Etherweave {summary['version']}, seed {summary['seed']}: {summary['finished']}."
    return write_page(directory, summary["name"], intro, sheets, plots, result.resolved)


def counters(result: Result) -> Sheet:
    """List the counters of switches, summed over their ports."""
    wanted = ["tx_packets", "tx_pause_packets", "rx_pause_packets"]
    wanted += ["rx_pause_duration_ns", "drops_packets", "ecn_marked_packets"]
    ports = result.to_polars("ports").with_columns(
        pl.when(pl.col("node").str.starts_with("host"))
        .then(pl.lit("all hosts"))
        .otherwise(pl.col("node"))
        .alias("node")
    )
    sums = ports.group_by("node", "priority").agg(pl.col(wanted).sum()).sort("node", "priority")
    rows = [
        [f"{cell:,.0f}" if isinstance(cell, float) else str(cell) for cell in row]
        for row in sums.rows()
    ]
    return Sheet("Counters by switch and priority", sums.columns, rows)


def iterations(result: Result) -> Figure:
    """Draw the distribution of iteration times, and each of them by host."""
    figure = Figure(figsize=(9, 3.2))
    left, right = figure.subplots(1, 2)
    rows = result.to_polars("iterations")
    for (job,), part in rows.group_by("job", maintain_order=True):
        times = part["duration_ns"].to_numpy() / 1e3
        left.hist(times, bins=40, alpha=0.7, label=str(job))
        right.plot(part["rank"].to_numpy(), times, ".", markersize=3, alpha=0.5, label=str(job))
    left.set_xlabel("iteration time [us]")
    left.set_ylabel("iterations")
    right.set_xlabel("rank")
    right.set_ylabel("iteration time [us]")
    left.legend()
    return figure


def streams(result: Result) -> Figure:
    """Draw the goodput of each stream."""
    rows = result.to_polars("streams")
    figure = Figure(figsize=(9, 3))
    axes = figure.subplots()
    axes.bar(range(len(rows)), rows["goodput_gbps"].to_numpy())
    axes.set_xlabel("stream")
    axes.set_ylabel("goodput [Gb/s]")
    return figure
