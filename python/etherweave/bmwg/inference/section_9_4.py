"""Fairness among decode workers (inference draft, 9.4)."""

from collections.abc import Sequence

from etherweave.api.results import Result
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import fairness
from etherweave.bmwg.kpis import BOUNDARY, health, stream_rates
from etherweave.bmwg.model import Case, Column, Included, Plot, ReportTable, labelled, table
from etherweave.bmwg.settings import MIB, strategies, too_many, window
from etherweave.bmwg.traffic import named, write

WORKERS = (8, 16, 32, 64)
AXES = ("strategy", "decode workers")


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Transfer KV caches to each number of decode hosts under every strategy."""
    pairs, made = fabric.pairs(), []
    for name, changes in strategies(fabric).items():
        for count in WORKERS if full else WORKERS[:2]:
            labels = labelled(AXES, name, count)
            if missing := too_many(labels, 2 * count, fabric):
                made.append(missing)
                continue
            jobs = named([write(source, sink, 16 * MIB) for source, sink in pairs[:count]])
            made.append(Case(labels, {"job": jobs, **window(full), **changes}))
    return made


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report JFI and spread of the KV receive rate."""

    def spread(_: Case, result: Result) -> float:
        rates = stream_rates(result)
        return max(rates) / min(rates)

    metrics = [
        (Column("JFI of KV receive rate", BOUNDARY), lambda _, run: fairness(stream_rates(run))),
        (Column("most over least", BOUNDARY), spread),
        *health(fabric),
    ]
    title = "Fairness among decode workers"
    return [table("decode", title, AXES, metrics, trials, plot=Plot(1, 2, (0,)))]
