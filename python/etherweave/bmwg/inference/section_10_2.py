"""The fabric's part of the time between tokens (inference draft, 10.2)."""

from collections.abc import Sequence

from etherweave.api.results import Result
from etherweave.bmwg.dispatch import MODELS, dispatch_job, pair_bytes
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.kpis import SETTING, SOFTWARE, iterations_us, latency_cells, latency_columns
from etherweave.bmwg.model import Case, Cell, Column, Included, Plot, ReportTable, labelled
from etherweave.bmwg.settings import KIB
from etherweave.bmwg.traffic import uniform

LOADS = (0, 50, 90)  # Loads of all hosts by KV transfers [%].
BATCH = 32
AXES = ("model", "EP", "KV load [%]")
STEP_US = 400  # Time of a dispatch and a combine for which KV transfers come at least [us].


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Dispatch and combine again and again, beside KV transfers of each load."""
    steps = 1_000 if full else 10
    name, model = list(MODELS.items())[1]
    ep = dispatch_job(
        range(fabric.hosts), pair_bytes(model, fabric.hosts, BATCH), 2 * steps, name="ep"
    )
    made = []
    for load in LOADS:
        jobs = [ep]
        if load:
            span_us = steps * STEP_US
            jobs.append(uniform(fabric.hosts, load, 256 * KIB, span_us, background=True))
        made.append(Case(labelled(AXES, name, fabric.hosts, load), {"job": jobs}))
    return made


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report percentiles of a dispatch and its combine."""
    lines: list[list[Cell]] = []
    for case, result in trials:
        steps = _steps_us(result)
        lines.append([*case.labels.values(), len(steps), *latency_cells(steps)])
    columns = [
        *(Column(axis, SETTING) for axis in AXES),
        Column("samples", SOFTWARE),
        *latency_columns(SOFTWARE),
    ]
    note = (
        "ITL_fabric of a layer of experts: a dispatch and a combine, each an all-to-all of the "
        f"payload of a batch of {BATCH}. Computation and layers without experts are not in it."
    )
    title = "Round trip of experts"
    return [ReportTable("itl-fabric", title, columns, lines, note, Plot(2, 8))]


def _steps_us(result: Result) -> list[float]:
    times = iterations_us(result, "ep")
    return [sum(times[at : at + 2]) for at in range(0, len(times) - 1, 2)]
