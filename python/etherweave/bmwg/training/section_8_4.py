"""Fairness of links for every strategy, as one number (training draft, 8.4)."""

from collections.abc import Sequence

from etherweave.api.results import Result
from etherweave.bmwg.balancing import balance_cases
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import fairness
from etherweave.bmwg.kpis import REPORTED, uplink_bytes
from etherweave.bmwg.model import Case, Column, Included, Plot, ReportTable, table
from etherweave.bmwg.settings import strategies


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Write over four QPs a pair with every strategy."""
    return balance_cases(fabric, full, strategies(fabric), (4,))


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report JFI of transmitted bytes over all uplinks of leaves."""

    def links(_: Case, result: Result) -> float:
        return fairness([float(size) for size in uplink_bytes(fabric, result)])

    metric = (Column("JFI of uplinks", REPORTED), links)
    plot = Plot(0, 1, is_bars=True)
    title = "Fairness of uplinks by strategy"
    return [table("fairness", title, ["strategy"], [metric], trials, plot=plot)]
