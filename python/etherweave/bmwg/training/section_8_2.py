"""Load balancing by flowlets (training draft, 8.2)."""

from collections.abc import Sequence

from etherweave.bmwg.balancing import balance_cases, balance_table
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.model import Case, Included, ReportTable
from etherweave.bmwg.settings import flowlets

GAPS = ("500ns", "1us", "2us")  # Gap timers: the range that the terminology calls typical.


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Write over four QPs a pair with each gap timer."""
    gaps = (*GAPS, "5us", "10us", "50us") if full else GAPS
    named = {f"flowlets of {gap}": flowlets(fabric, gap) for gap in gaps}
    return balance_cases(fabric, full, named, (4,))


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report utilisation, MMR and JFI of uplinks, and packets out of order."""
    return [balance_table(fabric, trials, "Uplinks with flowlets")]
