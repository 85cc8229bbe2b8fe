"""Packet spraying (training draft, 8.3)."""

from collections.abc import Sequence

from etherweave.bmwg.balancing import balance_cases, balance_table
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.model import Case, Included, ReportTable
from etherweave.bmwg.settings import strategies


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Write over each number of QPs a pair, whose packets take any uplink."""
    streams = (1, 4, 8, 16, 32) if full else (1, 4)
    return balance_cases(fabric, full, strategies(fabric, ["spray"]), streams)


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report utilisation, MMR and JFI of uplinks, packets out of order and sent again."""
    return [balance_table(fabric, trials, "Uplinks with packet spraying")]
