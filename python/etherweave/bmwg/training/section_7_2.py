"""Priority flow control under incast (training draft, 7.2)."""

import math
from collections.abc import Callable, Sequence

from etherweave.api.results import Result
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.kpis import BOUNDARY, REPORTED, counters, health, rows, stream_rates
from etherweave.bmwg.model import Case, Column, Included, Metric, Plot, ReportTable, labelled, table
from etherweave.bmwg.settings import MIB, at_line_rate, too_many, window
from etherweave.bmwg.traffic import incast

SINK = 0
COUNTS = (2, 4, 8, 16, 32, 64)
AXES = ("congestion control", "senders")


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Send from N hosts to one at line rate, and with the congestion control of the file."""
    controls = {"none": at_line_rate(fabric, 4 * MIB)}
    if fabric.transport == "roce":
        controls["of the file"] = {}
    made = []
    for control, changes in controls.items():
        for count in COUNTS if full else (4, 8, 16):
            labels = labelled(AXES, control, count)
            if missing := too_many(labels, count + 1, fabric):
                made.append(missing)
                continue
            job = incast(fabric.senders_to(SINK)[:count], SINK, MIB)
            made.append(Case(labels, {"job": [job], **window(full, 200, 800), **changes}))
    return made


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report pauses by hop, storms, queues and throughput."""
    metrics: list[Metric] = [
        (Column("goodput [Gb/s]", BOUNDARY), lambda _, run: sum(stream_rates(run))),
        (Column("PAUSE to hosts [1/s]", REPORTED), _rate(fabric, "host")),
        (Column("PAUSE between switches [1/s]", REPORTED), _rate(fabric, "local", "global")),
        (
            Column("longest paused port [us]", REPORTED),
            lambda _, run: counters(fabric, run).paused_us_max,
        ),
        (Column("largest queue [B]", REPORTED), lambda _, run: counters(fabric, run).occupancy_max),
        (Column("storms", REPORTED), lambda _, run: sum(1 for _ in rows(run, "storms", "node"))),
        *health(fabric),
    ]
    note = (
        "PAUSE frames that switches send, X-ON not counted. Storms: those that a watchdog of the "
        "file detects; none without a watchdog."
    )
    plot = Plot(1, 4, (0,))
    return [table("pauses", "Pauses under incast", AXES, metrics, trials, note=note, plot=plot)]


def _rate(fabric: BenchFabric, *classes: str) -> Callable[[Case, Result], float]:
    hosts = set(fabric.host_names)
    columns = ("node", "class", "tx_pause_xoff_packets", "tx_pause_refresh_packets")

    def rate(_: Case, result: Result) -> float:
        frames = math.fsum(
            xoff + refresh
            for node, kind, xoff, refresh in rows(result, "ports", *columns)
            if node not in hosts and kind in classes
        )
        return frames / (result.summary["end_ns"] * 1e-9)

    return rate
