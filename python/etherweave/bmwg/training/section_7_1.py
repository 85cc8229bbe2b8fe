"""Marks at the ECN threshold (training draft, 7.1)."""

import math
from collections.abc import Iterator, Mapping, Sequence

from etherweave.api.results import Result
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.kpis import REPORTED, SETTING, rows
from etherweave.bmwg.model import Case, Column, Included, Plot, ReportTable, labelled
from etherweave.bmwg.settings import MIB, at_line_rate, reads_marks
from etherweave.bmwg.traffic import incast

SINK = 0
BINS = 4  # Bins of depth up to the lower threshold.
PERIOD = "500ns"
SEEDS = 10  # Repetitions, whose packets are counted together.
AXES = ("lower threshold [B]", "upper threshold [B]", "seed")
THRESHOLDS = (100_000, 1_000_000, 5_000_000)


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Fill a queue from two hosts until it is twice as deep as the upper threshold."""
    made = []
    for threshold in THRESHOLDS if full else THRESHOLDS[:1]:
        size = math.ceil(4 * threshold / MIB) * MIB
        job = incast(fabric.senders_to(SINK)[:2], SINK, size, messages=1)
        leaf = next(iter(fabric.leaves))
        ports = [f"{leaf} - {fabric.host_names[SINK]}"]
        limits = {"queue_min": f"{threshold}B", "queue_max": f"{2 * threshold}B", "share_max": 1.0}
        changes = {
            "job": [job],
            "observe": {"period": PERIOD, "ports": ports},
            # What follows the last message is of no interest, but samples need an end.
            "run": {"end": f"{math.ceil(40 * size * 8e-3 / fabric.rate_gbps) / 10:.1f}us"},
            "switch.ecn": limits,
            **reads_marks(fabric),
            **at_line_rate(fabric, size, is_marking=True),
        }
        for seed in range(1, SEEDS + 1):
            labels = labelled(AXES, threshold, 2 * threshold, seed)
            made.append(Case(labels, {**changes, "seed": seed}))
    return made


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report the share of marked packets over the depth of the queue."""
    sums: dict[tuple[int, int], dict[int, tuple[float, int]]] = {}
    for case, result in trials:
        low, high = (int(str(case.labels[axis])) for axis in AXES[:2])
        _add_marks(sums.setdefault((low, high), {}), result, low, high)
    lines = [[*key, *line] for key, bins in sums.items() for line in _lines(bins, *key)]
    columns = [
        *(Column(axis, SETTING) for axis in AXES[:2]),
        Column("depth from [B]", SETTING),
        Column("packets", REPORTED),
        Column("marked [%]", REPORTED),
        Column("configured [%]", SETTING),
    ]
    note = (
        f"Depth: mean of a period of {PERIOD} at its ends; packets: wire bytes of the period over "
        "the mean size of a packet there. Configured: the ramp at the middle of the bin; the last "
        "bin has all that is above."
    )
    plot = Plot(2, 4, (0,))
    return [ReportTable("marks", "Marks over depth", columns, lines, note, plot)]


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
