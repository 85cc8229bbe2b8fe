"""The fabric's part of the time between tokens (inference draft, 10.2)."""

from collections.abc import Sequence

from etherweave.api.results import Result
from etherweave.bmwg.dispatch import MODELS, exchange, widest
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.kpis import SETTING, SOFTWARE, latency_cells, latency_columns, rows
from etherweave.bmwg.kv_latency import LEAD_US, SEEDS
from etherweave.bmwg.model import Case, Cell, Column, Included, Plot, ReportTable, labelled
from etherweave.bmwg.settings import KIB, too_many
from etherweave.bmwg.traffic import uniform

LOADS = (0, 50, 90)  # Loads of all hosts by KV transfers [%].
BATCH = 32
AXES = ("model", "EP", "KV load [%]")
STEP_US = 400  # Time of a step without load, about [us].
END_MS = 40  # Time for which steps are taken, with each seed [ms].


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Dispatch and combine again and again, beside KV transfers of each load until the end.

    Transfers begin first and last until the run ends, with each of several seeds.
    """
    steps_us = (100 if full else 1) * END_MS * 1_000
    end_us = LEAD_US + steps_us
    name, model = list(MODELS.items())[1]
    count = widest(fabric)
    if missing := too_many(labelled(AXES, name, count, LOADS[0]), count, fabric):
        return [missing]
    steps = steps_us // STEP_US
    ep = exchange(fabric, count, model, BATCH, steps, "low_latency", start=f"{LEAD_US}us")
    made = []
    for load in LOADS:
        jobs = [ep]
        if load:
            jobs.append(uniform(fabric.hosts, load, 256 * KIB, end_us, background=True))
        changes = {"job": jobs, "run": {"end": f"{end_us}us"}}
        labels = labelled(AXES, name, count, load)
        made += [Case({**labels, "seed": seed}, {**changes, "seed": seed}) for seed in SEEDS]
    return made


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report percentiles of a dispatch and its combine."""
    samples: dict[tuple[Cell, ...], list[float]] = {}
    for case, result in trials:
        key = tuple(case.labels[axis] for axis in AXES)
        samples.setdefault(key, []).extend(_steps_us(result, int(str(case.labels[AXES[1]]))))
    lines: list[list[Cell]] = [
        [*key, len(steps), *latency_cells(steps)] for key, steps in samples.items() if steps
    ]
    columns = [
        *(Column(axis, SETTING) for axis in AXES),
        Column("samples", SOFTWARE),
        *latency_columns(SOFTWARE),
    ]
    note = (
        "ITL_fabric of a layer of experts: a dispatch and a combine by low-latency kernels, of a "
        f"batch of {BATCH}. Computation and layers without experts are not in it. KV transfers "
        f"begin 1 ms before the first step. Samples of {len(SEEDS)} seeds are pooled; percentiles "
        "that they are too few for are left out."
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
