"""Bus bandwidth of all-to-all (training draft, 9.2)."""

from collections.abc import Sequence

from etherweave.bmwg.collectives import (
    collective_cases,
    collective_table,
    degradation,
    iteration_metric,
    swept,
)
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.kpis import SETTING, SOFTWARE
from etherweave.bmwg.model import Case, Column, Included, ReportTable
from etherweave.bmwg.settings import strategies


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Sweep participants and sizes under every strategy."""
    return collective_cases(fabric, ["alltoall"], strategies(fabric), *swept(fabric, full))


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report bus bandwidth over participants, and every strategy over ECMP."""
    columns = [
        *(Column(axis, SETTING) for axis in ("N", "S [B]", "strategy")),
        Column("BusBW over ECMP's", SOFTWARE),
    ]
    rows = degradation(trials)
    own = [iteration_metric(50), iteration_metric(99)]
    return [
        collective_table(fabric, trials, "alltoall", "All-to-all", own),
        ReportTable("alltoall-over-ecmp", "All-to-all over that of ECMP", columns, rows),
    ]
