"""Dispatch of experts beside KV cache transfers (inference draft, 7.4)."""

from collections.abc import Iterator, Sequence

from etherweave.api.results import Result
from etherweave.bmwg.dispatch import MODELS, dispatches_us, exchange, widest
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import percentile, ratio
from etherweave.bmwg.kpis import BOUNDARY, SETTING, SOFTWARE, health, stream_times_us
from etherweave.bmwg.model import (
    Case,
    Cell,
    Column,
    Included,
    ObservationPoint,
    ReportTable,
    labelled,
)
from etherweave.bmwg.settings import MIB, too_many
from etherweave.bmwg.traffic import uniform

LOADS = (50, 75)  # Loads of KV transfers [%].
KV, EP, BOTH = "KV alone", "EP alone", "both"
AXES = ("KV load [%]", "traffic")
BATCH = 128
PERCENTILES = (50, 99)


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Run KV transfers at each load, layers of experts, and both."""
    model, count = list(MODELS.values())[1], widest(fabric)
    if missing := too_many(labelled(AXES, LOADS[0], BOTH), count, fabric):
        return [missing]
    layers, span_us = (100, 300_000) if full else (10, 20_000)
    made = []
    for load in LOADS:
        kv = uniform(fabric.hosts, load, 16 * MIB if full else MIB, span_us, name="kv")
        for traffic, run in ((KV, ["kv"]), (EP, ["experts"]), (BOTH, ["kv", "experts"])):
            jobs = [kv, exchange(fabric, count, model, BATCH, layers)]
            labels = labelled(AXES, load, traffic)
            made.append(Case(labels, {"job": jobs, "run": {"jobs": run}}))
    return made


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report both kinds of traffic, contended over isolated."""
    by_load: dict[Cell, dict[Cell, tuple[Case, Result]]] = {}
    for case, result in trials:
        by_load.setdefault(case.labels[AXES[0]], {})[case.labels[AXES[1]]] = (case, result)
    lines: list[list[Cell]] = []
    for load, runs in by_load.items():
        if len(runs) < 3:
            continue
        kv = [stream_times_us(runs[name][1], "kv") for name in (KV, BOTH)]
        ep = [dispatches_us(runs[name][1]) for name in (EP, BOTH)]
        reported = [value(*runs[BOTH]) for _, value in health(fabric)]
        lines.append([load, *_factors(kv), *_factors(ep), *reported])
    columns = [
        Column(AXES[0], SETTING),
        *_columns("KV", BOUNDARY),
        *_columns("dispatch", SOFTWARE),
        *(column for column, _ in health(fabric)),
    ]
    note = (
        "KV: flows between random hosts at the load; EP: dispatch and combine by normal kernels, "
        "layer by layer. Factor: beside the other traffic over alone."
    )
    return [ReportTable("contention", "Experts beside KV transfers", columns, lines, note)]


def _factors(pair: Sequence[Sequence[float]]) -> Iterator[float | None]:
    """Return each percentile alone and beside, and one over the other."""
    for percent in PERCENTILES:
        alone, beside = (percentile(times, percent) for times in pair)
        yield from (alone, beside, ratio(beside, alone))


def _columns(traffic: str, point: ObservationPoint) -> Iterator[Column]:
    """Name the columns of :func:`_factors`."""
    for percent in PERCENTILES:
        for title in ("alone P{} [us]", "beside P{} [us]", "factor of P{}"):
            yield Column(f"{traffic} {title.format(percent)}", point)
