"""Disaggregated serving by prefill and decode workers (inference draft, chapter 6)."""

from collections.abc import Callable, Sequence

from etherweave.api.results import Result
from etherweave.bmwg import model, serving
from etherweave.bmwg.bursts import (
    Transfer,
    bursts,
    flows_max,
    gaps_us,
    kv_transfers,
    mean_gbytes,
    peak_gbytes,
)
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import percentile
from etherweave.bmwg.kpis import SOFTWARE, health
from etherweave.bmwg.settings import MIB, Changes, sized

LENGTH_AXES = ("workers", "prompt [tokens]")
WORKERS = (3, 9)  # Prefill and decode workers of the draft's example, 3P9D.
LENGTH_LOAD = 0.5  # Share of time for which prefill workers compute, a choice.
PREFILL = (1, 2, 3, 4, 6, 8, 10, 11)  # Prefill workers of twelve.
RATE = 20  # Requests in a second.
POOL = 8  # Accelerators of each pool.
LOAD = 0.7  # Share of their time for which prefill workers compute.
CONFIGURATIONS = ((8, 8), (8, 4), (4, 2))
"""Accelerators of a prefill and of a decode worker: TP, where DP or DPA fills the pool."""
RATIOS = (1.0, 1.25, 1.5, 1.75, 2.0)  # Requests over those that prefill workers compute.
TOKENS, ANSWER = 512, 4  # Tokens of a prompt and of an answer, behind a queue.


def _length_cases(fabric: BenchFabric, full: bool) -> Sequence[model.Case]:
    """Serve prompts of each length, which arrive at random."""
    made = []
    for tokens in serving.PROMPTS if full else serving.PROMPTS[::3]:
        interval_ms = serving.prompt_ms(tokens) / WORKERS[0] / LENGTH_LOAD
        requests = serving.drawn(1_000 if full else 100, interval_ms, tokens, 8)
        labels = model.labelled(LENGTH_AXES, f"{WORKERS[0]}P{WORKERS[1]}D", tokens)
        made.append(serving.service_case(fabric, labels, WORKERS, requests))
    return made


def _ratio_cases(fabric: BenchFabric, full: bool) -> Sequence[model.Case]:
    """Serve the same requests with each division of twelve workers."""
    requests = serving.spread(2_000 if full else 200, RATE)
    divisions = [(own, serving.WORKERS - own) for own in (PREFILL if full else PREFILL[1::2])]
    return [
        serving.service_case(fabric, {"workers": f"{own}P{others}D"}, (own, others), requests)
        for own, others in divisions
    ]


def _ratio_tables(_: BenchFabric, trials: model.Included) -> Sequence[model.ReportTable]:
    """Report times, and tokens and requests in a second."""
    plot, note = model.Plot(0, 5, is_bars=True), f"{RATE} requests in a second. {serving.SERVED}"
    title, metrics = "Prefill and decode workers", serving.service_metrics()
    return [model.table("ratio", title, ("workers",), metrics, trials, note=note, plot=plot)]


def _parallelism_cases(fabric: BenchFabric, full: bool) -> Sequence[model.Case]:
    """Serve the same requests by each division of the pools into workers."""
    requests = serving.spread(2_000 if full else 100, serving.rate_of(LOAD))

    def changes(prefill: int, decode: int) -> Changes:
        slower = POOL // prefill
        keys = {
            "prefill": {"workers": POOL // prefill, "accelerators": prefill},
            "decode": {"workers": POOL // decode, "accelerators": decode},
            "prefill_start": f"{slower * serving.START_MS}ms",
            "prefill_per_token": f"{slower * serving.PER_TOKEN_MS}ms",
        }
        job = serving.service((1, 1), range(2 * POOL), requests, keys=keys)
        return serving.alone({}, job, is_observed=True).changes

    return [
        sized(
            fabric,
            2 * POOL,
            {
                "prefill": f"TP{prefill} DP{POOL // prefill}",
                "decode": f"TP{decode} DPA{POOL // decode}",
            },
            changes(prefill, decode),
        )
        for prefill, decode in CONFIGURATIONS
    ]


def _parallelism_tables(_: BenchFabric, trials: model.Included) -> Sequence[model.ReportTable]:
    """Report flows at once, rates, and times at P50 and P99."""

    def time(span: str, percent: int) -> model.Metric:
        return SOFTWARE.metric(
            f"{span} P{percent} [ms]",
            lambda run: percentile(serving.request_times_ms(run)[span], percent),
        )

    metrics = [
        SOFTWARE.metric("RDMA flows at once, most", lambda run: flows_max(kv_transfers(run))),
        SOFTWARE.metric(
            "KV transfers, mean [GB/s]", lambda run: mean_gbytes(bursts(kv_transfers(run)))
        ),
        *(time(of, at) for of in ("T_transfer", serving.TTFT, "ITL") for at in (50, 99)),
    ]
    note = (
        f"Pools of {POOL} accelerators; prefill workers compute for {LOAD:.0%} of the time, and a "
        "prompt takes a worker of half the accelerators twice as long; times of decode steps are "
        "alike, since attention alone is divided. Rate: bytes over the time in which transfers "
        f"are on their way. {serving.SERVED}"
    )
    title, plot = "Parallelism of prefill and decode", model.Plot(1, 4, is_bars=True)
    axes = ("prefill", "decode")
    return [model.table("parallelism", title, axes, metrics, trials, note=note, plot=plot)]


def _queue_cases(fabric: BenchFabric, full: bool) -> Sequence[model.Case]:
    """Offer more and more requests than prefill workers compute, as packets."""
    made = []
    for ratio in RATIOS if full else RATIOS[::2]:
        interval_ms = serving.prompt_ms(TOKENS) / WORKERS[0] / ratio
        requests = serving.drawn(400 if full else 100, interval_ms, TOKENS, ANSWER)
        labels = {"oversubscription": ratio}
        own = serving.service_case(fabric, labels, WORKERS, requests, is_observed=True)
        changes = {**own.changes, "run": {"fidelity": "packet"}} if not own.excluded else {}
        made.append(model.Case(labels, changes, own.excluded))
    return made


def _queue_tables(fabric: BenchFabric, trials: model.Included) -> Sequence[model.ReportTable]:
    """Report bursts, rates and the time of transfers over the oversubscription."""

    def metric(title: str, value: Callable[[Sequence[Transfer]], model.Cell]) -> model.Metric:
        return SOFTWARE.metric(title, lambda run: value(bursts(kv_transfers(run))))

    def size_mib(percent: float) -> Callable[[Sequence[Transfer]], model.Cell]:
        return lambda joined: percentile([own.size / MIB for own in joined], percent)

    def length_us(joined: Sequence[Transfer]) -> model.Cell:
        return percentile([own.end_us - own.start_us for own in joined], 50)

    def tail(part: str) -> Callable[[Result], model.Cell]:
        return lambda run: serving.tail_ms(run, part)

    metrics = [
        metric("bursts", len),
        metric("burst P50 [MiB]", size_mib(50)),
        metric("burst P99 [MiB]", size_mib(99)),
        metric("burst P50 [us]", length_us),
        metric("gap P50 [us]", lambda joined: percentile(gaps_us(joined), 50)),
        SOFTWARE.metric("peak [GB/s]", lambda run: peak_gbytes(kv_transfers(run))),
        metric("mean of bursts [GB/s]", mean_gbytes),
        SOFTWARE.metric("T_transfer P99 [ms]", tail("T_transfer")),
        SOFTWARE.metric("queueing P99 [ms]", tail("queueing")),
        *health(fabric),
    ]
    note = (
        f"{WORKERS[0]} prefill and {WORKERS[1]} decode workers, prompts of {TOKENS} tokens, which "
        "arrive at random. Oversubscription: requests in a second over those that prefill workers "
        "compute. Burst: transfers that overlap or touch. Peak: the largest sum of the mean rates "
        f"of transfers at once. {serving.COMPUTED}"
    )
    title, axes = "Bursts behind a queue of prompts", ("oversubscription",)
    return [model.table("bursts", title, axes, metrics, trials, note=note, plot=model.Plot(0, 2))]


TESTS = {
    "6.1": model.BenchTest(
        _length_cases,
        lambda _, trials: [
            serving.first_token_table("Time to the first token", LENGTH_AXES, trials)
        ],
    ),
    "6.2": model.BenchTest(_ratio_cases, _ratio_tables),
    "6.3": model.BenchTest(_parallelism_cases, _parallelism_tables),
    "6.4": model.BenchTest(_queue_cases, _queue_tables),
}
