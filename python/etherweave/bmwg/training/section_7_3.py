"""Convergence of DCQCN when flows come (training draft, 7.3)."""

from collections.abc import Sequence

from etherweave.bmwg.convergence import convergence_cases, convergence_table
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.model import Case, Included, ReportTable
from etherweave.bmwg.settings import roce

ONSET_US = 1_000


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Let as many flows again come, with DCQCN of the file and with a quicker increase."""
    own = fabric.transport_keys("roce").get("dcqcn", {})
    variants = {
        "DCQCN": roce(fabric, dcqcn=own),
        "DCQCN, rpg_time_reset 50us": roce(fabric, dcqcn={**own, "rpg_time_reset": "50us"}),
        "DCQCN, rpg_ai_rate 100Mb/s": roce(fabric, dcqcn={**own, "rpg_ai_rate": "100Mb/s"}),
    }
    counts, end_us = ((4, 16, 64, 256), 50_000) if full else ((2, 4), 5_000)
    return convergence_cases(fabric, counts, variants, ONSET_US, end_us)


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report the time to within 10 % of the fair share."""
    return [convergence_table(fabric, trials, ONSET_US, 0.1, "Convergence of DCQCN")]
