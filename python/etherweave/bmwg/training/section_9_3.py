"""Bus bandwidth of all-gather, and its ratio to that of all-reduce (training draft, 9.3)."""

from collections.abc import Sequence

from etherweave.bmwg import collectives
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.kpis import SETTING, SOFTWARE
from etherweave.bmwg.model import Case, Cell, Column, Included, ReportTable
from etherweave.bmwg.settings import strategies

KEY = ("strategy", "N", "S [B]")


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Sweep participants and sizes under every strategy; all-reduces are those of 9.1."""
    operations = ["allgather", "allreduce"]
    return collectives.collective_cases(
        fabric, operations, strategies(fabric), *collectives.swept(fabric, full)
    )


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report bus bandwidth over participants, and the ratio to all-reduce."""
    means: dict[tuple[Cell, ...], dict[Cell, float]] = {}
    for case, result in trials:
        own = means.setdefault(tuple(case.labels[axis] for axis in KEY), {})
        values = collectives.bus_gbytes(case, result)
        own[case.labels["collective"]] = sum(values) / len(values)
    rows = [[*key, of["allgather"] / of["allreduce"]] for key, of in means.items() if len(of) == 2]
    columns = [
        *(Column(axis, SETTING) for axis in KEY),
        Column("BusBW of all-gather over all-reduce", SOFTWARE),
    ]
    gathers = [pair for pair in trials if pair[0].labels["collective"] == "allgather"]
    times = [collectives.iteration_metric(50), collectives.iteration_metric(99)]
    return [
        collectives.collective_table(fabric, gathers, "allgather", "All-gather", times),
        ReportTable("allgather-over-allreduce", "All-gather over all-reduce", columns, rows),
    ]
