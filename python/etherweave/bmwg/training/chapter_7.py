"""Congestion management: marks, pauses, convergence, deadlocks (training draft, chapter 7)."""

import math
from collections.abc import Iterator, Mapping, Sequence

from etherweave.api.results import Result
from etherweave.bmwg.convergence import convergence_test
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.kpis import BOUNDARY, REPORTED, SETTING, counters, health, rows, stream_rates
from etherweave.bmwg.model import (
    BenchTest,
    Case,
    Included,
    Metric,
    Plot,
    ReportTable,
    labelled,
    table,
)
from etherweave.bmwg.settings import MIB, Changes, at_line_rate, reads_marks, roce, sized, window
from etherweave.bmwg.storm import storm_test
from etherweave.bmwg.traffic import incast

SINK = 0
BINS = 4  # Bins of depth up to the lower threshold.
PERIOD = "500ns"
SEEDS = 10  # Repetitions, whose packets are counted together.
MARK_AXES = ("lower threshold [B]", "upper threshold [B]", "seed")
THRESHOLDS = (100_000, 1_000_000, 5_000_000)
COUNTS = (2, 4, 8, 16, 32, 64)
PAUSE_AXES = ("congestion control", "senders")


def _mark_cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Fill a queue from two hosts until it is twice as deep as the upper threshold."""
    made = []
    for threshold in THRESHOLDS if full else THRESHOLDS[:1]:
        size = math.ceil(4 * threshold / MIB) * MIB
        limits = {"queue_min": f"{threshold}B", "queue_max": f"{2 * threshold}B", "share_max": 1.0}
        changes = {
            "job": [incast(fabric.senders_to(SINK)[:2], SINK, size, messages=1)],
            "observe": {"period": PERIOD, "ports": [fabric.link_to(SINK)]},
            # What follows the last message is of no interest, but samples need an end.
            "run": {"end": f"{math.ceil(40 * size * 8e-3 / fabric.rate_gbps) / 10:.1f}us"},
            "switch.ecn": limits,
            **reads_marks(fabric),
            **at_line_rate(fabric, size, is_marking=True),
        }
        made += [
            Case(labelled(MARK_AXES, threshold, 2 * threshold, seed), {**changes, "seed": seed})
            for seed in range(1, SEEDS + 1)
        ]
    return made


def _mark_tables(_: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report the share of marked packets over the depth of the queue."""
    sums: dict[tuple[int, int], dict[int, tuple[float, int]]] = {}
    for case, result in trials:
        low, high = (int(str(case.labels[axis])) for axis in MARK_AXES[:2])
        _add_marks(sums.setdefault((low, high), {}), result, low, high)
    lines = [[*key, *line] for key, bins in sums.items() for line in _lines(bins, *key)]
    columns = [
        *SETTING.columns(*MARK_AXES[:2], "depth from [B]"),
        *REPORTED.columns("packets", "marked [%]"),
        *SETTING.columns("configured [%]"),
    ]
    note = (
        f"Depth: mean of a period of {PERIOD} at its ends; packets: wire bytes of the period over "
        "the mean size of a packet there. Configured: the ramp at the middle of the bin; the last "
        "bin has all that is above."
    )
    return [ReportTable("marks", "Marks over depth", columns, lines, note, Plot(2, 4, (0,)))]


def _add_marks(sums: dict[int, tuple[float, int]], result: Result, low: int, high: int) -> None:
    """Add packets and marks of a run to bins of depth; the last one has no end."""
    width, before = low / BINS, 0
    size = _packet_bytes(result)
    columns = ("occupancy_bytes", "tx_bytes", "ecn_marked_packets")
    for depth, sent, marked in rows(result, "port_samples", *columns):
        place = min(math.floor((depth + before) / 2 / width), round(high / width))
        packets, marks = sums.get(place, (0.0, 0))
        sums[place] = (packets + sent / size, marks + marked)
        before = depth


def _lines(
    bins: Mapping[int, tuple[float, int]], low: int, high: int
) -> Iterator[tuple[float, float, float, float]]:
    """Compute the start of each bin, its packets, the share marked and the share configured."""
    width = low / BINS
    for place, (packets, marks) in sorted(bins.items()):
        ramp = ((place + 0.5) * width - low) / (high - low)
        if packets:
            share = 100 * marks / packets
            yield place * width, packets, share, 100 * min(max(ramp, 0.0), 1.0)


def _packet_bytes(result: Result) -> float:
    sent, packets = 0, 0
    for size, count, kind in rows(result, "ports", "tx_bytes", "tx_packets", "class"):
        if kind == "host" and size > sent:
            sent, packets = size, count
    return sent / packets if packets else 1.0


def _pause_cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Send from N hosts to one at line rate, and with the congestion control of the file."""
    controls = {"none": at_line_rate(fabric, 4 * MIB)}
    if fabric.transport == "roce":
        controls["of the file"] = {}

    def changes(count: int) -> Changes:
        job = incast(fabric.senders_to(SINK)[:count], SINK, MIB)
        return {"job": [job], **window(full, 200, 800)}

    return [
        sized(*(fabric, count + 1, labelled(PAUSE_AXES, control, count)), {**changes(count), **own})
        for control, own in controls.items()
        for count in (COUNTS if full else (4, 8, 16))
    ]


def _pause_tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report pauses by hop, storms, queues and throughput."""
    hosts = set(fabric.host_names)
    columns = ("node", "class", "tx_pause_xoff_packets", "tx_pause_refresh_packets")

    def rate(result: Result, *classes: str) -> float:
        frames = math.fsum(
            xoff + refresh
            for node, kind, xoff, refresh in rows(result, "ports", *columns)
            if node not in hosts and kind in classes
        )
        return frames / (result.summary["end_ns"] * 1e-9)

    metrics: list[Metric] = [
        BOUNDARY.metric("goodput [Gb/s]", lambda run: sum(stream_rates(run))),
        REPORTED.metric("PAUSE to hosts [1/s]", lambda run: rate(run, "host")),
        REPORTED.metric("PAUSE between switches [1/s]", lambda run: rate(run, "local", "global")),
        REPORTED.metric(
            "longest paused port [us]", lambda run: counters(fabric, run).paused_us_max
        ),
        REPORTED.metric("largest queue [B]", lambda run: counters(fabric, run).occupancy_max),
        REPORTED.metric("storms", lambda run: len(list(rows(run, "storms", "node")))),
        *health(fabric),
    ]
    note = (
        "PAUSE frames that switches send, X-ON not counted. Storms: those that a watchdog of the "
        "file detects; none without a watchdog."
    )
    title, plot = "Pauses under incast", Plot(1, 4, (0,))
    return [table("pauses", title, PAUSE_AXES, metrics, trials, note=note, plot=plot)]


def _dcqcn(fabric: BenchFabric) -> Mapping[str, Changes]:
    """Return DCQCN of the file, and with a quicker increase."""
    own = fabric.transport_keys("roce").get("dcqcn", {})
    return {
        "DCQCN": roce(fabric, dcqcn=own),
        "DCQCN, rpg_time_reset 50us": roce(fabric, dcqcn={**own, "rpg_time_reset": "50us"}),
        "DCQCN, rpg_ai_rate 100Mb/s": roce(fabric, dcqcn={**own, "rpg_ai_rate": "100Mb/s"}),
    }


TESTS = {
    "7.1": BenchTest(_mark_cases, _mark_tables),
    "7.2": BenchTest(_pause_cases, _pause_tables),
    "7.3": convergence_test(
        "Convergence of DCQCN", _dcqcn, ((2, 4), 5_000), ((4, 16, 64, 256), 50_000)
    ),
    "7.4": storm_test(MIB),
}
