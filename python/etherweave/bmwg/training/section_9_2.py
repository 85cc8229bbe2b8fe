"""Bus bandwidth of all-to-all (training draft, 9.2)."""

from collections.abc import Sequence

from etherweave.bmwg import collectives
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.kpis import SETTING, SOFTWARE
from etherweave.bmwg.model import Case, Column, Included, ReportTable
from etherweave.bmwg.settings import strategies


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Sweep participants and sizes under every strategy."""
    return collectives.collective_cases(
        fabric, ["alltoall"], strategies(fabric), *collectives.swept(fabric, full)
    )


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report bus bandwidth over participants, and every strategy over ECMP."""
    columns = [
        *(Column(axis, SETTING) for axis in ("N", "S [B]", "strategy")),
        Column("BusBW over ECMP's", SOFTWARE),
    ]
    rows = collectives.degradation(trials)
    own = [collectives.iteration_metric(50), collectives.iteration_metric(99)]
    return [
        collectives.collective_table(fabric, trials, "alltoall", "All-to-all", own),
        ReportTable("alltoall-over-ecmp", "All-to-all over that of ECMP", columns, rows),
    ]
