"""Bursts of KV transfers behind a queue of prompts (inference draft, 6.4)."""

from collections.abc import Callable, Sequence

from etherweave.api.results import Result
from etherweave.bmwg import serving
from etherweave.bmwg.bursts import Transfer, bursts, gaps_us, kv_transfers, mean_gbytes, peak_gbytes
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import percentile
from etherweave.bmwg.kpis import SOFTWARE, health
from etherweave.bmwg.model import Case, Cell, Column, Included, Metric, Plot, ReportTable, labelled
from etherweave.bmwg.model import table as rows_of
from etherweave.bmwg.settings import MIB

AXES = ("oversubscription",)
RATIOS = (1.0, 1.25, 1.5, 1.75, 2.0)  # Requests over those that prefill workers compute.
WORKERS = (3, 9)  # Prefill and decode workers of the draft's example, 3P9D.
TOKENS, ANSWER = 512, 4  # Tokens of a prompt and of an answer.


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Offer more and more requests than prefill workers compute, as packets."""
    made = []
    for ratio in RATIOS if full else RATIOS[::2]:
        interval_ms = serving.prompt_ms(TOKENS) / WORKERS[0] / ratio
        requests = serving.drawn(400 if full else 100, interval_ms, TOKENS, ANSWER)
        labels = labelled(AXES, ratio)
        own = serving.service_case(fabric, labels, WORKERS, requests, is_observed=True)
        changes = {**own.changes, "run": {"fidelity": "packet"}} if not own.excluded else {}
        made.append(Case(labels, changes, own.excluded))
    return made


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report bursts, rates and the time of transfers over the oversubscription."""

    def of_bursts(value: Callable[[Sequence[Transfer]], Cell]) -> Callable[[Case, Result], Cell]:
        return lambda _, run: value(bursts(kv_transfers(run)))

    def tail(part: str) -> Callable[[Case, Result], Cell]:
        return lambda _, run: serving.tail_ms(run, part)

    metrics: list[Metric] = [
        (Column("bursts", SOFTWARE), of_bursts(len)),
        (Column("burst P50 [MiB]", SOFTWARE), of_bursts(lambda all_: _size_mib(all_, 50))),
        (Column("burst P99 [MiB]", SOFTWARE), of_bursts(lambda all_: _size_mib(all_, 99))),
        (
            Column("burst P50 [us]", SOFTWARE),
            of_bursts(lambda all_: percentile([own.end_us - own.start_us for own in all_], 50)),
        ),
        (Column("gap P50 [us]", SOFTWARE), of_bursts(lambda all_: percentile(gaps_us(all_), 50))),
        (Column("peak [GB/s]", SOFTWARE), lambda _, run: peak_gbytes(kv_transfers(run))),
        (Column("mean of bursts [GB/s]", SOFTWARE), of_bursts(mean_gbytes)),
        (Column("T_transfer P99 [ms]", SOFTWARE), tail("T_transfer")),
        (Column("queueing P99 [ms]", SOFTWARE), tail("queueing")),
        *health(fabric),
    ]
    note = (
        f"{WORKERS[0]} prefill and {WORKERS[1]} decode workers, prompts of {TOKENS} tokens, which "
        "arrive at random. Oversubscription: requests in a second over those that prefill workers "
        "compute. Burst: transfers that overlap or touch. Peak: the largest sum of the mean rates "
        f"of transfers at once. {serving.COMPUTED}"
    )
    title, plot = "Bursts behind a queue of prompts", Plot(0, 2)
    return [rows_of("bursts", title, AXES, metrics, trials, note=note, plot=plot)]


def _size_mib(joined: Sequence[Transfer], percent: float) -> float | None:
    return percentile([own.size / MIB for own in joined], percent)
