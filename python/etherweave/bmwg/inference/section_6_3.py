"""Prefill and decode workers of unlike parallelism (inference draft, 6.3)."""

from collections.abc import Sequence

from etherweave.bmwg import bursts, serving
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import percentile
from etherweave.bmwg.kpis import SOFTWARE
from etherweave.bmwg.model import Case, Column, Included, Metric, Plot, ReportTable, labelled, table
from etherweave.bmwg.settings import too_many

AXES = ("prefill", "decode")
POOL = 8  # Accelerators of each pool.
LOAD = 0.7  # Share of their time for which prefill workers compute.
CONFIGURATIONS = ((8, 8), (8, 4), (4, 2))
"""Accelerators of a prefill and of a decode worker: TP, where DP or DPA fills the pool."""


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Serve the same requests by each division of the pools into workers."""
    requests = serving.spread(2_000 if full else 100, serving.rate_of(LOAD))
    made = []
    for prefill, decode in CONFIGURATIONS:
        labels = labelled(
            AXES, f"TP{prefill} DP{POOL // prefill}", f"TP{decode} DPA{POOL // decode}"
        )
        if missing := too_many(labels, 2 * POOL, fabric):
            made.append(missing)
            continue
        slower = POOL // prefill
        keys = {
            "prefill": {"workers": POOL // prefill, "accelerators": prefill},
            "decode": {"workers": POOL // decode, "accelerators": decode},
            "prefill_start": f"{slower * serving.START_MS}ms",
            "prefill_per_token": f"{slower * serving.PER_TOKEN_MS}ms",
        }
        job = serving.service((1, 1), range(2 * POOL), requests, keys=keys)
        made.append(serving.alone(labels, job, is_observed=True))
    return made


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report flows at once, rates, and times at P50 and P99."""
    metrics: list[Metric] = [
        (
            Column("RDMA flows at once, most", SOFTWARE),
            lambda _, run: bursts.flows_max(bursts.kv_transfers(run)),
        ),
        (
            Column("KV transfers, mean [GB/s]", SOFTWARE),
            lambda _, run: bursts.mean_gbytes(bursts.bursts(bursts.kv_transfers(run))),
        ),
        *(
            (
                Column(f"{span} P{percent} [ms]", SOFTWARE),
                lambda _, run, span=span, percent=percent: percentile(
                    serving.request_times_ms(run)[span], percent
                ),
            )
            for span in ("T_transfer", serving.TTFT, "ITL")
            for percent in (50, 99)
        ),
    ]
    note = (
        f"Pools of {POOL} accelerators; prefill workers compute for {LOAD:.0%} of the time, and a "
        "prompt takes a worker of half the accelerators twice as long; times of decode steps are "
        "alike, since attention alone is divided. Rate: bytes over the time in which transfers "
        f"are on their way. {serving.SERVED}"
    )
    title, plot = "Parallelism of prefill and decode", Plot(1, 4, is_bars=True)
    return [table("parallelism", title, AXES, metrics, trials, note=note, plot=plot)]
