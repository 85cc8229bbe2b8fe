"""Wide expert parallelism (inference draft, 7.3)."""

from collections.abc import Sequence

from etherweave.api.results import Result
from etherweave.bmwg.dispatch import AXES, MODELS, dispatch_cases, dispatch_metrics, efficiency
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.kpis import SOFTWARE
from etherweave.bmwg.model import Case, Cell, Column, Included, Plot, ReportTable, table

COUNTS = (8, 16, 32, 48, 64, 96)
REFERENCE = 16  # Participants that efficiency refers to; 8 are a reference of placement alone.
BATCH = 128


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Exchange a batch of 128 among each number of accelerators."""
    models, iterations = (list(MODELS), 100) if full else (list(MODELS)[1:2], 5)
    return dispatch_cases(fabric, models, COUNTS, [BATCH], iterations)


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report latency over participants, and the efficiency of scaling."""
    known = {id(case): value for case, value in efficiency(trials, REFERENCE)}

    def scaled(case: Case, _: Result) -> Cell:
        return known[id(case)] if int(str(case.labels["EP"])) >= REFERENCE else None

    metrics = [
        *dispatch_metrics(fabric),
        (Column(f"efficiency, EP{REFERENCE} over EP", SOFTWARE), scaled),
    ]
    note = (
        "Every accelerator is a host with a NIC, so that all traffic is between nodes: no part is "
        "within one."
    )
    title = "Wide expert parallelism"
    return [table("wide", title, AXES, metrics, trials, note=note, plot=Plot(1, 5, (0,)))]
