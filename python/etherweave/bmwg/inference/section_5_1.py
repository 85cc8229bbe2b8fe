"""Throughput of KV cache transfers (inference draft, 5.1)."""

from collections.abc import Sequence

from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.kpis import BOUNDARY, health, stream_rates
from etherweave.bmwg.model import Case, Column, Included, Plot, ReportTable, labelled, table
from etherweave.bmwg.settings import GIB, KIB, MIB, window
from etherweave.bmwg.traffic import write

SIZES = (64 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB, GIB)
STREAMS = (1, 4, 8, 16, 32, 64, 128)
AXES = ("message [B]", "QPs")


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Put messages of each size from a prefill to a decode host over each number of QPs."""
    source, sink = fabric.pairs()[0]
    sizes, streams = (SIZES, STREAMS) if full else ((64 * KIB, MIB, 16 * MIB), (1, 8, 32))
    return [
        Case(
            labelled(AXES, size, count),
            {"job": [write(source, sink, size, count)], **window(full, 200, 1_000)},
        )
        for size in sizes
        for count in streams
    ]


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report goodput over size, a line for each number of QPs."""
    metrics = [
        (Column("goodput [GB/s]", BOUNDARY), lambda _, run: sum(stream_rates(run)) / 8),
        (
            Column("of line rate [%]", BOUNDARY),
            lambda _, run: 100 * sum(stream_rates(run)) / fabric.rate_gbps,
        ),
        *health(fabric),
    ]
    plot = Plot(0, 2, (1,))
    return [table("kv-throughput", "KV transfers of a pair", AXES, metrics, trials, plot=plot)]
