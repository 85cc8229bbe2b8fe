"""Concurrent KV cache transfers (inference draft, 5.3)."""

from collections.abc import Sequence

from etherweave.api.results import Result
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import fairness, percentile
from etherweave.bmwg.kpis import BOUNDARY, REPORTED, health, stream_rates, uplink_shares
from etherweave.bmwg.model import Case, Column, Included, Metric, Plot, ReportTable, table
from etherweave.bmwg.settings import MIB, too_many, window
from etherweave.bmwg.traffic import named, write

PAIRS = (1, 2, 4, 8, 16, 32, 64, 128)
MESSAGE = 16 * MIB
AXES = ("pairs",)


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Transfer 16 MiB again and again between each number of pairs of hosts."""
    pairs, made = fabric.pairs(), []
    for count in PAIRS if full else PAIRS[:5]:
        labels = {"pairs": count}
        if missing := too_many(labels, 2 * count, fabric):
            made.append(missing)
            continue
        # Pairs are spread over the leaves.
        chosen = [pairs[at * len(pairs) // count] for at in range(count)]
        jobs = named([write(source, sink, MESSAGE) for source, sink in chosen])
        made.append(Case(labels, {"job": jobs, **window(full, 200, 1_000)}))
    return made


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report goodput, that of pairs, and fairness over concurrency."""
    note = "P1: what 99 % of the pairs exceed."
    title, metrics = "Concurrent KV transfers", rate_metrics(fabric)
    return [table("concurrency", title, AXES, metrics, trials, note=note, plot=Plot(0, 1))]


def rate_metrics(fabric: BenchFabric) -> list[Metric]:
    """Return goodput of all pairs and of each, and fairness among them."""
    return [
        (Column("goodput [GB/s]", BOUNDARY), lambda _, run: sum(stream_rates(run)) / 8),
        (Column("pair, least [GB/s]", BOUNDARY), lambda _, run: min(stream_rates(run)) / 8),
        (Column("pair, P50 [GB/s]", BOUNDARY), lambda _, run: _pair(run, 50)),
        (Column("pair, P1 [GB/s]", BOUNDARY), lambda _, run: _pair(run, 1)),
        (Column("JFI of pairs", BOUNDARY), lambda _, run: fairness(stream_rates(run))),
        (
            Column("uplinks, most [%]", REPORTED),
            lambda _, run: max(uplink_shares(fabric, run), default=None),
        ),
        *health(fabric),
    ]


def _pair(result: Result, percent: float) -> float | None:
    return percentile((rate / 8 for rate in stream_rates(result)), percent)
