"""Dispatch of experts (inference draft, 7.1)."""

from collections.abc import Sequence

from etherweave.bmwg.dispatch import AXES, MODELS, dispatch_cases, dispatch_metrics
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.model import Case, Included, Plot, ReportTable, table

COUNTS = (8, 16, 32, 48, 64, 96)
BATCHES = (32, 64, 128, 256)


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Exchange the formula's payload among each number of accelerators for each batch."""
    if full:
        return dispatch_cases(fabric, list(MODELS), COUNTS, BATCHES, 100)
    return dispatch_cases(fabric, list(MODELS), (8, 16, 32), (32, 128), 5)


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report latency and rate over participants and batch."""
    note = (
        "Payload of a pair: batch x k x H x bytes of an element / EP. A token that takes several "
        "experts of a rank is counted for each, which libraries send once."
    )
    title, metrics = "Dispatch of experts", dispatch_metrics(fabric)
    return [table("dispatch", title, AXES, metrics, trials, note=note, plot=Plot(1, 5, (0, 2)))]
