"""Polarisation of ECMP (training draft, 8.1)."""

from collections.abc import Sequence

from etherweave.bmwg.balancing import balance_cases, balance_table
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.model import Case, Included, ReportTable
from etherweave.bmwg.settings import strategies


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Write over each number of QPs a pair, which ECMP hashes apart."""
    streams = (1, 4, 8, 16, 32) if full else (1, 4, 16)
    return balance_cases(fabric, full, strategies(fabric, ["ECMP"]), streams)


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report utilisation, MMR and JFI of uplinks."""
    return [balance_table(fabric, trials, "Uplinks under ECMP")]
