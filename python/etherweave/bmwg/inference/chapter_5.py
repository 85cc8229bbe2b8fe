"""Transfers of KV caches: throughput, latency, concurrency (inference draft, chapter 5)."""

from collections.abc import Sequence

from etherweave.api.results import Result
from etherweave.bmwg import kpis, model
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import fairness, percentile
from etherweave.bmwg.kv_latency import AXES, SEEDS, kv_latency_cases, pooled
from etherweave.bmwg.settings import GIB, KIB, MIB, sized, window
from etherweave.bmwg.traffic import named, write

SIZES = (64 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB, GIB)
STREAMS = (1, 4, 8, 16, 32, 64, 128)
LOADS = (0, 25, 50, 75, 90)  # Loads of all hosts by background flows [%].
P50, P99 = kpis.LATENCY_TITLES.index("P50"), kpis.LATENCY_TITLES.index("P99")
PAIRS = (1, 2, 4, 8, 16, 32, 64, 128)


def _throughput_cases(fabric: BenchFabric, full: bool) -> Sequence[model.Case]:
    """Put messages of each size from a prefill to a decode host over each number of QPs."""
    source, sink = fabric.pairs()[0]
    sizes, streams = (SIZES, STREAMS) if full else ((64 * KIB, MIB, 16 * MIB), (1, 8, 32))
    return [
        model.Case(
            model.labelled(("message [B]", "QPs"), size, count),
            {"job": [write(source, sink, size, count)], **window(full, 200, 1_000)},
        )
        for size in sizes
        for count in streams
    ]


def _throughput_tables(fabric: BenchFabric, trials: model.Included) -> Sequence[model.ReportTable]:
    """Report goodput over size, a line for each number of QPs."""
    metrics = [
        kpis.BOUNDARY.metric("goodput [GB/s]", lambda run: sum(kpis.stream_rates(run)) / 8),
        kpis.BOUNDARY.metric(
            "of line rate [%]", lambda run: 100 * sum(kpis.stream_rates(run)) / fabric.rate_gbps
        ),
        *kpis.health(fabric),
    ]
    title, axes = "KV transfers of a pair", ("message [B]", "QPs")
    return [model.table("kv-throughput", title, axes, metrics, trials, plot=model.Plot(0, 2, (1,)))]


def _latency_cases(fabric: BenchFabric, full: bool) -> Sequence[model.Case]:
    """Transfer messages of each size one after the other, beside flows of each load."""
    sizes = (64 * KIB, MIB, 16 * MIB, 256 * MIB) if full else (64 * KIB, 256 * KIB)
    return kv_latency_cases(fabric, sizes, LOADS, 1_000 if full else 50)


def _latency_tables(_: BenchFabric, trials: model.Included) -> Sequence[model.ReportTable]:
    """Report percentiles from the post at prefill to the completion at decode."""
    lines: list[list[model.Cell]] = []
    for own in pooled(trials):
        cells = kpis.latency_cells(own.times)
        middle, tail = cells[P50], cells[P99]
        spread = None if middle is None or tail is None else tail - middle
        lines.append([*own.labels, len(own.times), *cells, spread])
    columns = [
        *kpis.SETTING.columns(*AXES),
        *kpis.SOFTWARE.columns("samples"),
        *kpis.latency_columns(kpis.SOFTWARE),
        *kpis.SOFTWARE.columns("P99 - P50 [us]"),
    ]
    note = (
        "Clock: from the post of the transfer to its completion at the receiver; transfers go to "
        "and fro. Background: flows of 256 KiB between random hosts, as a share of the line rate, "
        f"from 1 ms before the first transfer to the end of the run. Samples of {len(SEEDS)} seeds "
        "are pooled; a percentile above which no sample can be is left out."
    )
    title = "KV latency beside background"
    return [model.ReportTable("kv-latency", title, columns, lines, note, model.Plot(1, 7, (0,)))]


def _concurrency_cases(fabric: BenchFabric, full: bool) -> Sequence[model.Case]:
    """Transfer 16 MiB again and again between each number of pairs of hosts, over the leaves."""
    pairs = fabric.pairs()

    def changes(count: int) -> dict[str, object]:
        chosen = [pairs[at * len(pairs) // count] for at in range(count)]
        jobs = named([write(source, sink, 16 * MIB) for source, sink in chosen])
        return {"job": jobs, **window(full, 200, 1_000)}

    return [
        sized(fabric, 2 * count, {"pairs": count}, changes(count))
        for count in (PAIRS if full else PAIRS[:5])
    ]


def _concurrency_tables(fabric: BenchFabric, trials: model.Included) -> Sequence[model.ReportTable]:
    """Report goodput of all pairs and of each, and fairness among them."""

    def pair(result: Result, percent: float) -> float | None:
        return percentile((rate / 8 for rate in kpis.stream_rates(result)), percent)

    metrics = [
        kpis.BOUNDARY.metric("goodput [GB/s]", lambda run: sum(kpis.stream_rates(run)) / 8),
        kpis.BOUNDARY.metric("pair, least [GB/s]", lambda run: min(kpis.stream_rates(run)) / 8),
        kpis.BOUNDARY.metric("pair, P50 [GB/s]", lambda run: pair(run, 50)),
        kpis.BOUNDARY.metric("pair, P1 [GB/s]", lambda run: pair(run, 1)),
        kpis.BOUNDARY.metric("JFI of pairs", lambda run: fairness(kpis.stream_rates(run))),
        kpis.uplinks_max(fabric),
        *kpis.health(fabric),
    ]
    title, note = "Concurrent KV transfers", "P1: what 99 % of the pairs exceed."
    return [
        model.table(
            "concurrency", title, ("pairs",), metrics, trials, note=note, plot=model.Plot(0, 1)
        )
    ]


TESTS = {
    "5.1": model.BenchTest(_throughput_cases, _throughput_tables),
    "5.2": model.BenchTest(_latency_cases, _latency_tables),
    "5.3": model.BenchTest(_concurrency_cases, _concurrency_tables),
}
