"""The fabric's part of the time between tokens (inference draft, 10.2)."""

from collections.abc import Sequence

from etherweave.api.results import Result
from etherweave.bmwg.dispatch import MODELS, exchange, widest
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.kpis import SETTING, SOFTWARE, latency_cells, latency_columns, rows
from etherweave.bmwg.model import Case, Cell, Column, Included, Plot, ReportTable, labelled
from etherweave.bmwg.settings import KIB, too_many
from etherweave.bmwg.traffic import uniform

LOADS = (0, 50, 90)  # Loads of all hosts by KV transfers [%].
BATCH = 32
AXES = ("model", "EP", "KV load [%]")
STEP_US = 400  # Time of a step without load, about [us].
END_MS = 20  # Time for which steps are taken [ms].


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Dispatch and combine again and again, beside KV transfers of each load until the end."""
    end_us = (100 if full else 1) * END_MS * 1_000
    name, model = list(MODELS.items())[1]
    count = widest(fabric)
    if missing := too_many(labelled(AXES, name, count, LOADS[0]), count, fabric):
        return [missing]
    ep = exchange(fabric, count, model, BATCH, end_us // STEP_US, "low_latency")
    made = []
    for load in LOADS:
        jobs = [ep]
        if load:
            jobs.append(uniform(fabric.hosts, load, 256 * KIB, end_us, background=True))
        changes = {"job": jobs, "run": {"end": f"{end_us}us"}}
        made.append(Case(labelled(AXES, name, count, load), changes))
    return made


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report percentiles of a dispatch and its combine."""
    lines: list[list[Cell]] = []
    for case, result in trials:
        steps = _steps_us(result, int(str(case.labels[AXES[1]])))
        lines.append([*case.labels.values(), len(steps), *latency_cells(steps)])
    columns = [
        *(Column(axis, SETTING) for axis in AXES),
        Column("samples", SOFTWARE),
        *latency_columns(SOFTWARE),
    ]
    note = (
        "ITL_fabric of a layer of experts: a dispatch and a combine by low-latency kernels, of a "
        f"batch of {BATCH}. Computation and layers without experts are not in it."
    )
    title = "Round trip of experts"
    return [ReportTable("itl-fabric", title, columns, lines, note, Plot(2, 8))]


def _steps_us(result: Result, ranks: int) -> list[float]:
    """Read the time of each step that all ranks have ended, until the last of them [us]."""
    times: dict[int, list[float]] = {}
    for job, number, duration in rows(result, "iterations", "job", "iteration", "duration_ns"):
        if job == "experts":
            times.setdefault(number, []).append(duration / 1e3)
    ended = [max(own) for _, own in sorted(times.items()) if len(own) == ranks]
    return [sum(ended[at : at + 2]) for at in range(0, len(ended) - 1, 2)]
