"""Failure of links and switches (training draft, 11.2)."""

from collections.abc import Sequence

from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.failures import all_reduce_cases, failure_table
from etherweave.bmwg.model import Case, Included, ReportTable


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Fail an uplink and a switch during all-reduces."""
    return all_reduce_cases(fabric, full)


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report loss, recovery and the slowest iteration."""
    return [failure_table(trials)]
