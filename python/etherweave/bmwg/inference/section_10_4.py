"""Sensitivity of KV cache transfers to congestion (inference draft, 10.4)."""

from collections.abc import Sequence

from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import percentile
from etherweave.bmwg.kpis import SETTING, SOFTWARE
from etherweave.bmwg.kv_latency import AXES, kv_latency_cases, transfer_times_us
from etherweave.bmwg.model import Case, Cell, Column, Included, Plot, ReportTable
from etherweave.bmwg.settings import KIB, MIB

LOADS = tuple(range(0, 100, 5))  # Loads of all hosts by background flows [%].
KNEE = 2.0  # Factor of the P99 at which the knee is reported, a choice of this implementation.


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Transfer KV caches beside background flows of rising load."""
    loads = LOADS if full else (0, 25, 50, 75, 90, 95)
    return kv_latency_cases(fabric, [16 * MIB if full else 64 * KIB], loads, 1_000 if full else 10)


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report T_transfer over load, its factor, and where the knee is."""
    measured = [(case, transfer_times_us(case, result)) for case, result in trials]
    base = next((percentile(times, 99) for row, times in measured if not row.labels[AXES[1]]), None)
    lines: list[list[Cell]] = []
    has_knee = False
    for case, times in measured:
        middle, tail = percentile(times, 50), percentile(times, 99)
        factor = tail / base if base else None
        is_knee = not has_knee and factor is not None and factor >= KNEE
        has_knee = has_knee or is_knee
        lines.append([*case.labels.values(), middle, tail, factor, "knee" if is_knee else ""])
    columns = [
        *(Column(axis, SETTING) for axis in AXES),
        Column("T_transfer P50 [us]", SOFTWARE),
        Column("T_transfer P99 [us]", SOFTWARE),
        Column("P99 over unloaded", SOFTWARE),
        Column("knee", SOFTWARE),
    ]
    note = (
        f"The part of TTFT that the fabric has. Knee: the first load whose P99 is {KNEE:g} times."
    )
    title = "Transfer time over background load"
    return [ReportTable("sensitivity", title, columns, lines, note, Plot(1, 3))]
