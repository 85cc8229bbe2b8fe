"""The fabric's part of times that users see (inference draft, chapter 10)."""

from collections.abc import Sequence

from etherweave.api.results import Result
from etherweave.bmwg import serving
from etherweave.bmwg.dispatch import MODELS, exchange, widest
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import percentile, ratio
from etherweave.bmwg.kpis import SETTING, SOFTWARE, latency_cells, latency_columns, rows, tail_us
from etherweave.bmwg.kv_latency import AXES, LEAD_US, SEEDS, kv_latency_cases, pooled
from etherweave.bmwg.model import BenchTest, Case, Cell, Included, Plot, ReportTable, labelled
from etherweave.bmwg.settings import KIB, MIB, sized
from etherweave.bmwg.traffic import uniform

SHAPE_AXES = ("configuration", "prompt [tokens]")
KEYS = ("layers", "heads", "width", "value_bytes")
CONFIGURATIONS = {
    "CFG-A": (32, 8, 128, 2),
    "CFG-B": (80, 8, 128, 2),
    "CFG-C": (96, 64, 128, 2),
    "CFG-D": (80, 8, 128, 1),
}
"""Keys and values of the draft's models."""
APART = 20  # Time between requests over that of a prompt.
STEP_LOADS = (0, 50, 90)  # Loads of all hosts by KV transfers [%].
BATCH = 32
STEP_AXES = ("model", "EP", "KV load [%]")
STEP_US = 400  # Time of a step without load, about [us].
END_MS = 40  # Time for which steps are taken, with each seed [ms].
LOAD = 0.7  # Share of its time for which the prefill worker of a service computes.
NAMES = ("service", "other")  # The service that is measured, and that beside it.
LOADS = tuple(range(0, 100, 5))  # Loads of all hosts by background flows [%].
KNEE = 2.0  # Factor of the P99 at which the knee is reported, a choice of this implementation.


def _first_token_cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Serve requests that never meet."""
    made = []
    for name, shape in CONFIGURATIONS.items():
        cache = {"grouped": dict(zip(KEYS, shape, strict=True))}
        for tokens in serving.PROMPTS if full else serving.PROMPTS[::3]:
            requests = serving.spaced(100, APART * serving.prompt_ms(tokens), tokens, 1)
            labels = labelled(SHAPE_AXES, name, tokens)
            made.append(serving.service_case(fabric, labels, (1, 1), requests, cache=cache))
    return made


def _step_cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Dispatch and combine again and again, beside KV transfers of each load until the end.

    Transfers begin first and last until the run ends, with each of several seeds.
    """
    steps_us = (100 if full else 1) * END_MS * 1_000
    end_us = LEAD_US + steps_us
    name, model = list(MODELS.items())[1]
    count = widest(fabric)
    if count > fabric.hosts:
        return [sized(fabric, count, labelled(STEP_AXES, name, count, STEP_LOADS[0]), {})]
    steps = steps_us // STEP_US
    ep = exchange(fabric, count, model, BATCH, steps, "low_latency", start=f"{LEAD_US}us")
    made = []
    for load in STEP_LOADS:
        jobs = [ep]
        if load:
            jobs.append(uniform(fabric.hosts, load, 256 * KIB, end_us, background=True))
        changes = {"job": jobs, "run": {"end": f"{end_us}us"}}
        labels = labelled(STEP_AXES, name, count, load)
        made += [Case({**labels, "seed": seed}, {**changes, "seed": seed}) for seed in SEEDS]
    return made


def _step_tables(_: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report percentiles of a dispatch and its combine."""
    samples: dict[tuple[Cell, ...], list[float]] = {}
    for case, result in trials:
        key = tuple(case.labels[axis] for axis in STEP_AXES)
        samples.setdefault(key, []).extend(_steps_us(result, int(str(case.labels[STEP_AXES[1]]))))
    lines: list[list[Cell]] = [
        [*key, len(steps), *latency_cells(steps)] for key, steps in samples.items() if steps
    ]
    columns = [
        *SETTING.columns(*STEP_AXES),
        *SOFTWARE.columns("samples"),
        *latency_columns(SOFTWARE),
    ]
    note = (
        "ITL_fabric of a layer of experts: a dispatch and a combine by low-latency kernels, of a "
        f"batch of {BATCH}. Computation and layers without experts are not in it. KV transfers "
        f"begin 1 ms before the first step. Samples of {len(SEEDS)} seeds are pooled; percentiles "
        "that they are too few for are left out."
    )
    return [ReportTable("itl-fabric", "Round trip of experts", columns, lines, note, Plot(2, 8))]


def _steps_us(result: Result, ranks: int) -> list[float]:
    """Read the time of each step that all ranks have ended, until the last of them [us]."""
    times: dict[int, list[float]] = {}
    for job, number, duration in rows(result, "iterations", "job", "iteration", "duration_ns"):
        if job == "experts":
            times.setdefault(number, []).append(duration / 1e3)
    ended = [max(own) for _, own in sorted(times.items()) if len(own) == ranks]
    return [sum(ended[at : at + 2]) for at in range(0, len(ended) - 1, 2)]


def _service_cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Serve requests on every other host, alone and beside a service on the other hosts."""
    requests = serving.spread(2_000 if full else 200, serving.rate_of(LOAD))
    jobs = [
        serving.service((1, 1), range(start, fabric.hosts, 2), requests, name)
        for start, name in enumerate(NAMES)
    ]
    return [serving.alone({"services": count}, *jobs[:count]) for count in (1, 2)]


def _service_tables(_: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report times of the first service, and how much longer they are beside the other."""
    spans = (serving.TTFT, "T_transfer", "ITL")
    tails = [[serving.tail_ms(run, span) for span in spans] for _, run in trials]
    lines: list[list[Cell]] = []
    for services, own in zip((case.labels["services"] for case, _ in trials), tails, strict=True):
        shares = [ratio(time, base) for time, base in zip(own, tails[0], strict=True)]
        more = [None if share is None else 100 * (share - 1) for share in shares]
        lines.append([services, *own, *more])
    columns = [
        *SETTING.columns("services"),
        *SOFTWARE.columns(*(f"{span} P99 [ms]" for span in spans)),
        *SOFTWARE.columns(*(f"{span}, more [%]" for span in spans)),
    ]
    note = (
        f"{serving.rate_of(LOAD):.2g} requests in a second to each service, whose prefill worker "
        f"computes for {LOAD:.0%} of the time. {serving.SERVED}"
    )
    return [ReportTable("services", "Services beside each other", columns, lines, note)]


def _sensitivity_cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Transfer KV caches beside background flows of rising load."""
    loads = LOADS if full else (0, 25, 50, 75, 90, 95)
    return kv_latency_cases(fabric, [16 * MIB if full else 64 * KIB], loads, 1_000 if full else 50)


def _sensitivity_tables(_: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report T_transfer over load, its factor, and where the knee is."""
    measured = pooled(trials)
    base = next((tail_us(own.times, 99) for own in measured if not own.labels[1]), None)
    lines: list[list[Cell]] = []
    has_knee = False
    for own in measured:
        times, tail = own.times, tail_us(own.times, 99)
        factor = ratio(tail, base)
        is_knee = not has_knee and factor is not None and factor >= KNEE
        has_knee = has_knee or is_knee
        middle = percentile(times, 50)
        mark = "knee" if is_knee else ""
        lines.append([*own.labels, len(times), middle, *own.medians, tail, factor, mark])
    columns = [
        *SETTING.columns(*AXES),
        *SOFTWARE.columns("samples", "T_transfer P50 [us]"),
        *SOFTWARE.columns("P50 of a seed, least [us]", "P50 of a seed, most [us]"),
        *SOFTWARE.columns("T_transfer P99 [us]", "P99 over unloaded", "knee"),
    ]
    note = (
        f"The part of TTFT that the fabric has. Knee: the first load whose P99 is {KNEE:g} times. "
        f"Background begins 1 ms before the first transfer. Samples of {len(SEEDS)} seeds are "
        "pooled; a P99 of fewer than 100 samples is left out."
    )
    title = "Transfer time over background load"
    return [ReportTable("sensitivity", title, columns, lines, note, Plot(1, 3))]


TESTS = {
    "10.1": BenchTest(
        _first_token_cases,
        lambda _, trials: [
            serving.first_token_table("Time to the first token without load", SHAPE_AXES, trials)
        ],
    ),
    "10.2": BenchTest(_step_cases, _step_tables),
    "10.3": BenchTest(_service_cases, _service_tables),
    "10.4": BenchTest(_sensitivity_cases, _sensitivity_tables),
}
