"""Sections of the report: slowdowns, queues and pauses of 320 hosts, and the queue of DCTCP."""

from dataclasses import replace

from matplotlib.figure import Figure

from etherweave.api.results import Result
from etherweave.report.run.flow_figures import paused_shares, queue_shares, slowdowns_by_size
from etherweave.report.section import Section
from etherweave.report.style import SERIES
from etherweave.study import StudyResult

from .study import FABRIC, LOADS, PACKET, SENDERS

__all__ = ["dctcp", "paused", "queues", "slowdowns_30", "slowdowns_50"]

NAMES = {"hpcc": "HPCC", "dcqcn": "DCQCN"}
MILLISECONDS = 1e6  # Nanoseconds of one.


def slowdowns_30(result: StudyResult) -> Section | None:
    """Draw slowdowns by size at 30 % load, as the figure 11 of HPCC has them."""
    return _slowdowns(result, 30)


def slowdowns_50(result: StudyResult) -> Section | None:
    """Draw slowdowns by size at 50 % load."""
    return _slowdowns(result, 50)


def _slowdowns(result: StudyResult, load: int) -> Section | None:
    results = {NAMES[name]: [result.results[f"{name}.{load}"]] for name in FABRIC}
    section = slowdowns_by_size(results)
    title = f"Slowdown by size, load of {load} % and incasts"
    checks = ("hpcc.short.*", "hpcc.reduction", "hpcc.gain.*", "hpcc.long.*", "dcqcn.load.*")
    return section and replace(section, name=f"slowdowns_{load}", title=title, checks=checks)


def queues(result: StudyResult) -> Section | None:
    """Draw distributions of the queues of ports to hosts."""
    section = queue_shares(_fabric(result))
    return section and replace(section, name="queues", checks=("hpcc.queue.*",))


def paused(result: StudyResult) -> Section | None:
    """Draw for how long ports of switches were paused."""
    section = paused_shares(_fabric(result))
    return section and replace(section, name="paused", checks=("*.paused.*",))


def _fabric(result: StudyResult) -> dict[str, list[Result]]:
    return {
        f"{NAMES[name]}, {load} %": [result.results[f"{name}.{load}"]]
        for load in LOADS
        for name in FABRIC
    }


def dctcp(result: StudyResult) -> Section:
    """Draw the queue of long flows with DCTCP over two milliseconds."""
    figure = Figure(figsize=(9, 2.6))
    axes = figure.subplots()
    for senders, colour in zip(SENDERS, SERIES, strict=False):
        rows = result.results[f"dctcp.{senders}"].to_polars("port_samples").tail(2_000)
        packets = rows["occupancy_bytes"] / PACKET
        label = f"{senders} senders"
        axes.plot(rows["time_ns"] / MILLISECONDS, packets, color=colour, label=label)
    axes.set_xlabel("simulated time [ms]")
    axes.set_ylabel("queue [packets]")
    axes.set_ylim(bottom=0)
    axes.legend()
    caption = "Queue of the port that all senders share, marked from 65 packets on."
    return Section("dctcp", "Queue of DCTCP", caption, figure, checks=("dctcp.*",))
