"""Bus bandwidth of all-reduce (training draft, 9.1)."""

from collections.abc import Sequence

from etherweave.bmwg.collectives import collective_cases, collective_table, swept
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.model import Case, Included, ReportTable
from etherweave.bmwg.settings import strategies


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Sweep participants and sizes under every strategy."""
    return collective_cases(fabric, ["allreduce"], strategies(fabric), *swept(fabric, full))


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report bus bandwidth over participants."""
    return [collective_table(fabric, trials, "allreduce", "All-reduce")]
