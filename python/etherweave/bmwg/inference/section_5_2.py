"""Latency of KV cache transfers beside background traffic (inference draft, 5.2)."""

from collections.abc import Sequence

from etherweave.api.results import Result
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.kpis import (
    LATENCY_TITLES,
    SETTING,
    SOFTWARE,
    latency_cells,
    latency_columns,
    rows,
)
from etherweave.bmwg.model import Case, Cell, Column, Included, Plot, ReportTable, labelled
from etherweave.bmwg.settings import KIB, MIB
from etherweave.bmwg.traffic import ping, uniform

BACKGROUND = 256 * KIB
"""Size of background flows [B]."""
LOADS = (0, 25, 50, 75, 90)
"""Loads of all hosts by background flows [%]."""
P50, P99 = LATENCY_TITLES.index("P50"), LATENCY_TITLES.index("P99")
AXES = ("message [B]", "background [%]")


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Transfer messages of each size one after the other, beside flows of each load."""
    source, sink = fabric.pairs()[0]
    sizes = (64 * KIB, MIB, 16 * MIB, 256 * MIB) if full else (64 * KIB, 256 * KIB)
    samples = 1_000 if full else 10
    made = []
    for size in sizes:
        # Ten times what all transfers take at line rate, to and fro: the run ends before.
        span_us = 10 * 2 * (samples + 10) * (size * 8e-3 / fabric.rate_gbps + 10)
        for load in LOADS:
            jobs = [ping(source, sink, size, samples)]
            if load:
                jobs.append(uniform(fabric.hosts, load, BACKGROUND, span_us, background=True))
            labels = labelled(AXES, size, load)
            made.append(Case(labels, {"job": jobs, "observe": {"ranks": True}}))
    return made


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report percentiles from the post at prefill to the completion at decode."""
    lines: list[list[Cell]] = []
    for case, result in trials:
        values = _times_us(case, result)
        cells = latency_cells(values)
        lines.append([*case.labels.values(), len(values), *cells, cells[P99] - cells[P50]])
    columns = [
        *(Column(axis, SETTING) for axis in AXES),
        Column("samples", SOFTWARE),
        *latency_columns(SOFTWARE),
        Column("P99 - P50 [us]", SOFTWARE),
    ]
    note = (
        "Clock: from the post of the transfer to its completion at the receiver; transfers go to "
        "and fro. Background: flows of 256 KiB between random hosts, as a share of the line rate."
    )
    title = "KV latency beside background"
    return [ReportTable("kv-latency", title, columns, lines, note, Plot(1, 7, (0,)))]


def _times_us(case: Case, result: Result) -> list[float]:
    sent = rows(result, "transfers", "job", "bytes", "start_ns", "end_ns")
    size = case.labels[AXES[0]]
    return [
        (end - start) / 1e3 for job, count, start, end in sent if (job, count) == ("ping", size)
    ]
