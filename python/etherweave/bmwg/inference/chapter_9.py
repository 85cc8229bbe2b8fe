"""Load balancing of inference, fairness of decode workers (inference draft, chapter 9)."""

from collections.abc import Sequence

from etherweave.api.results import Result
from etherweave.bmwg.dispatch import MODELS, exchange, widest
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import fairness
from etherweave.bmwg.kpis import BOUNDARY, balance, health, stream_rates
from etherweave.bmwg.model import BenchTest, Case, Included, Plot, ReportTable, labelled, table
from etherweave.bmwg.settings import MIB, Changes, sized, strategies, window
from etherweave.bmwg.throughput import DUPLEX, pair_jobs
from etherweave.bmwg.traffic import named, write

MIX_AXES = ("strategy", "traffic")
BATCH = 128
LAYERS = 20  # Layers of experts, more than a run's time has room for.
WORKERS = (8, 16, 32, 64)
DECODE_AXES = ("strategy", "decode workers")


def _mix_cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Run KV transfers, dispatches of experts and both under every strategy."""
    kv = pair_jobs(fabric, 16 * MIB, 1, DUPLEX)
    count = widest(fabric)
    if count > fabric.hosts:
        return [sized(fabric, count, labelled(MIX_AXES, "ECMP", "EP"), {})]
    ep = exchange(fabric, count, list(MODELS.values())[1], BATCH, LAYERS)
    mixes = {"KV": kv, "EP": [ep], "KV and EP": [*kv, ep]}
    end = {"end": "2ms" if full else "500us"}
    # Collectives have no rate that a warm-up would change.
    runs = {mix: end if mix == "EP" else {**end, "warm_up": "100us"} for mix in mixes}
    return [
        Case(labelled(MIX_AXES, name, mix), {"job": jobs, "run": runs[mix], **changes})
        for name, changes in strategies(fabric).items()
        for mix, jobs in mixes.items()
    ]


def _mix_tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report utilisation and fairness of uplinks by strategy and traffic."""
    metrics = [*balance(fabric), *health(fabric)]
    note = (
        "KV: writes of 16 MiB between halves of the leaves; EP: dispatch and combine by normal "
        "kernels."
    )
    title, plot = "Uplinks under the mix of inference", Plot(0, 5, (1,), is_bars=True)
    return [table("mix", title, MIX_AXES, metrics, trials, note=note, plot=plot)]


def _decode_cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Transfer KV caches to each number of decode hosts under every strategy."""

    def changes(count: int) -> Changes:
        pairs = fabric.pairs()[:count]
        return {
            "job": named([write(source, sink, 16 * MIB) for source, sink in pairs]),
            **window(full),
        }

    return [
        sized(*(fabric, 2 * count, labelled(DECODE_AXES, name, count)), {**changes(count), **own})
        for name, own in strategies(fabric).items()
        for count in (WORKERS if full else WORKERS[:2])
    ]


def _decode_tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report JFI and spread of the KV receive rate."""

    def spread(result: Result) -> float:
        rates = stream_rates(result)
        return max(rates) / min(rates)

    metrics = [
        BOUNDARY.metric("JFI of KV receive rate", lambda run: fairness(stream_rates(run))),
        BOUNDARY.metric("most over least", spread),
        *health(fabric),
    ]
    title, plot = "Fairness among decode workers", Plot(1, 2, (0,))
    return [table("decode", title, DECODE_AXES, metrics, trials, plot=plot)]


TESTS = {"9.3": BenchTest(_mix_cases, _mix_tables), "9.4": BenchTest(_decode_cases, _decode_tables)}
