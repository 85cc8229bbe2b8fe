"""Figures of experiments with flows, of one result or of several side by side.

Each is made by a function of results by label, and carries the table that it is drawn from: a page
writes it as CSV beside SVG, PNG and PDF.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from etherweave.api.flow_times import QUANTILES, FlowTimes, flow_times
from etherweave.api.results import Result
from etherweave.api.units import Unit, amount
from etherweave.report.run.ports import host_ports, ports
from etherweave.report.section import Section
from etherweave.report.seeds import HIGH, band, caption, over_seeds
from etherweave.report.style import ASIDE, SERIES, literal, name_decades

Labelled: TypeAlias = Mapping[str, Sequence[Result]]
"""Results by the label that they have in figures, of each label one or those of several seeds."""
Floats: TypeAlias = npt.NDArray[np.float64]

SHARES = 400  # Points of a curve of shares.
BINS = 60  # Periods of a figure over time.
PERCENTILES = {"p50": "p50", "p95": "p95", "p99": "p99", "p999": "p99.9"}

SIZES_CAPTION = (
    "Completion time of flows over their time on an idle fabric, in buckets of equally many flows, "
    "each at its largest size. A bucket of fewer than 20 flows has no p95, 100 no p99, 1,000 no "
    "p99.9."
)
CDF_CAPTION = "Share of the complete flows of a job up to each completion time, or slowdown."
QUEUES_CAPTION = (
    "Share of samples in which a queue is at most this long. Samples are those of all sampled "
    "ports that had been used by then."
)
LOADS_CAPTION = (
    "Share of the switch ports that were used which sent at most this part of their rate, bytes on "
    "the wire against the time of the whole run, with the warm-up and until the last flow ends."
)
PAUSED_CAPTION = (
    "Share of the whole run for which ports of switches, and NICs of hosts, were paused by "
    "their peer: the mean over all that were used, and the longest."
)
TIME_CAPTION = (
    "Payload of complete flows, each at an even rate from start to last byte, over equal periods. "
    "Below: Jain's index of the rates of hosts that send in a period, 1 where all are equal."
)


def slowdowns_by_size(results: Labelled) -> Section | None:
    """Draw quantiles of slowdowns by size, a row for each job and a column for each quantile."""
    times = [(label, job) for label, job in _jobs(results) if job.has_slowdowns]
    if not times:
        return None
    rows = [
        {"result": label, "job": job.job, "bucket": number}
        | {"size_max": part.size_max, "flows": part.flows, "mean": part.mean}
        | {"mean_us": part.mean_us}
        | {name: part.quantiles.get(name) for name in QUANTILES}
        for label, job in times
        for number, part in enumerate(job.buckets())
    ]
    keys, measures = ("result", "job", "bucket"), ("mean", "mean_us", *QUANTILES)
    data = over_seeds(pl.DataFrame(rows, infer_schema_length=None), keys, measures).drop("bucket")
    drawn = [name for name in QUANTILES if data[name].is_not_null().any()]
    jobs = data["job"].unique(maintain_order=True).to_list()
    figure = Figure(figsize=(max(2.5 * len(drawn) + 1.5, 5), 2.6 * len(jobs) + 0.3))
    grid = figure.subplots(len(jobs), len(drawn), squeeze=False, sharey="row")
    for row, job in zip(grid, jobs, strict=True):
        for axes, name in zip(row, drawn, strict=True):
            part = data.filter(pl.col("job") == job, pl.col(name).is_not_null())
            for label, line, colour in _lines(part, results):
                axes.plot(line["size_max"], line[name], "o-", ms=3, color=colour, label=label)
                band(axes, line, "size_max", name, colour)
            _size_axis(axes)
            axes.set_yscale("log")
            axes.set_title(literal(f"{job}, {PERCENTILES[name]}"))
        row[0].set_ylabel("slowdown")
        row[0].set_ylim(bottom=1)
        name_decades(row[0].yaxis)
    _legend(grid[0], results)
    title = "Slowdown by size of flow"
    return Section("slowdown_by_size", title, caption(SIZES_CAPTION, results), figure, data=data)


def completion_shares(results: Labelled) -> Section | None:
    """Draw distributions of completion times and of slowdowns."""
    times = [(label, job) for label, job in _jobs(results) if job.all]
    if not times:
        return None
    parts = [
        pl.DataFrame({"result": label, "job": job.job, "share": _SHARES})
        .with_columns(pl.Series("completion_us", _quantiles(job.complete["time_us"])))
        .with_columns(pl.Series("slowdown", _slowdown_quantiles(job), nan_to_null=True))
        for label, job in times
    ]
    columns = {"completion_us": "completion time [us]", "slowdown": "slowdown"}
    if not any(job.has_slowdowns for _, job in times):
        del columns["slowdown"]
        parts = [part.drop("slowdown") for part in parts]
    section = _cdf("completion_shares", "Completion times", CDF_CAPTION, parts, columns, results)
    for axes in section.figure.axes if section.figure else ():
        axes.set_xscale("log")
        name_decades(axes.xaxis)
    return section


def queue_shares(results: Labelled) -> Section | None:
    """Draw the distribution of sampled queues."""
    parts = [
        pl.DataFrame({"result": label, "job": "", "share": _SHARES}).with_columns(
            pl.Series("queue_kb", _quantiles(result.values("port_samples", "occupancy_bytes"), 1e3))
        )
        for label, result in _each(results)
        if "port_samples" in result.tables and result.values("port_samples", "occupancy_bytes")
    ]
    if not parts:
        return None
    columns = {"queue_kb": "queue [kB]"}
    section = _cdf("queue_shares", "Queue lengths", QUEUES_CAPTION, parts, columns, results)
    if section.figure:
        section.figure.axes[0].set_xscale("symlog", linthresh=1)
        section.figure.axes[0].set_xlim(left=0)
    return section


def load_shares(results: Labelled) -> Section | None:
    """Draw the distribution of the loads of switch ports."""
    parts = []
    for label, result in _each(results):
        if "ports" in result.tables and not (table := ports(result)).is_empty():
            loads = _quantiles(table["sent"].to_list())
            part = pl.DataFrame({"result": label, "job": "", "share": _SHARES})
            parts.append(part.with_columns(pl.Series("load_percent", loads)))
    if not parts:
        return None
    columns = {"load_percent": "load of a link [% of its rate]"}
    return _cdf("load_shares", "Loads of links", LOADS_CAPTION, parts, columns, results)


def paused_shares(results: Labelled) -> Section | None:
    """Draw for which share of time ports of switches and of hosts were paused."""
    rows = [
        {"result": label, "ports": of, "mean_percent": sum(shares) / len(shares)}
        | {"max_percent": max(shares)}
        for label, result in _each(results)
        for of, shares in _paused(result).items()
        if shares
    ]
    if not any(row["max_percent"] for row in rows):
        return None
    keys, columns = ("result", "ports"), ("mean_percent", "max_percent")
    data = over_seeds(pl.DataFrame(rows), keys, columns)
    figure = Figure(figsize=(9, 1.2 + 0.35 * len(data)))
    for axes, column, name in zip(figure.subplots(1, 2), columns, ("mean", "longest"), strict=True):
        colours = [_colour(results, label) for label in data["result"]]
        half = data[f"{column}{HIGH}"] - data[column] if f"{column}{HIGH}" in data.columns else None
        labels = [f"{literal(label)}, {of}" for label, of in data.select(keys).iter_rows()]
        axes.barh(labels, data[column], xerr=half, color=colours)
        axes.invert_yaxis()
        axes.set_xlim(left=0)
        axes.set_xlabel(f"paused, {name} [% of the time]")
    words = caption(PAUSED_CAPTION, results)
    return Section("paused_shares", "Pauses", words, figure, data=data)


def _paused(result: Result) -> dict[str, list[float]]:
    """List the shares of time for which ports in use were paused, of switches and of hosts [%]."""
    if "ports" not in result.tables:
        return {}
    tables = {"switches": ports(result), "hosts": host_ports(result)}
    return {
        of: [float(share or 0.0) for share in table["is_paused"].to_list()]
        for of, table in tables.items()
    }


def rates_over_time(results: Labelled) -> Section | None:
    """Draw goodput over time, and how equally hosts share it."""
    parts = [part for label, seeds in results.items() for part in _rates_of(label, seeds)]
    if not parts:
        return None
    data = over_seeds(pl.concat(parts), ("result", "time_us"), ("goodput_gbps", "jain"))
    figure = Figure(figsize=(9, 4))
    panels = figure.subplots(2, 1, sharex=True)
    for label, line, colour in _lines(data, results):
        for axes, name in zip(panels, ("goodput_gbps", "jain"), strict=True):
            axes.plot(line["time_us"], line[name], color=colour, label=label)
            band(axes, line, "time_us", name, colour)
    upper, lower = panels
    upper.set_ylabel("goodput [Gb/s]")
    upper.set_ylim(bottom=0)
    lower.set_ylabel("Jain's index")
    lower.set_ylim(0, 1.02)
    lower.set_xlabel("simulated time [us]")
    _legend([upper], results)
    title, words = "Goodput and fairness over time", caption(TIME_CAPTION, results)
    return Section("rates_over_time", title, words, figure, has_time=True, data=data)


FIGURES: Sequence[Callable[[Labelled], Section | None]] = (
    slowdowns_by_size,
    completion_shares,
    queue_shares,
    load_shares,
    paused_shares,
    rates_over_time,
)
"""All of them, in the order of the page; those without anything to show return nothing."""

_SHARES = np.linspace(0, 1, SHARES)


def _quantiles(values: Sequence[float] | pl.Series, divisor: float = 1) -> Floats:
    return np.asarray(np.quantile(np.asarray(values, dtype=float), _SHARES) / divisor)


def _slowdown_quantiles(job: FlowTimes) -> Floats:
    if not job.has_slowdowns:
        return np.full(SHARES, np.nan)
    return _quantiles(job.complete["slowdown"])


def _each(results: Labelled) -> Iterator[tuple[str, Result]]:
    return ((label, result) for label, seeds in results.items() for result in seeds)


def _jobs(results: Labelled) -> Iterator[tuple[str, FlowTimes]]:
    for label, result in _each(results):
        for job in flow_times(result):
            yield label, job


def _colour(results: Labelled, label: str) -> str:
    return SERIES[list(results).index(label) % len(SERIES)]


def _lines(data: pl.DataFrame, results: Labelled) -> Iterator[tuple[str, pl.DataFrame, str]]:
    """Part rows by result, each with its name in the legend and its colour."""
    for label in results:
        line = data.filter(pl.col("result") == label)
        if not line.is_empty():
            yield literal(label), line, _colour(results, label)


def _legend(row: Sequence[Axes], results: Labelled) -> None:
    """Name lines beside a row; its first panel has all of them, a rare quantile only some."""
    if len(results) > 1:
        row[-1].legend(*row[0].get_legend_handles_labels(), **ASIDE)


def _size_axis(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: amount(size, Unit.BYTES)))
    axes.tick_params(axis="x", labelsize=7)
    axes.set_xlabel("size of flow")


def _cdf(
    name: str,
    title: str,
    text: str,
    parts: Sequence[pl.DataFrame],
    columns: Mapping[str, str],
    results: Labelled,
) -> Section:
    """Draw shares of values up to each value: a row for each job, a column for each measure."""
    data = over_seeds(pl.concat(parts), ("result", "job", "share"), tuple(columns))
    jobs = data["job"].unique(maintain_order=True).to_list()
    figure = Figure(figsize=(9, 2.6 * len(jobs) + 0.2))
    grid = figure.subplots(len(jobs), len(columns), squeeze=False, sharey=True)
    for row, job in zip(grid, jobs, strict=True):
        for axes, (column, label) in zip(row, columns.items(), strict=True):
            part = data.filter(pl.col("job") == job)
            for words, line, colour in _lines(part, results):
                axes.plot(line[column], line["share"], color=colour, label=words)
                band(axes, line, "share", column, colour)
            axes.set_xlabel(label)
            axes.set_ylim(0, 1)
            axes.set_title(literal(job))
        row[0].set_ylabel("share")
    _legend(grid[0], results)
    return Section(name, title, caption(text, results), figure, data=data)


def _rates_of(label: str, seeds: Sequence[Result]) -> Iterator[pl.DataFrame]:
    """List goodput and Jain's index of all flows of each seed, by periods that seeds share."""
    hosts: set[str] = set()
    start, end = math.inf, 0.0
    for result in seeds:
        for flows in _sent_flows(result):
            start = min(start, float(flows["start_ns"].to_numpy().min()))
            end = max(end, float(flows["end_ns"].to_numpy().max()))
            hosts.update(flows["source_host"])
    if not hosts:
        return
    senders = {host: number for number, host in enumerate(sorted(hosts))}
    edges = np.linspace(start, end, BINS + 1)
    yield from (_rates(label, result, senders, edges) for result in seeds)


def _rates(label: str, result: Result, senders: Mapping[str, int], edges: Floats) -> pl.DataFrame:
    sent = np.zeros((BINS + 1, len(senders)))
    for flows in _sent_flows(result):
        begin, ended = flows["start_ns"].to_numpy(), flows["end_ns"].to_numpy()
        rates = flows["bytes"].to_numpy() * 8 / (ended - begin)
        sender = flows["source_host"].replace_strict(senders).to_numpy()
        for edge, row in zip(edges, sent, strict=True):
            times = np.clip(edge - begin, 0, ended - begin)
            row += np.bincount(sender, rates * times, minlength=len(senders))
    each = np.diff(sent, axis=0) / np.diff(edges)[:, None]  # Gb/s of each sender.
    total, squares = each.sum(axis=1), (each**2).sum(axis=1) * (each > 0).sum(axis=1)
    jain = np.divide(total**2, squares, out=np.full(BINS, np.nan), where=squares > 0)
    return pl.DataFrame(
        {
            "result": [label] * BINS,
            "time_us": (edges[1:] + edges[:-1]) / 2e3,
            "goodput_gbps": total,
            "jain": pl.Series(jain, nan_to_null=True),
        }
    )


def _sent_flows(result: Result) -> Iterator[pl.DataFrame]:
    """List complete flows with their senders, in groups; groups of both tables have equal flows."""
    if "flow_times" not in result.tables:
        return
    for flows, streams in zip(result.frames("flow_times"), result.frames("streams"), strict=True):
        hosts = streams.select("job", "stream", "source_host")
        own = flows.filter(pl.col("complete") == 1).join(hosts, on=["job", "stream"], how="left")
        if not own.is_empty():
            yield own
