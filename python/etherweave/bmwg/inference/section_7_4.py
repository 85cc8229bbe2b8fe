"""Dispatch of experts beside KV cache transfers (inference draft, 7.4)."""

from collections.abc import Sequence

from etherweave.api.results import Result
from etherweave.bmwg.dispatch import MODELS, dispatches_us, exchange, widest
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import percentile
from etherweave.bmwg.kpis import BOUNDARY, SETTING, SOFTWARE, health, rows
from etherweave.bmwg.model import Case, Cell, Column, Included, ReportTable, labelled
from etherweave.bmwg.settings import MIB, too_many
from etherweave.bmwg.traffic import uniform

LOADS = (50, 75)  # Loads of KV transfers [%].
KV, EP, BOTH = "KV alone", "EP alone", "both"
AXES = ("KV load [%]", "traffic")
BATCH = 128


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Run KV transfers at each load, layers of experts, and both."""
    model, count = list(MODELS.values())[1], widest(fabric)
    if missing := too_many(labelled(AXES, LOADS[0], BOTH), count, fabric):
        return [missing]
    layers, span_us = (100, 300_000) if full else (2, 4_000)
    made = []
    for load in LOADS:
        kv = uniform(fabric.hosts, load, 16 * MIB if full else MIB, span_us, name="kv")
        for traffic, run in ((KV, ["kv"]), (EP, ["experts"]), (BOTH, ["kv", "experts"])):
            jobs = [kv, exchange(fabric, count, model, BATCH, layers)]
            labels = labelled(AXES, load, traffic)
            made.append(Case(labels, {"job": jobs, "run": {"jobs": run}}))
    return made


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report P99 of both kinds of traffic, contended over isolated."""
    by_load: dict[Cell, dict[Cell, tuple[Case, Result]]] = {}
    for case, result in trials:
        by_load.setdefault(case.labels[AXES[0]], {})[case.labels[AXES[1]]] = (case, result)
    lines: list[list[Cell]] = []
    for load, runs in by_load.items():
        if len(runs) < 3:
            continue
        kv = [_kv_us(runs[name][1]) for name in (KV, BOTH)]
        ep = [percentile(dispatches_us(runs[name][1]), 99) for name in (EP, BOTH)]
        reported = [value(*runs[BOTH]) for _, value in health(fabric)]
        lines.append([load, *kv, kv[1] / kv[0], *ep, ep[1] / ep[0], *reported])
    columns = [
        Column(AXES[0], SETTING),
        Column("KV alone P99 [us]", BOUNDARY),
        Column("KV beside P99 [us]", BOUNDARY),
        Column("KV factor", BOUNDARY),
        Column("dispatch alone P99 [us]", SOFTWARE),
        Column("dispatch beside P99 [us]", SOFTWARE),
        Column("dispatch factor", SOFTWARE),
        *(column for column, _ in health(fabric)),
    ]
    note = (
        "KV: flows between random hosts at the load; EP: dispatch and combine by normal kernels, "
        "layer by layer."
    )
    return [ReportTable("contention", "Experts beside KV transfers", columns, lines, note)]


def _kv_us(result: Result) -> float:
    flows = rows(result, "streams", "job", "start_ns", "end_ns")
    return percentile(((end - start) / 1e3 for job, start, end in flows if job == "kv"), 99)
