"""Dispatch of experts, alone and beside KV cache transfers (inference draft, chapter 7)."""

from collections.abc import Iterator, Sequence

from etherweave.api.results import Result
from etherweave.bmwg import dispatch
from etherweave.bmwg.dispatch import MODELS, dispatches_us, exchange, widest
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import percentile, ratio
from etherweave.bmwg.kpis import BOUNDARY, SETTING, SOFTWARE, health, stream_times_us
from etherweave.bmwg.model import (
    BenchTest,
    Case,
    Cell,
    Included,
    Plot,
    ReportTable,
    labelled,
    table,
)
from etherweave.bmwg.settings import MIB, sized
from etherweave.bmwg.traffic import uniform

BATCHES = (32, 64, 128, 256)
MODES = {"normal": (128, 256, 512), "low latency": (1, 4, 16)}
"""Tokens of a rank in each mode (I appendix E)."""
MODE_AXES = ("mode", "model", "EP", "batch")
REFERENCE = 16  # Participants that efficiency refers to; 8 are a reference of placement alone.
BATCH = 128
LOADS = (50, 75)  # Loads of KV transfers [%].
KV, EP, BOTH = "KV alone", "EP alone", "both"
LOAD_AXES = ("KV load [%]", "traffic")
PERCENTILES = (50, 99)


def _dispatch_cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Dispatch and combine by normal kernels on each number of accelerators, for each batch."""
    models = list(MODELS)
    if full:
        return dispatch.dispatch_cases(fabric, models, dispatch.COUNTS, BATCHES, 100)
    return dispatch.dispatch_cases(fabric, models, (8, 16, 32), (32, 128), 10)


def _dispatch_tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report latency and rate over participants and batch."""
    title, metrics = "Dispatch of experts", dispatch.dispatch_metrics(fabric)
    plot, note = Plot(1, 6, (0, 2)), dispatch.EXCHANGED
    return [table("dispatch", title, dispatch.AXES, metrics, trials, note=note, plot=plot)]


def _mode_cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Dispatch and combine the tokens of each mode by its kernels, to experts alike."""
    models = list(MODELS) if full else list(MODELS)[1:2]
    count, layers = widest(fabric), 100 if full else 10
    return [
        sized(
            *(fabric, count, labelled(MODE_AXES, mode, name, count, batch)),
            {"job": [exchange(fabric, count, MODELS[name], batch, layers, mode.replace(" ", "_"))]},
        )
        for mode, batches in MODES.items()
        for name in models
        for batch in (batches if full else (batches[0], batches[-1]))
    ]


def _mode_tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report latency and rate, a table for each mode."""
    note = (
        "Experts are chosen alike (top-k without imbalance). Queue pairs of a pair of ranks are "
        "DeepEP's: ten of normal kernels, the experts of a rank with low latency. "
        f"{dispatch.EXCHANGED}"
    )
    of, plot = (MODE_AXES, dispatch.dispatch_metrics(fabric)), Plot(3, 7, (1,))
    runs = {mode: [pair for pair in trials if pair[0].labels["mode"] == mode] for mode in MODES}
    return [
        table(mode.replace(" ", "-"), f"Dispatch, {mode}", *of, own, note=note, plot=plot)
        for mode, own in runs.items()
        if own
    ]


def _wide_cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Dispatch and combine a batch of 128 by normal kernels on each number of accelerators."""
    models = list(MODELS) if full else list(MODELS)[1:2]
    return dispatch.dispatch_cases(fabric, models, dispatch.COUNTS, [BATCH], 100)


def _wide_tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report latency over participants, and the efficiency of scaling."""
    known = {id(case): value for case, value in dispatch.efficiency(trials, REFERENCE)}

    def scaled(case: Case, _: Result) -> Cell:
        return known[id(case)] if int(str(case.labels["EP"])) >= REFERENCE else None

    metrics = [
        *dispatch.dispatch_metrics(fabric),
        SOFTWARE.case_metric(f"efficiency, EP{REFERENCE} over EP", scaled),
    ]
    note = (
        f"Nodes have {dispatch.NODE} accelerators, those of a fabric with fewer than "
        f"{2 * dispatch.NODE} hosts one; a node alone sends nothing over the fabric. Links of a "
        f"node have 1,224 Gb/s for each accelerator, an input. {dispatch.EXCHANGED}"
    )
    title, plot = "Wide expert parallelism", Plot(1, 6, (0,))
    return [table("wide", title, dispatch.AXES, metrics, trials, note=note, plot=plot)]


def _contention_cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Run KV transfers at each load, layers of experts, and both."""
    model, count = list(MODELS.values())[1], widest(fabric)
    if count > fabric.hosts:
        return [sized(fabric, count, labelled(LOAD_AXES, LOADS[0], BOTH), {})]
    layers, span_us = (100, 300_000) if full else (10, 20_000)
    made = []
    for load in LOADS:
        kv = uniform(fabric.hosts, load, 16 * MIB if full else MIB, span_us, name="kv")
        jobs = [kv, exchange(fabric, count, model, BATCH, layers)]
        for traffic, run in ((KV, ["kv"]), (EP, ["experts"]), (BOTH, ["kv", "experts"])):
            labels = labelled(LOAD_AXES, load, traffic)
            made.append(Case(labels, {"job": jobs, "run": {"jobs": run}}))
    return made


def _contention_tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report both kinds of traffic, contended over isolated."""
    by_load: dict[Cell, dict[Cell, tuple[Case, Result]]] = {}
    for case, result in trials:
        load, traffic = (case.labels[axis] for axis in LOAD_AXES)
        by_load.setdefault(load, {})[traffic] = (case, result)
    lines: list[list[Cell]] = []
    for load, runs in by_load.items():
        if len(runs) < 3:
            continue
        kv = [stream_times_us(runs[name][1], "kv") for name in (KV, BOTH)]
        ep = [dispatches_us(runs[name][1]) for name in (EP, BOTH)]
        reported = [value(*runs[BOTH]) for _, value in health(fabric)]
        lines.append([load, *_factors(kv), *_factors(ep), *reported])
    titles = [
        title.format(percent)
        for percent in PERCENTILES
        for title in ("alone P{} [us]", "beside P{} [us]", "factor of P{}")
    ]
    columns = [
        *SETTING.columns(LOAD_AXES[0]),
        *BOUNDARY.columns(*(f"KV {title}" for title in titles)),
        *SOFTWARE.columns(*(f"dispatch {title}" for title in titles)),
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


TESTS = {
    "7.1": BenchTest(_dispatch_cases, _dispatch_tables),
    "7.2": BenchTest(_mode_cases, _mode_tables),
    "7.3": BenchTest(_wide_cases, _wide_tables),
    "7.4": BenchTest(_contention_cases, _contention_tables),
}
