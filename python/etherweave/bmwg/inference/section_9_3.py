"""Load balancing of the mix of inference (inference draft, 9.3)."""

from collections.abc import Sequence

from etherweave.bmwg.dispatch import MODELS, exchange, widest
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.kpis import balance, health
from etherweave.bmwg.model import Case, Included, Plot, ReportTable, labelled, table
from etherweave.bmwg.settings import MIB, strategies, too_many
from etherweave.bmwg.throughput import DUPLEX, pair_jobs

AXES = ("strategy", "traffic")
BATCH = 128
LAYERS = 20  # Layers of experts, more than a run's time has room for.


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Run KV transfers, dispatches of experts and both under every strategy."""
    kv = pair_jobs(fabric, 16 * MIB, 1, DUPLEX)
    count = widest(fabric)
    if missing := too_many(labelled(AXES, "ECMP", "EP"), count, fabric):
        return [missing]
    ep = exchange(fabric, count, list(MODELS.values())[1], BATCH, LAYERS)
    mixes = {"KV": kv, "EP": [ep], "KV and EP": [*kv, ep]}
    end = {"end": "2ms" if full else "500us"}
    # Collectives have no rate that a warm-up would change.
    runs = {mix: end if mix == "EP" else {**end, "warm_up": "100us"} for mix in mixes}
    return [
        Case(labelled(AXES, name, mix), {"job": jobs, "run": runs[mix], **changes})
        for name, changes in strategies(fabric).items()
        for mix, jobs in mixes.items()
    ]


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report utilisation and fairness of uplinks by strategy and traffic."""
    metrics = [*balance(fabric), *health(fabric)]
    note = (
        "KV: writes of 16 MiB between halves of the leaves; EP: dispatch and combine by normal "
        "kernels."
    )
    plot = Plot(0, 5, (1,), is_bars=True)
    title = "Uplinks under the mix of inference"
    return [table("mix", title, AXES, metrics, trials, note=note, plot=plot)]
