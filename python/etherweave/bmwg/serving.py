"""Services of a language model, whose prompts and answers are computed by workers of their own.

Times of computation are those of ``workload.inference``, inputs; KV transfers are simulated, in
flow-level mode.
"""

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from statistics import fmean

from etherweave.api.results import Result
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import percentile
from etherweave.bmwg.kpis import SETTING, SOFTWARE, rows
from etherweave.bmwg.model import Case, Cell, Included, Metric, Plot, ReportTable
from etherweave.bmwg.traffic import Job

WORKERS = 12  # Workers of the draft's example of a service.
ACCELERATORS_MAX = 8  # Most accelerators of a worker: those of a node.
START_MS, PER_TOKEN_MS = 5.0, 0.05  # Computation of a prompt and of each of its tokens [ms].
PROMPTS = (128, 512, 1_024, 2_048, 4_096, 8_192, 16_384)  # Tokens of a prompt.
SPREAD = (128, 8_192)  # Least and most tokens of prompts by Zipf's law with exponent 1.
ANSWER = 64  # Tokens of an answer to them.
LIMITS_MS = (500.0, 50.0)  # Limits of the time to the first token and between tokens [ms].
SPANS = ("queueing", "T_prefill", "T_transfer", "T_decode_init", "ITL", "exchange")
"""Rows of a request in the order of their iterations."""
TTFT = "TTFT"
PARTS = SPANS[:4]  # Parts of the time to the first token, one behind the other.
COMPUTED = "Computation is an input, 5 ms and 50 us a token; the transfer is simulated."


def prompt_ms(tokens: float) -> float:
    """Return the time in which a worker computes a prompt [ms]."""
    return START_MS + PER_TOKEN_MS * tokens


def rate_of(load: float, workers: int = 1) -> float:
    """Return requests of :func:`spread` in a second that keep prefill workers busy for a share."""
    lengths = range(SPREAD[0], SPREAD[1] + 1)
    tokens = len(lengths) / sum(1 / length for length in lengths)
    return 1e3 * load * workers / prompt_ms(tokens)


def service(
    workers: tuple[int, int],
    hosts: Sequence[int],
    requests: Mapping[str, object],
    name: str = "service",
    keys: Mapping[str, object] | None = None,
) -> Job:
    """Serve requests by so many prefill and decode workers, on the first of these hosts."""
    each = min(len(hosts) // sum(workers), ACCELERATORS_MAX)
    each = 1 << (each.bit_length() - 1)
    pools = ({"workers": number, "accelerators": each} for number in workers)
    inference = {
        **dict(zip(("prefill", "decode"), pools, strict=True)),
        "requests": requests,
        "prefill_start": f"{START_MS}ms",
        "prefill_per_token": f"{PER_TOKEN_MS}ms",
        **(keys or {}),
    }
    placement = {"hosts": [*hosts[: sum(workers) * each]]}
    return {"name": name, "workload": {"inference": inference}, "placement": placement}


def service_case(
    fabric: BenchFabric,
    labels: Mapping[str, Cell],
    workers: tuple[int, int],
    requests: Mapping[str, object],
    *,
    is_observed: bool = False,
    **keys: object,
) -> Case:
    """Make a case of a service on hosts in the order of numbers, if there are enough."""
    if (count := sum(workers)) > fabric.hosts:
        return Case(labels, {}, f"{count} workers; the fabric has {fabric.hosts} hosts")
    job = service(workers, range(fabric.hosts), requests, keys=keys)
    return alone(labels, job, is_observed=is_observed)


def alone(labels: Mapping[str, Cell], *jobs: Job, is_observed: bool = False) -> Case:
    """Make a case of services in flow-level mode, whose transfers are kept if observed."""
    observed = {"observe": {"ranks": True}} if is_observed else {}
    return Case(labels, {"job": [*jobs], "run": {"fidelity": "flow"}, **observed})


def drawn(count: int, interval_ms: float, tokens: int, answer: int) -> Mapping[str, object]:
    """Describe requests of equal length that arrive at random."""
    lengths = {"input": {"fixed": tokens}, "output": {"fixed": answer}}
    return {"drawn": {"count": count, "interval": f"{round(1e3 * interval_ms)}us", **lengths}}


def spaced(count: int, interval_ms: float, tokens: int, answer: int) -> Mapping[str, object]:
    """List requests of equal length, an interval apart."""
    return _listed((at * interval_ms, tokens, answer) for at in range(count))


def spread(count: int, rate: float) -> Mapping[str, object]:
    """List requests at random, so many in a second, with prompts by Zipf's law."""
    numbers = random.Random(1)
    lengths = range(SPREAD[0], SPREAD[1] + 1)
    tokens = numbers.choices(lengths, [1 / length for length in lengths], k=count)
    gaps_ms = (numbers.expovariate(rate / 1e3) for _ in tokens[1:])
    times_ms = accumulate(gaps_ms, initial=0.0)
    return _listed((time, length, ANSWER) for time, length in zip(times_ms, tokens, strict=True))


def _listed(requests: Iterable[tuple[float, int, int]]) -> Mapping[str, object]:
    lines = (f"{time_ms:.3f},{tokens},{answer}" for time_ms, tokens, answer in requests)
    return {"listed": {"text": "\n".join(["time_ms,input_tokens,output_tokens", *lines])}}


def request_times_ms(result: Result, name: str = "service") -> Mapping[str, Sequence[float]]:
    """Read the parts of each request's time, and its time to the first token [ms]."""
    times: dict[str, list[float]] = {span: [] for span in SPANS}
    spans = rows(result, "iterations", "job", "rank", "iteration", "duration_ns")
    for job, _, iteration, duration in sorted(spans):
        if job == name:
            times[SPANS[iteration % len(SPANS)]].append(duration / 1e6)
    first = [sum(parts) for parts in zip(*(times[part] for part in PARTS), strict=True)]
    return {**times, TTFT: first}


def first_token_table(title: str, axes: Sequence[str], trials: Included) -> ReportTable:
    """Report percentiles of the time to the first token and its parts, and the transfer's share."""
    lines: list[list[Cell]] = []
    for case, result in trials:
        times = request_times_ms(result)
        share = 100 * fmean(times["T_transfer"]) / fmean(times[TTFT])
        for percent in (50, 95, 99):
            values = (percentile(times[name], percent) for name in (TTFT, *PARTS))
            own = (case.labels[axis] for axis in axes)
            lines.append([*own, f"P{percent}", *values, share])
    columns = [
        *SETTING.columns(*axes, "percentile"),
        *SOFTWARE.columns(*(f"{name} [ms]" for name in (TTFT, *PARTS)), "T_transfer of TTFT [%]"),
    ]
    return ReportTable("ttft", title, columns, lines, COMPUTED, Plot(1, 3, (0, 2)))


def service_metrics() -> list[Metric]:
    """Return the columns of a service: times, and tokens and requests in a second."""
    return [
        SOFTWARE.metric(f"{TTFT} P99 [ms]", lambda run: tail_ms(run, TTFT)),
        SOFTWARE.metric("T_transfer P99 [ms]", lambda run: tail_ms(run, "T_transfer")),
        SOFTWARE.metric("ITL P99 [ms]", lambda run: tail_ms(run, "ITL")),
        SOFTWARE.metric("TPS_out [1/s]", lambda run: ANSWER * _rate(run)),
        SOFTWARE.metric("Inference_Goodput [1/s]", lambda run: _rate(run, LIMITS_MS)),
    ]


def tail_ms(result: Result, span: str, name: str = "service") -> float | None:
    """Return the P99 of a part of the requests' time [ms]."""
    return percentile(request_times_ms(result, name)[span], 99)


def _rate(result: Result, limits_ms: Sequence[float] = (math.inf, math.inf)) -> float:
    """Return requests in a second within limits."""
    times = request_times_ms(result)
    pairs = zip(times[TTFT], times["ITL"], strict=True)
    served = sum(first <= limits_ms[0] and gap <= limits_ms[1] for first, gap in pairs)
    return served / (result.summary["end_ns"] * 1e-9)


SERVED = (
    f"Prompts by Zipf's law over {SPREAD[0]} to {SPREAD[1]} tokens; goodput within "
    f"{LIMITS_MS[0]:g} ms to the first token and {LIMITS_MS[1]:g} ms between tokens. {COMPUTED}"
)
"""Manner of reading tables of services."""
