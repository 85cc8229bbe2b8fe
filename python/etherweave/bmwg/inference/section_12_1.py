"""Scale of KV transfers and experts (inference draft, 12.1)."""

from collections.abc import Sequence

from etherweave.api.results import Result
from etherweave.bmwg.dispatch import MODELS, dispatches_us, exchange
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import percentile, ratio
from etherweave.bmwg.kpis import BOUNDARY, SETTING, SOFTWARE, stream_rates
from etherweave.bmwg.model import Case, Cell, Column, Included, Plot, ReportTable, labelled
from etherweave.bmwg.settings import MIB, too_many, window
from etherweave.bmwg.traffic import named, write

COUNTS = tuple(16 << doubling for doubling in range(10))
"""Accelerators: two nodes of eight, doubled up to 8,192."""
KV, EP = "KV", "EP"
AXES = ("traffic", "accelerators")
BATCH = 128
DEPARTURE = 0.1  # Departure from the base at which the draft reports a point.


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Transfer KV caches between halves, and dispatch, for each number of accelerators."""
    model = list(MODELS.values())[1]
    pairs, made = fabric.pairs(), []
    for count in COUNTS if full else COUNTS[:3]:
        for traffic in (KV, EP):
            labels = labelled(AXES, traffic, count)
            if missing := too_many(labels, count, fabric):
                made.append(missing)
            elif traffic == KV:
                chosen = [pairs[at * len(pairs) // (count // 2)] for at in range(count // 2)]
                jobs = named([write(source, sink, 16 * MIB) for source, sink in chosen])
                made.append(Case(labels, {"job": jobs, **window(full)}))
            else:
                job = exchange(fabric, count, model, BATCH, 100 if full else 10)
                made.append(Case(labels, {"job": [job]}))
    return made


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report goodput of a pair and time of a dispatch over accelerators, and over the base."""
    bases: dict[Cell, float | None] = {}
    lines: list[list[Cell]] = []
    for case, result in trials:
        traffic, count = (case.labels[axis] for axis in AXES)
        value = _rate(result) if traffic == KV else percentile(dispatches_us(result), 50)
        share = ratio(value, bases.setdefault(traffic, value))
        kv, ep = (value, None) if traffic == KV else (None, value)
        verdict = "report" if share is not None and abs(share - 1) > DEPARTURE else ""
        lines.append([traffic, count, kv, ep, share, verdict])
    columns = [
        *(Column(axis, SETTING) for axis in AXES),
        Column("KV of a pair, mean [GB/s]", BOUNDARY),
        Column("dispatch P50 [us]", SOFTWARE),
        Column("over base", SOFTWARE),
        Column(f"more than {DEPARTURE:.0%} off", SOFTWARE),
    ]
    note = "Base: the fewest accelerators. Tables and convergence of control planes are not in it."
    return [ReportTable("scale", "Scale", columns, lines, note, Plot(1, 4, (0,)))]


def _rate(result: Result) -> float:
    rates = stream_rates(result)
    return sum(rates) / len(rates) / 8
