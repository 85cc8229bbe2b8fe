"""Latency of KV cache transfers beside background traffic (inference draft, 5.2)."""

from collections.abc import Sequence

from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.kpis import LATENCY_TITLES, SETTING, SOFTWARE, latency_cells, latency_columns
from etherweave.bmwg.kv_latency import AXES, SEEDS, kv_latency_cases, pooled
from etherweave.bmwg.model import Case, Cell, Column, Included, Plot, ReportTable
from etherweave.bmwg.settings import KIB, MIB

LOADS = (0, 25, 50, 75, 90)  # Loads of all hosts by background flows [%].
P50, P99 = LATENCY_TITLES.index("P50"), LATENCY_TITLES.index("P99")


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Transfer messages of each size one after the other, beside flows of each load."""
    sizes = (64 * KIB, MIB, 16 * MIB, 256 * MIB) if full else (64 * KIB, 256 * KIB)
    return kv_latency_cases(fabric, sizes, LOADS, 1_000 if full else 50)


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report percentiles from the post at prefill to the completion at decode."""
    lines: list[list[Cell]] = []
    for own in pooled(trials):
        cells = latency_cells(own.times)
        middle, tail = cells[P50], cells[P99]
        spread = None if middle is None or tail is None else tail - middle
        lines.append([*own.labels, len(own.times), *cells, spread])
    columns = [
        *(Column(axis, SETTING) for axis in AXES),
        Column("samples", SOFTWARE),
        *latency_columns(SOFTWARE),
        Column("P99 - P50 [us]", SOFTWARE),
    ]
    note = (
        "Clock: from the post of the transfer to its completion at the receiver; transfers go to "
        "and fro. Background: flows of 256 KiB between random hosts, as a share of the line rate, "
        f"from 1 ms before the first transfer to the end of the run. Samples of {len(SEEDS)} seeds "
        "are pooled; a percentile above which no sample can be is left out."
    )
    title = "KV latency beside background"
    return [ReportTable("kv-latency", title, columns, lines, note, Plot(1, 7, (0,)))]
