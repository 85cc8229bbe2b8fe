"""Dispatch of experts beside KV cache transfers (inference draft, 7.4)."""

from collections.abc import Sequence

from etherweave.api.results import Result
from etherweave.bmwg.dispatch import MODELS, dispatch_job, pair_bytes
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import percentile
from etherweave.bmwg.kpis import BOUNDARY, SETTING, SOFTWARE, health, iterations_us, rows
from etherweave.bmwg.model import Case, Cell, Column, Included, ReportTable, labelled
from etherweave.bmwg.settings import MIB
from etherweave.bmwg.traffic import uniform

LOADS = (50, 75)  # Loads of KV transfers [%].
KV, EP, BOTH = "KV alone", "EP alone", "both"
AXES = ("KV load [%]", "traffic")
BATCH = 128


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Run KV transfers at each load, dispatches of a layer each, and both."""
    model = list(MODELS.values())[1]
    hosts = range(fabric.hosts)
    iterations, span_us = (1_000, 100_000) if full else (5, 500)
    pair = pair_bytes(model, fabric.hosts, BATCH)
    made = []
    for load in LOADS:
        kv = uniform(fabric.hosts, load, 16 * MIB if full else MIB, span_us, name="kv")
        for traffic, run in ((KV, ["kv"]), (EP, ["ep"]), (BOTH, ["kv", "ep"])):
            jobs = [kv, dispatch_job(hosts, pair, iterations, name="ep")]
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
        ep = [percentile(iterations_us(runs[name][1], "ep"), 99) for name in (EP, BOTH)]
        reported = [value(*runs[BOTH]) for _, value in health(fabric)]
        lines.append([load, *kv, kv[1] / kv[0], *ep, ep[1] / ep[0], *reported])
    columns = [
        Column(AXES[0], SETTING),
        Column("KV alone P99 [us]", BOUNDARY),
        Column("KV beside P99 [us]", BOUNDARY),
        Column("KV factor", BOUNDARY),
        Column("EP alone P99 [us]", SOFTWARE),
        Column("EP beside P99 [us]", SOFTWARE),
        Column("EP factor", SOFTWARE),
        *(column for column, _ in health(fabric)),
    ]
    note = "KV: flows between random hosts at the load; EP: an all-to-all for every layer."
    return [ReportTable("contention", "Experts beside KV transfers", columns, lines, note)]


def _kv_us(result: Result) -> float:
    flows = rows(result, "streams", "job", "start_ns", "end_ns")
    return percentile(((end - start) / 1e3 for job, start, end in flows if job == "kv"), 99)
