"""Dispatch of experts (inference draft, 7.1)."""

from collections.abc import Sequence

from etherweave.bmwg import dispatch
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.model import Case, Included, Plot, ReportTable, table

BATCHES = (32, 64, 128, 256)


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Dispatch and combine by normal kernels on each number of accelerators, for each batch."""
    models = list(dispatch.MODELS)
    if full:
        return dispatch.dispatch_cases(fabric, models, dispatch.COUNTS, BATCHES, 100)
    return dispatch.dispatch_cases(fabric, models, (8, 16, 32), (32, 128), 10)


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report latency and rate over participants and batch."""
    title, metrics = "Dispatch of experts", dispatch.dispatch_metrics(fabric)
    plot, note = Plot(1, 6, (0, 2)), dispatch.EXCHANGED
    return [table("dispatch", title, dispatch.AXES, metrics, trials, note=note, plot=plot)]
