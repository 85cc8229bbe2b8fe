"""Summary of collectives by strategy (training draft, 9.4)."""

from collections.abc import Sequence

from etherweave.bmwg.collectives import SIZES, bus_gbytes, collective_cases, swept
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.kpis import SETTING, SOFTWARE
from etherweave.bmwg.model import Case, Cell, Column, Included, ReportTable
from etherweave.bmwg.settings import strategies

OPERATIONS = ("allreduce", "alltoall", "allgather")


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Run every collective at one size; the runs are those of 9.1 to 9.3."""
    counts, sizes, iterations = swept(fabric, full)
    chosen, size = ((128, 512), SIZES[4]) if full else (counts[-1:], sizes[-1])
    return collective_cases(fabric, OPERATIONS, strategies(fabric), chosen, [size], iterations)


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report bus bandwidth of an accelerator, strategies side by side."""
    by_cell: dict[tuple[Cell, ...], dict[Cell, float]] = {}
    for case, result in trials:
        key = tuple(case.labels[axis] for axis in ("collective", "N", "S [B]"))
        values = bus_gbytes(case, result)
        by_cell.setdefault(key, {})[case.labels["strategy"]] = 8 * sum(values) / len(values)
    names = list(strategies(fabric))
    rows = [[*key, *(own.get(name) for name in names)] for key, own in by_cell.items()]
    columns = [
        *(Column(axis, SETTING) for axis in ("collective", "N", "S [B]")),
        *(Column(f"BusBW, {name} [Gb/s]", SOFTWARE) for name in names),
    ]
    return [ReportTable("summary", "Bus bandwidth of an accelerator", columns, rows)]
