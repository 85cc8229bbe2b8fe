"""Modes of dispatch (inference draft, 7.2)."""

from collections.abc import Sequence

from etherweave.bmwg.dispatch import EXCHANGED, MODELS, dispatch_metrics, exchange, widest
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.model import Case, Included, Plot, ReportTable, labelled, table
from etherweave.bmwg.settings import too_many

MODES = {"normal": (128, 256, 512), "low latency": (1, 4, 16)}
"""Tokens of a rank in each mode (I appendix E)."""
AXES = ("mode", "model", "EP", "batch")


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Dispatch and combine the tokens of each mode by its kernels, to experts alike."""
    models = list(MODELS) if full else list(MODELS)[1:2]
    count, layers = widest(fabric), 100 if full else 10
    made = []
    for mode, batches in MODES.items():
        for name in models:
            for batch in batches if full else (batches[0], batches[-1]):
                labels = labelled(AXES, mode, name, count, batch)
                if missing := too_many(labels, count, fabric):
                    made.append(missing)
                    continue
                kernels = mode.replace(" ", "_")
                job = exchange(fabric, count, MODELS[name], batch, layers, kernels)
                made.append(Case(labels, {"job": [job]}))
    return made


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report latency and rate, a table for each mode."""
    note = (
        "Experts are chosen alike (top-k without imbalance). Queue pairs of a pair of ranks are "
        f"DeepEP's: ten of normal kernels, the experts of a rank with low latency. {EXCHANGED}"
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
            plot=Plot(3, 7, (1,)),
        )
        for mode in MODES
        if (own := [pair for pair in trials if pair[0].labels["mode"] == mode])
    ]
