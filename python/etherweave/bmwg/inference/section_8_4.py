"""Pause storms and deadlocks beside KV transfers (inference draft, 8.4)."""

from collections.abc import Sequence

from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.model import Case, Included, ReportTable
from etherweave.bmwg.settings import MIB
from etherweave.bmwg.storm import cycle_cases, storm_cases, storm_table


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Pause a leaf by a broken NIC beside KV transfers, and make waits cyclic by missing links."""
    return [*storm_cases(fabric, 16 * MIB), *cycle_cases(fabric)]


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report whether a storm or a deadlock occurred, and what flows had meanwhile."""
    return [storm_table(fabric, trials)]
