"""Scale, and failures beside KV cache transfers (inference draft, chapter 12)."""

from collections.abc import Sequence
from statistics import fmean

from etherweave.bmwg import failures
from etherweave.bmwg.dispatch import MODELS, dispatches_us, exchange
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import percentile, ratio
from etherweave.bmwg.kpis import BOUNDARY, SETTING, SOFTWARE, stream_rates, stream_times_us
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
from etherweave.bmwg.settings import KIB, MIB, Changes, sized, window
from etherweave.bmwg.traffic import named, uniform, write

COUNTS = tuple(16 << doubling for doubling in range(10))
"""Accelerators: two nodes of eight, doubled up to 8,192."""
KV, EP = "KV", "EP"
SCALE_AXES = ("traffic", "accelerators")
BATCH = 128
DEPARTURE = 0.1  # Departure from the base at which the draft reports a point.
LOAD = 80  # Load of all hosts by KV transfers [%].


def _scale_cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Transfer KV caches between halves, and dispatch, for each number of accelerators."""
    model, pairs = list(MODELS.values())[1], fabric.pairs()

    def changes(traffic: str, count: int) -> Changes:
        if traffic == EP:
            return {"job": [exchange(fabric, count, model, BATCH, 100 if full else 10)]}
        chosen = [pairs[at * len(pairs) // (count // 2)] for at in range(count // 2)]
        jobs = named([write(source, sink, 16 * MIB) for source, sink in chosen])
        return {"job": jobs, **window(full)}

    return [
        sized(fabric, count, labelled(SCALE_AXES, traffic, count), changes(traffic, count))
        for count in (COUNTS if full else COUNTS[:3])
        for traffic in (KV, EP)
    ]


def _scale_tables(_: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report goodput of a pair and time of a dispatch over accelerators, and over the base."""
    bases: dict[Cell, float | None] = {}
    lines: list[list[Cell]] = []
    for case, result in trials:
        traffic, count = (case.labels[axis] for axis in SCALE_AXES)
        value = (
            fmean(stream_rates(result)) / 8
            if traffic == KV
            else percentile(dispatches_us(result), 50)
        )
        share = ratio(value, bases.setdefault(traffic, value))
        kv, ep = (value, None) if traffic == KV else (None, value)
        verdict = "report" if share is not None and abs(share - 1) > DEPARTURE else ""
        lines.append([traffic, count, kv, ep, share, verdict])
    columns = [
        *SETTING.columns(*SCALE_AXES),
        *BOUNDARY.columns("KV of a pair, mean [GB/s]"),
        *SOFTWARE.columns("dispatch P50 [us]", "over base", f"more than {DEPARTURE:.0%} off"),
    ]
    note = "Base: the fewest accelerators. Tables and convergence of control planes are not in it."
    return [ReportTable("scale", "Scale", columns, lines, note, Plot(1, 4, (0,)))]


def _failure_cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Fail an uplink and a switch beside KV transfers at 80 % of the line rate."""
    size, span_us = (16 * MIB, 100_000) if full else (256 * KIB, 1_000)
    return failures.failure_cases(fabric, uniform(fabric.hosts, LOAD, size, span_us))


def _failure_tables(_: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report loss, recovery and the time of transfers."""
    metrics = [
        *failures.loss_metrics(),
        *failures.transfers(),
        BOUNDARY.metric("slowest transfer [us]", lambda run: max(stream_times_us(run))),
    ]
    note = (
        f"The failure comes after {failures.AT_US} us and stays; tables follow after the "
        "convergence input. Loss duration and recovery count from the failure. "
        f"{failures.RESENT_NOTE}"
    )
    plot = Plot(0, 7, (1,), is_bars=True)
    return [table("failures", "KV transfers", failures.AXES, metrics, trials, note=note, plot=plot)]


TESTS = {
    "12.1": BenchTest(_scale_cases, _scale_tables),
    "12.3": BenchTest(_failure_cases, _failure_tables),
}
