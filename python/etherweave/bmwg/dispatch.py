"""Dispatch of tokens to experts as a plain all-to-all, which several tests measure."""

from collections.abc import Sequence
from typing import NamedTuple

from etherweave.api.results import Result
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import dispatch_bytes, dispatch_egress_bytes, percentile
from etherweave.bmwg.kpis import SETTING, SOFTWARE, health, iterations_us
from etherweave.bmwg.model import Case, Column, Included, Metric, labelled
from etherweave.bmwg.settings import too_many
from etherweave.bmwg.traffic import Job, collective

AXES = ("model", "EP", "batch")


class ExpertModel(NamedTuple):
    """Sizes that decide the bytes of a token."""

    top_k: int
    hidden: int
    element_bytes: float


MODELS = {
    "k 2, H 4096, 2 B": ExpertModel(2, 4096, 2),
    "k 8, H 7168, 1 B": ExpertModel(8, 7168, 1),
    "k 8, H 7168, 2 B": ExpertModel(8, 7168, 2),
}
"""Models whose payload of a pair is that of rows M1, M2 and M4 (I 7.1)."""


def pair_bytes(model: ExpertModel, participants: int, batch: int) -> int:
    """Compute the payload of a pair of ranks, rounded to bytes [B]."""
    size = dispatch_bytes(batch, model.top_k, model.hidden, model.element_bytes, participants)
    return round(size)


def dispatch_job(hosts: Sequence[int], pair: int, iterations: int, **keys: object) -> Job:
    """Send a block to every other host, again and again."""
    return collective(hosts, "alltoall", pair * len(hosts), iterations, **keys)


def dispatch_cases(
    fabric: BenchFabric,
    models: Sequence[str],
    counts: Sequence[int],
    batches: Sequence[int],
    iterations: int,
) -> list[Case]:
    """Make a case for each model, number of participants and batch."""
    made = []
    for name in models:
        for count in counts:
            for batch in batches:
                labels = labelled(AXES, name, count, batch)
                if missing := too_many(labels, count, fabric):
                    made.append(missing)
                    continue
                hosts = [at * fabric.hosts // count for at in range(count)]
                job = dispatch_job(hosts, pair_bytes(MODELS[name], count, batch), iterations)
                made.append(Case(labels, {"job": [job]}))
    return made


def egress_gbytes(case: Case, result: Result) -> float:
    """Compute what an accelerator sends in a dispatch over its median time [GB/s]."""
    name, count, batch = (case.labels[axis] for axis in AXES)
    pair = pair_bytes(MODELS[str(name)], int(str(count)), int(str(batch)))
    sent = dispatch_egress_bytes(pair, int(str(count)))
    return sent / (percentile(iterations_us(result), 50) * 1e3)


def dispatch_metrics(fabric: BenchFabric) -> list[Metric]:
    """Return the payload of a pair, latency of a dispatch, and its rate."""

    def pair(case: Case, _: Result) -> int:
        name, count, batch = (case.labels[axis] for axis in AXES)
        return pair_bytes(MODELS[str(name)], int(str(count)), int(str(batch)))

    def sent(case: Case, result: Result) -> float:
        return dispatch_egress_bytes(pair(case, result), int(str(case.labels["EP"])))

    return [
        (Column("T_dispatch [B]", SETTING), pair),
        (Column("S_fabric [B]", SETTING), sent),
        (Column("P50 [us]", SOFTWARE), lambda _, run: percentile(iterations_us(run), 50)),
        (Column("P99 [us]", SOFTWARE), lambda _, run: percentile(iterations_us(run), 99)),
        (Column("egress of an accelerator [GB/s]", SOFTWARE), egress_gbytes),
        *health(fabric),
    ]


def efficiency(trials: Included, reference: int) -> list[tuple[Case, float | None]]:
    """Compare the median latency at a reference number of participants with that of each."""
    known = {
        (case.labels["model"], case.labels["batch"]): percentile(iterations_us(result), 50)
        for case, result in trials
        if case.labels["EP"] == reference
    }
    return [
        (case, known[key] / percentile(iterations_us(result), 50) if key in known else None)
        for case, result in trials
        for key in [(case.labels["model"], case.labels["batch"])]
    ]
