"""Sensitivity of KV cache transfers to congestion (inference draft, 10.4)."""

from collections.abc import Sequence

from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import percentile, ratio
from etherweave.bmwg.kpis import SETTING, SOFTWARE, tail_us
from etherweave.bmwg.kv_latency import AXES, SEEDS, kv_latency_cases, pooled
from etherweave.bmwg.model import Case, Cell, Column, Included, Plot, ReportTable
from etherweave.bmwg.settings import KIB, MIB

LOADS = tuple(range(0, 100, 5))  # Loads of all hosts by background flows [%].
KNEE = 2.0  # Factor of the P99 at which the knee is reported, a choice of this implementation.


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Transfer KV caches beside background flows of rising load."""
    loads = LOADS if full else (0, 25, 50, 75, 90, 95)
    return kv_latency_cases(fabric, [16 * MIB if full else 64 * KIB], loads, 1_000 if full else 50)


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report T_transfer over load, its factor, and where the knee is."""
    measured = pooled(trials)
    base = next((tail_us(own.times, 99) for own in measured if not own.labels[1]), None)
    lines: list[list[Cell]] = []
    has_knee = False
    for own in measured:
        times, tail = own.times, tail_us(own.times, 99)
        factor = ratio(tail, base)
        is_knee = not has_knee and factor is not None and factor >= KNEE
        has_knee = has_knee or is_knee
        middle = percentile(times, 50)
        mark = "knee" if is_knee else ""
        lines.append([*own.labels, len(times), middle, *own.medians, tail, factor, mark])
    columns = [
        *(Column(axis, SETTING) for axis in AXES),
        Column("samples", SOFTWARE),
        Column("T_transfer P50 [us]", SOFTWARE),
        Column("P50 of a seed, least [us]", SOFTWARE),
        Column("P50 of a seed, most [us]", SOFTWARE),
        Column("T_transfer P99 [us]", SOFTWARE),
        Column("P99 over unloaded", SOFTWARE),
        Column("knee", SOFTWARE),
    ]
    note = (
        f"The part of TTFT that the fabric has. Knee: the first load whose P99 is {KNEE:g} times. "
        f"Background begins 1 ms before the first transfer. Samples of {len(SEEDS)} seeds are "
        "pooled; a P99 of fewer than 100 samples is left out."
    )
    title = "Transfer time over background load"
    return [ReportTable("sensitivity", title, columns, lines, note, Plot(1, 3))]
