"""Modes of dispatch (inference draft, 7.2)."""

from collections.abc import Sequence
from typing import NamedTuple

from etherweave.bmwg.dispatch import MODELS, dispatch_job, dispatch_metrics, pair_bytes
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.model import Case, Included, Plot, ReportTable, labelled, table


class Mode(NamedTuple):
    """A mode of dispatch (I appendix E)."""

    batches: Sequence[int]  # Tokens of a rank.
    connections: int  # QPs of a pair of ranks.


MODES = {"normal": Mode((128, 256, 512), 24), "low latency": Mode((1, 4, 16), 8)}
AXES = ("mode", "QPs a pair", "model", "EP", "batch")


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Dispatch the tokens of each mode over its QPs, to experts alike."""
    models = list(MODELS) if full else list(MODELS)[1:2]
    iterations = 100 if full else 5
    count = fabric.hosts
    made = []
    for mode, (batches, connections) in MODES.items():
        for name in models:
            for batch in batches if full else (batches[0], batches[-1]):
                pair = max(pair_bytes(MODELS[name], count, batch), 1)
                job = dispatch_job(range(count), pair, iterations, connections=connections)
                labels = labelled(AXES, mode, connections, name, count, batch)
                made.append(Case(labels, {"job": [job]}))
    return made


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report latency and rate, a table for each mode."""
    note = (
        "Experts are chosen alike (top-k without imbalance); a message for each pair of ranks, "
        "whose QPs take messages in turn. Kernels and their padding are not in it."
    )
    metrics = dispatch_metrics(fabric)
    return [
        table(
            mode.replace(" ", "-"),
            f"Dispatch, {mode}",
            AXES,
            metrics,
            own,
            note=note,
            plot=Plot(4, 7, (2,)),
        )
        for mode in MODES
        if (own := [pair for pair in trials if pair[0].labels["mode"] == mode])
    ]
