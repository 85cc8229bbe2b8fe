"""Congestion control at both ends under incast, and DCQCN (training draft, 6.4)."""

from collections.abc import Mapping, Sequence

from etherweave.bmwg.convergence import convergence_cases, convergence_table
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.model import Case, Included, ReportTable
from etherweave.bmwg.settings import Changes, roce, uet

ONSET_US = 1_000
NO_PAUSES: Changes = {"flow_control": {"none": {}}}


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Send from N hosts to one, and from N more, by each congestion control."""
    own = fabric.transport_keys("roce").get("dcqcn", {})
    variants: Mapping[str, Changes] = {
        "RC, DCQCN": roce(fabric, dcqcn=own),
        "RUD, NSCC": uet(fabric, nscc={}),
        "RUD, NSCC, no PFC": {**uet(fabric, nscc={}), **NO_PAUSES},
        "RUD, NSCC and RCCC, no PFC": {**uet(fabric, nscc={}, rccc={}), **NO_PAUSES},
    }
    counts, end_us = ((2, 4, 8, 16, 32, 64), 20_000) if full else ((2, 8), 3_000)
    return convergence_cases(fabric, counts, variants, ONSET_US, end_us)


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report convergence, queues, pauses and drops side by side."""
    title = "Incast by congestion control"
    return [convergence_table(fabric, trials, ONSET_US, 0.1, title)]
