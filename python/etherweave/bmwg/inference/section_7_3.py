"""Wide expert parallelism (inference draft, 7.3)."""

from collections.abc import Sequence

from etherweave.api.results import Result
from etherweave.bmwg import dispatch
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.kpis import SOFTWARE
from etherweave.bmwg.model import Case, Cell, Column, Included, Plot, ReportTable, table

REFERENCE = 16  # Participants that efficiency refers to; 8 are a reference of placement alone.
BATCH = 128


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Dispatch and combine a batch of 128 by normal kernels on each number of accelerators."""
    models = list(dispatch.MODELS) if full else list(dispatch.MODELS)[1:2]
    return dispatch.dispatch_cases(fabric, models, dispatch.COUNTS, [BATCH], 100)


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report latency over participants, and the efficiency of scaling."""
    known = {id(case): value for case, value in dispatch.efficiency(trials, REFERENCE)}

    def scaled(case: Case, _: Result) -> Cell:
        return known[id(case)] if int(str(case.labels["EP"])) >= REFERENCE else None

    metrics = [
        *dispatch.dispatch_metrics(fabric),
        (Column(f"efficiency, EP{REFERENCE} over EP", SOFTWARE), scaled),
    ]
    note = (
        f"Nodes have {dispatch.NODE} accelerators, those of a fabric with fewer than "
        f"{2 * dispatch.NODE} hosts one; a node alone sends nothing over the fabric. Links of a "
        f"node have 1,224 Gb/s for each accelerator, an input. {dispatch.EXCHANGED}"
    )
    title, plot = "Wide expert parallelism", Plot(1, 6, (0,))
    return [table("wide", title, dispatch.AXES, metrics, trials, note=note, plot=plot)]
