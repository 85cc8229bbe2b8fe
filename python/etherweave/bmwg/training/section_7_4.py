"""Absence of deadlocks and pause storms (training draft, 7.4)."""

from collections.abc import Sequence

from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.model import Case, Included, ReportTable
from etherweave.bmwg.storm import cycle_cases, storm_cases, storm_table


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Pause a leaf by a broken NIC, and make waits cyclic by missing links."""
    return [*storm_cases(fabric), *cycle_cases(fabric)]


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report whether a storm or a deadlock occurred, and what ended it."""
    return [storm_table(fabric, trials)]
