"""Quantities that a job of a result measured, in the words of its benchmark.

A ping-pong's latency is half of its round trip; a bandwidth is window · size · iterations / time;
a collective's time is the mean of its calls, over ranks too: as the OSU Micro-Benchmarks print
them. An application's number is the mean time of its iterations, that of an incast the sum of its
streams. Of several launches the median counts.
"""

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from etherweave.api.results import Result
from etherweave.api.samples import rounds, time_of_all
from etherweave.api.simulation import memory_of, moe_loads, resolve, step_times
from etherweave.api.units import size_of, time_of
from etherweave.measurements import metrics
from etherweave.measurements.npb import CG_INNER, iterations_note

if TYPE_CHECKING:
    import polars as pl

    from etherweave.measurements.challenge import Times

_LENGTH = "iterations"  # The key of a workload that says how long it goes on, and not what it is.


class Quantity(NamedTuple):
    """One number of a job."""

    job: str
    program: str  # Program whose number it is like.
    test: str  # Test of the program, if it has several.
    metric: metrics.Metric
    size_bytes: int | None
    ranks: int
    values: tuple[float, ...]  # One of each launch, in the metric's unit.
    is_as_published: bool = True
    """Whether it is the very workload of the publications, for one that they do not describe."""
    error: float | None = None  # Relative error of its samples, as half of them show it.
    interfaces: int = 1  # Network interfaces of a node that share the number.
    note: str = ""  # Amount of work in the number, where a job may have another than the program.

    @property
    def median(self) -> float:
        """Median of the launches."""
        return float(median(self.values))


Columns: TypeAlias = Mapping[str, list[Any]]  # Rows of a launch, by the names of their columns.


class _Job(NamedTuple):
    name: str
    kind: str
    facts: Mapping[str, Any]  # Keys of the workload, as resolved.
    rows: tuple[Columns, ...]  # Iterations or streams, of each launch.
    frames: "tuple[pl.DataFrame, ...]"  # The same of a kind that has them as tables.
    transport: str
    is_alone: bool  # Whether the scenario has no other job.
    seed: int  # Seed of the run.
    repetition_errors: tuple[float, ...]  # Bounds of each launch that has repetitions [s].


def quantities(result: Result) -> list[Quantity]:
    """List the figures of all jobs that are like a benchmark's, in the order of the jobs."""
    scenario = result.scenario
    (transport,) = scenario["transport"]
    jobs, seed = scenario.get("job", []), int(scenario["seed"])
    launches = _Launches(result)
    figures: list[Quantity] = []
    for job in jobs:
        (name, (kind, facts)) = job["name"], next(iter(job["workload"].items()))
        if kind not in _KINDS:
            continue
        rows = () if kind in _BY_FRAME else launches.lists.get(name, ())
        frames = launches.frames.get(name, ()) if kind in _BY_FRAME else ()
        if rows or frames:
            errors = launches.errors.get(name, ())
            own = _Job(name, kind, facts, rows, frames, transport, len(jobs) == 1, seed, errors)
            figures += _KINDS[kind](own)
    return figures


class _Launches:
    """Rows of each job, a part for each launch; a job has iterations or streams."""

    def __init__(self, result: Result) -> None:
        self._result = result

    @cached_property
    def lists(self) -> dict[str, tuple[Columns, ...]]:
        """Columns as lists, for which no library for tables is imported."""
        result, jobs = self._result, dict[str, tuple[Columns, ...]]()
        for name in ("streams", "iterations"):
            columns = {column: result.values(name, column) for column in result.columns(name)}
            places = dict[str, dict[int, list[int]]]()
            names = columns.get("job", [])
            launches = columns.get("launch", [0] * len(names))
            for at, (job, launch) in enumerate(zip(names, launches, strict=True)):
                places.setdefault(job, {}).setdefault(launch, []).append(at)
            for job, parts in places.items():
                jobs[job] = tuple(
                    {column: [values[at] for at in part] for column, values in columns.items()}
                    for part in parts.values()
                )
        return jobs

    @cached_property
    def errors(self) -> dict[str, tuple[float, ...]]:
        """Bound of the error of a job's repetitions, of each launch [s].

        It is the largest of any rank, and what the rank that waits least waits in a round.
        """
        result, table = self._result, "repetitions"
        columns = {column: result.values(table, column) for column in result.columns(table)}
        names = columns.get("job", [])
        launches = columns.get("launch", [0] * len(names))
        parts = dict[str, dict[int, list[tuple[float, float]]]]()
        both = (columns.get(name, []) for name in ("error_ns", "waited_ns"))
        for job, launch, *own in zip(names, launches, *both, strict=True):
            parts.setdefault(job, {}).setdefault(launch, []).append((own[0], own[1]))
        return {
            job: tuple(
                (max(error for error, _ in rows) + min(waited for _, waited in rows)) * 1e-9
                for rows in own.values()
            )
            for job, own in parts.items()
        }

    @cached_property
    def frames(self) -> "dict[str, tuple[pl.DataFrame, ...]]":
        """Tables of iterations."""
        columns = self._result.columns("iterations")
        if not columns:
            return {}
        by = [column for column in ("job", "launch") if column in columns]
        jobs: dict[str, tuple[pl.DataFrame, ...]] = {}
        for part in self._result.to_polars("iterations").partition_by(by, maintain_order=True):
            job = part.item(0, "job")
            jobs[job] = (*jobs.get(job, ()), part)
        return jobs


def _mean(rows: Columns) -> float:
    """Return the mean iteration [s]."""
    return fmean(rows["duration_ns"]) * 1e-9


def _slowest(rows: Columns) -> float:
    """Return the mean iteration of the rank that takes longest [s]."""
    times: dict[int, list[float]] = {}
    for rank, time in zip(rows["rank"], rows["duration_ns"], strict=True):
        times.setdefault(rank, []).append(time)
    return max(map(fmean, times.values())) * 1e-9


def _latency(job: _Job) -> list[Quantity]:
    size = size_of(job.facts["bytes"])
    values = tuple(_mean(rows) / 2 for rows in job.rows)
    pairs = int(job.facts["pairs"])
    program = "osu_multi_lat" if pairs > 1 else "osu_latency"
    return [Quantity(job.name, program, "", metrics.LATENCY, size, 2 * pairs, values)]


def _bandwidth(job: _Job) -> list[Quantity]:
    size, pairs = size_of(job.facts["bytes"]), int(job.facts["pairs"])
    rates = tuple(pairs * int(job.facts["window"]) / _mean(rows) for rows in job.rows)
    moved = tuple(size * rate for rate in rates)
    if pairs == 1:
        return [Quantity(job.name, "osu_bw", "", metrics.BANDWIDTH, size, 2, moved)]
    return [
        Quantity(job.name, "osu_mbw_mr", "", metrics.BANDWIDTH_SUM, size, 2 * pairs, moved),
        Quantity(job.name, "osu_mbw_mr", "", metrics.MESSAGE_RATE, size, 2 * pairs, rates),
    ]


def _bandwidth_both(job: _Job) -> list[Quantity]:
    size = size_of(job.facts["bytes"])
    moved = 2 * size * int(job.facts["window"])
    values = tuple(moved / _mean(rows) for rows in job.rows)
    return [Quantity(job.name, "osu_bibw", "", metrics.BANDWIDTH_BOTH, size, 2, values)]


_ACCESSES = {
    "put": "put",
    "get": "get",
    "accumulate": "acc",
    "get_accumulate": "get_acc",
    "fetch_and_op": "fop",
    "compare_and_swap": "cas",
}
"""One-sided operations, as the OSU Micro-Benchmarks name them."""


def _one_sided_latency(job: _Job) -> list[Quantity]:
    program = f"osu_{_ACCESSES[job.facts['access']]}_latency"
    values = tuple(_mean(rows) for rows in job.rows)
    return [
        Quantity(job.name, program, "", metrics.CALL_TIME, size_of(job.facts["bytes"]), 2, values)
    ]


def _one_sided_bandwidth(job: _Job) -> list[Quantity]:
    size, both = size_of(job.facts["bytes"]), bool(job.facts.get("bidirectional"))
    moved = (1 + both) * size * int(job.facts["window"])
    values = tuple(moved / _mean(rows) for rows in job.rows)
    if both:
        return [Quantity(job.name, "osu_put_bibw", "", metrics.BANDWIDTH_BOTH, size, 2, values)]
    program = f"osu_{_ACCESSES[job.facts['access']]}_bw"
    return [Quantity(job.name, program, "", metrics.BANDWIDTH, size, 2, values)]


_EXCHANGES = {
    "ping_ping": ("PingPing", 1),
    "sendrecv": ("Sendrecv", 2),
    "exchange": ("Exchange", 4),
}
"""Tests of IMB-MPI1: IMB's names, and how many messages of a rank their bandwidth counts."""


def _exchange(job: _Job) -> list[Quantity]:
    test, messages = _EXCHANGES[job.facts["test"]]
    size, ranks = size_of(job.facts["bytes"]), int(job.facts["ranks"])
    times = tuple(_mean(rows) for rows in job.rows)
    figures = [Quantity(job.name, "IMB-MPI1", test, metrics.CALL_TIME, size, ranks, times)]
    if size:
        moved = tuple(messages * size / time for time in times)
        figures.append(Quantity(job.name, "IMB-MPI1", test, metrics.BANDWIDTH, size, ranks, moved))
    return figures


def _collective(job: _Job) -> list[Quantity]:
    operation = job.facts["operation"]  # a table; its name alone for the barrier
    name, facts = (operation, {}) if isinstance(operation, str) else next(iter(operation.items()))
    size = _block(facts["bytes"]) if "bytes" in facts else None
    ranks = int(job.facts["ranks"])
    program = f"osu_i{name}" if "compute" in job.facts else f"osu_{name}"
    if "samples" in job.facts:
        import polars as pl

        from etherweave.measurements.challenge import means

        times = [means(pl.DataFrame(rows)) for rows in job.rows]
        values, error = _sampled(times, rounds(name, ranks))
    else:
        values, error = tuple(_mean(rows) for rows in job.rows), None
    figures = [Quantity(job.name, program, "", metrics.CALL_TIME, size, ranks, values, error=error)]
    if job.facts["library"] == "nccl" and name in _NCCL_TESTS and size is not None:
        figures.append(_bus(job, name, size, values)._replace(error=error))
    return figures


def _nccl_tests(job: _Job) -> list[Quantity]:
    """Take a collective as the programs of nccl-tests do: its mean time, and its bus bandwidth.

    Where the data of a rank pass the interface of another, that one's time is the rank's.
    """
    ((name, facts),) = job.facts["operation"].items()
    is_by_place = name in ("gather", "scatter", "sendrecv")
    values = tuple(_slowest(rows) if is_by_place else _mean(rows) for rows in job.rows)
    bus = _bus(job, name, _block(facts["bytes"]), values)
    call = bus._replace(metric=metrics.CALL_TIME, values=values)
    return [call, bus._replace(interfaces=int(job.facts["node"]["accelerators"]))]


def _bus(job: _Job, name: str, size: int, values: tuple[float, ...]) -> Quantity:
    """Return the bus bandwidth of a collective of so many bytes that takes these times."""
    test, moved, blocks = _NCCL_TESTS[name]
    ranks = int(job.facts["ranks"])
    total = size * (ranks if blocks else 1)
    rates = tuple(total * moved(ranks) / value for value in values)
    return Quantity(job.name, "nccl_tests", test, metrics.BANDWIDTH_BUS, total, ranks, rates)


_NCCL_TESTS: dict[str, tuple[str, Callable[[int], float], bool]] = {
    "allreduce": ("all_reduce_perf", lambda ranks: 2 * (ranks - 1) / ranks, False),
    "reduce_scatter": ("reduce_scatter_perf", lambda ranks: (ranks - 1) / ranks, False),
    "allgather": ("all_gather_perf", lambda ranks: (ranks - 1) / ranks, True),
    "alltoall": ("alltoall_perf", lambda ranks: (ranks - 1) / ranks, True),
    "bcast": ("broadcast_perf", lambda _: 1, False),
    "reduce": ("reduce_perf", lambda _: 1, False),
    "gather": ("gather_perf", lambda ranks: (ranks - 1) / ranks, True),
    "scatter": ("scatter_perf", lambda ranks: (ranks - 1) / ranks, True),
    "sendrecv": ("sendrecv_perf", lambda _: 1, False),
    "hypercube": ("hypercube_perf", lambda ranks: (ranks - 1) / ranks, True),
}
"""Program of nccl-tests by collective, share of its size that each rank must move, and whether
that is the size of all blocks together (PERFORMANCE.md and ``src/*.cu`` of nccl-tests)."""


def _block(written: str | list[str]) -> int:
    """Return a size in bytes; of blocks of different lengths the mean."""
    lengths = [size_of(written) for written in ([written] if isinstance(written, str) else written)]
    return sum(lengths) // len(lengths)


def _application(program: str) -> Callable[[_Job], list[Quantity]]:
    def made(job: _Job) -> list[Quantity]:
        ranks = math.prod(int(job.facts[axis]) for axis in ("pex", "pey", "pez"))
        values = tuple(_mean(rows) for rows in job.rows)
        is_usual = {**_usual(job.kind), _LENGTH: job.facts[_LENGTH]} == job.facts
        alike = is_usual and job.is_alone
        return [Quantity(job.name, program, "", metrics.ITERATION_TIME, None, ranks, values, alike)]

    return made


def _incast(job: _Job) -> list[Quantity]:
    program = "ib_write_bw" if job.transport == "roce" else "iperf3"
    values = tuple(math.fsum(rows["goodput_gbps"]) / 8e-9 for rows in job.rows)
    ranks = int(job.facts["sources"]) + 1
    return [Quantity(job.name, program, "incast", metrics.BANDWIDTH_SUM, None, ranks, values)]


_STATISTICS = (("mean", None), ("p50", 50), ("p95", 95), ("p99", 99))
_ONE_BY_ONE = {"closed": {"outstanding": 1, "think": "0ps"}}  # How netperf asks.


def _requests(job: _Job) -> list[Quantity]:
    """Take requests and their answers: their times, and how many were answered in a second.

    A client that asks one server for answers that take no work is TCP_RR of netperf.
    """
    spans = [_calls(job, rows) for rows in job.frames]
    ranks = sum(int(facts["servers"]) for facts in (job.facts, *job.facts.get("services", [])))
    ranks += int(job.facts["clients"])
    figures = [
        Quantity(
            *(job.name, job.kind, f"{called} {test}".strip(), metrics.ROUND_TRIP, None, ranks),
            tuple(_statistic(launch[called], percent) * 1e-9 for launch in spans),
            is_as_published=False,
        )
        for called in spans[0]
        for test, percent in _STATISTICS
    ]
    rates = tuple(_rate(rows, int(job.facts["clients"])) for rows in job.frames)
    figures.append(figures[0]._replace(test="", metric=metrics.TRANSACTION_RATE, values=rates))
    size = size_of(job.facts["request"])
    is_alike = size == size_of(job.facts["response"]) and job.facts["load"] == _ONE_BY_ONE
    if ranks == 2 and is_alike and job.facts["service"] == "0ps" and job.transport == "tcp":
        figures.append(
            figures[-1]._replace(
                program="netperf",
                test="TCP REQUEST/RESPONSE",
                size_bytes=size,
                is_as_published=True,
            )
        )
    return figures


def _calls(job: _Job, rows: "pl.DataFrame") -> dict[str, list[float]]:
    """Return times [ns] of requests, and by the name of a service of all calls to it, in order.

    Rows of a client are its requests; those of a server are its calls, in the order of its keys.
    """
    import polars as pl

    services = [job.facts, *job.facts.get("services", [])]
    callees = [[""]] * int(job.facts["clients"])  # Callees of each rank.
    for facts in services:
        own = [name for stage in facts.get("calls", []) for name in stage]
        callees += [own] * int(facts["servers"])
    called = [(rank, at, own) for rank, all_ in enumerate(callees) for at, own in enumerate(all_)]
    row = rows.schema["iteration"]
    keys = {"rank": rows.schema["rank"], "call": row, "callee": pl.String()}
    counts = pl.Series([max(len(own), 1) for own in callees]).gather(rows["rank"])
    call = (pl.col("iteration") % counts).cast(row)
    times = (
        rows.select("rank", "duration_ns", call=call)
        .join(pl.DataFrame(called, keys, orient="row"), on=["rank", "call"])
        .sort("duration_ns")
    )
    names = ["", *(facts["name"] for facts in services[1:])]
    return {
        name: times.filter(pl.col("callee") == name).get_column("duration_ns").to_list()
        for name in names
    }


def _rate(rows: "pl.DataFrame", clients: int) -> float:
    """Return how many requests were answered in a second, from the first that was asked on."""
    import polars as pl

    start, end = pl.col("start_ns"), pl.col("start_ns") + pl.col("duration_ns")
    rate = pl.len() / (end.max() - start.min()) * 1e9
    return float(rows.filter(pl.col("rank") < clients).select(rate).item())


_HPCC_TESTS = ("ring", "ptrans", "mpifft", "random_access", "fft")
"""Workloads of the HPC Challenge beside Linpack."""


def _challenge(job: _Job) -> list[Quantity]:
    """Take a test of the HPC Challenge as it prints it; of Linpack no publication states the sizes.

    Only rings have the same workload everywhere.
    """
    from etherweave.measurements.challenge import figures

    launches = [figures(job.kind, job.facts, rows) for rows in job.frames]
    return [
        Quantity(
            *(job.name, "hpcc", first.test, first.metric, first.size_bytes, first.ranks),
            tuple(port.value for port in same),
            is_as_published=job.kind == "hpcc_ring",
            error=max((port.error for port in same if port.error is not None), default=None),
        )
        for first, *others in zip(*launches, strict=True)
        for same in [(first, *others)]
    ]


@cache
def _usual(kind: str) -> Mapping[str, Any]:
    """Return the core's defaults of a workload: those of the publication that it is from."""
    job = {"name": "usual", "workload": {kind: {}}}
    text = resolve({"topology": {"single_switch": {"hosts": 64}}, "job": [job]})
    return dict(tomllib.loads(text)["job"][0]["workload"][kind])


def _iterated(suite: str, test: str, job: _Job, times: "Sequence[Times]") -> list[Quantity]:
    """Take the time of all iterations, or what samples make it."""
    iterations, ranks = int(job.facts["iterations"]), int(job.facts["ranks"])
    values, sampling = _sampled(times, iterations)
    error = sampling if "samples" in job.facts else None
    return [
        Quantity(
            job.name,
            suite,
            test,
            metrics.ELAPSED,
            None,
            ranks,
            values,
            is_as_published=False,
            error=error,
        )
    ]


def _parallel_benchmark(job: _Job) -> list[Quantity]:
    """Take the time of the slowest rank, which the benchmarks print (`MPI_MAX` of their timers)."""
    from etherweave.measurements.challenge import of_slowest_rank

    benchmark, kind = job.facts["benchmark"], job.facts["class"]
    note = iterations_note(benchmark, kind, int(job.facts["iterations"]))
    times = [of_slowest_rank(rows) for rows in job.frames]
    return [own._replace(note=note) for own in _iterated("npb", f"{benchmark}.{kind}", job, times)]


def _conjugate_gradient(job: _Job) -> list[Quantity]:
    """Take outer iterations of the slowest rank, from the start of one to that of the next.

    Rows are inner iterations, so that the end of the last outer one is not known: it takes as long
    as the others on average. One outer iteration, or others than the benchmark's, have no time.
    """
    inner, outer = int(job.facts["inner"]), int(job.facts["iterations"])
    if inner != CG_INNER or outer == 1:
        return []
    values = tuple(outer * _outer_s(rows, inner) for rows in job.frames)
    kind, ranks = job.facts["class"], int(job.facts["ranks"])
    figure = Quantity(
        *(job.name, "npb", f"cg.{kind}", metrics.ELAPSED, None, ranks, values),
        is_as_published=False,
        note=iterations_note("cg", kind, outer),
    )
    return [figure] if all(values) else []


def _outer_s(rows: "pl.DataFrame", inner: int) -> float:
    """Return the mean outer iteration of the rank that takes longest [s]; 0 of a single one."""
    import polars as pl

    first = rows.filter(pl.col("iteration") % inner == 0)
    start, number = pl.col("start_ns"), pl.col("iteration") // inner
    spans = first.group_by("rank", maintain_order=True).agg(
        span=start.max() - start.min(), count=number.max() - number.min()
    )
    means = spans.filter(pl.col("count") > 0).select(pl.col("span") / pl.col("count"))
    return float(means.to_series().max() or 0.0) * 1e-9  # type: ignore[arg-type]


def _training(job: _Job) -> list[Quantity]:
    """Take training steps: their time, the operations of the model by it, and what is waited for.

    The slowest accelerator counts. Stages that differ make all wait for the slowest, which is no
    communication: it has a row of its own.
    """
    from etherweave.measurements.challenge import slowest

    ranks, parts = int(job.facts["ranks"]), step_times(job.facts)
    computing = parts["computation_s"] + parts["bubble_s"] + parts["imbalance_s"]
    steps = tuple(float(slowest(rows).mean()) for rows in job.frames)
    figures = [
        (metrics.ITERATION_TIME, steps),
        (metrics.FLOP_RATE, tuple(parts["operations"] / ranks / step for step in steps)),
        (metrics.IMBALANCE, (parts["imbalance_s"],)),
        (metrics.EXPOSED, tuple(step - computing for step in steps)),
        (metrics.EXPOSED_IN_NODES, (parts["in_node_s"],)),
        (metrics.ACCELERATOR_MEMORY, (float(memory_of(parts)),)),
    ]
    if job.repetition_errors:
        figures.append((metrics.REPETITION_ERROR, job.repetition_errors))
    return [
        Quantity(job.name, "training", "", metric, None, ranks, values, is_as_published=False)
        for metric, values in figures
    ]


def _moe(job: _Job) -> list[Quantity]:
    """Take dispatch and combine: from the last start to the last end, and DeepEP's bytes by it."""
    import polars as pl

    start, end = pl.col("start_ns"), pl.col("start_ns") + pl.col("duration_ns")
    span = (end.max() - start.max()) * 1e-9
    ranks, loads = int(job.facts["ranks"]), moe_loads(job.facts, job.seed)
    exchanges = list[Quantity]()
    for place, test in enumerate(("dispatch", "combine")):
        launches = [rows.filter(pl.col("iteration") % 2 == place) for rows in job.frames]
        if any(rows.is_empty() for rows in launches):  # The run ended before.
            continue
        spans = (rows.group_by("iteration", maintain_order=True).agg(span) for rows in launches)
        times = tuple(fmean(launch.get_column(launch.columns[-1])) for launch in spans)
        rates = tuple(loads["logical_bytes"][place] / time for time in times)
        sent = loads["network_tokens"] * loads["token_bytes"][place] / int(job.facts["tokens"])
        figures = [
            (metrics.CALL_TIME, times),
            (metrics.BANDWIDTH_LOGICAL, rates),
            (metrics.BYTES_PER_TOKEN, (sent,)),
        ]
        exchanges += [
            Quantity(job.name, "deepep", test, row, None, ranks, values) for row, values in figures
        ]
    return exchanges


_SPANS = (
    metrics.QUEUEING,
    metrics.PREFILL,
    metrics.TRANSFER,
    metrics.FIRST_STEP,
    metrics.TOKEN_GAP,
)
"""Rows of a request, one behind the other; what exchanges have of the last is a sixth row."""
_EXCHANGE = "exchange"


def _inference(job: _Job) -> list[Quantity]:
    """Take requests to a language model: their times, and what the fabric has of them."""
    launches = [_requests_of(rows) for rows in job.rows]
    ranks = sum(
        int(job.facts[pool]["workers"]) * int(job.facts[pool]["accelerators"])
        for pool in ("prefill", "decode")
    )
    figures = [
        (test, metric, tuple(_statistic(launch[metric.name], percent) for launch in launches))
        for metric in (metrics.FIRST_TOKEN_TIME, *_SPANS)
        for test, percent in _STATISTICS
    ]
    shares = (_of_fabric(run) / _mean_of(run, metrics.FIRST_TOKEN_TIME) for run in launches)
    figures.append(("", metrics.FABRIC_SHARE, tuple(shares)))
    if "experts" in job.facts and all(any(launch[metrics.TOKEN_GAP.name]) for launch in launches):
        figures.append(("", metrics.TOKEN_FABRIC_SHARE, tuple(map(_of_tokens, launches))))
    limits = [time_of(job.facts[key]) for key in ("first_token_max", "between_tokens_max")]
    figures.append(("", metrics.GOODPUT, tuple(_goodput(launch, limits) for launch in launches)))
    return [
        Quantity(job.name, "inference", test, metric, None, ranks, values, is_as_published=False)
        for test, metric, values in figures
    ]


def _of_fabric(launch: Mapping[str, list[float]]) -> float:
    """Add transfers and what experts exchange in the first step, which is as in each later one."""
    return _mean_of(launch, metrics.TRANSFER) + fmean(launch.get(_EXCHANGE) or [0.0])


def _of_tokens(launch: Mapping[str, list[float]]) -> float:
    """Return what experts exchange, of the time between tokens; a single token has none."""
    both = zip(launch[_EXCHANGE], launch[metrics.TOKEN_GAP.name], strict=True)
    exchanges, gaps = zip(*((own, gap) for own, gap in both if gap), strict=True)
    return fmean(exchanges) / fmean(gaps)


def _requests_of(rows: Columns) -> dict[str, list[float]]:
    """Return the spans of all requests [s], their sum until the first token, and their ends."""
    order = [*(metric.name for metric in _SPANS), _EXCHANGE]
    spans: dict[str, list[float]] = {name: [] for name in order}
    starts, ends = list[float](), list[float]()
    names = ("rank", "iteration", "start_ns", "duration_ns")
    places = sorted(zip(*(rows[name] for name in names), strict=True))
    for _, iteration, start, duration in places:
        name = order[iteration % len(order)]
        spans[name].append(duration * 1e-9)
        if name == metrics.QUEUEING.name:
            starts.append(start * 1e-9)
        if name == metrics.FIRST_STEP.name:
            ends.append((start + duration) * 1e-9)
    first = [end - start for start, end in zip(starts, ends, strict=True)]
    return {**spans, metrics.FIRST_TOKEN_TIME.name: first, "start": starts, "end": ends}


def _mean_of(launch: Mapping[str, list[float]], metric: metrics.Metric) -> float:
    return fmean(launch[metric.name])


def _statistic(times: list[float], percent: int | None) -> float:
    """Return the mean, or the least time that so many are not above."""
    if percent is None:
        return fmean(times)
    return sorted(times)[-(-percent * len(times) // 100) - 1]


def _goodput(launch: Mapping[str, list[float]], limits: list[float]) -> float:
    """Return how many requests in a second are within both limits."""
    both = zip(launch[metrics.FIRST_TOKEN_TIME.name], launch[metrics.TOKEN_GAP.name], strict=True)
    served = sum(first <= limits[0] and gap <= limits[1] for first, gap in both)
    return served / (max(launch["end"]) - min(launch["start"]))


def _checkpoint(job: _Job) -> list[Quantity]:
    """Take checkpoints: from the first start of a writer to the last end, and bytes by it."""
    import polars as pl

    start, end = pl.col("start_ns"), pl.col("start_ns") + pl.col("duration_ns")
    span = (end.max() - start.min()) * 1e-9
    spans = (rows.group_by("iteration", maintain_order=True).agg(span) for rows in job.frames)
    times = tuple(fmean(launch.get_column(launch.columns[-1])) for launch in spans)
    size = int(job.facts["parameters"]) * int(job.facts["parameter_bytes"])
    ranks, test = int(job.facts["writers"]) + int(job.facts["servers"]), job.facts["access"]
    figures = [
        (metrics.ELAPSED, times),
        (metrics.STORAGE_BANDWIDTH, tuple(size / time for time in times)),
    ]
    return [
        Quantity(job.name, "checkpoint", test, metric, size, ranks, values, is_as_published=False)
        for metric, values in figures
    ]


def _solver(job: _Job) -> list[Quantity]:
    """Take steps of OpenFOAM, by how they solve the pressure."""
    from etherweave.measurements.challenge import means

    (pressure,) = job.facts["pressure"]
    return _iterated("openfoam", pressure, job, [means(rows) for rows in job.frames])


def _sampled(launches: "Sequence[Times]", iterations: int) -> tuple[tuple[float, ...], float]:
    """Return the time of all iterations in each launch [s], and what half of the samples change."""
    samples = [times.tolist() for times in launches]
    values = tuple(time_of_all(times, iterations) for times in samples)
    halves = (time_of_all(times[: (len(times) + 1) // 2], iterations) for times in samples)
    return values, max(abs(half / full - 1) for half, full in zip(halves, values, strict=True))


_KINDS: dict[str, Callable[[_Job], list[Quantity]]] = {
    "osu_latency": _latency,
    "osu_bw": _bandwidth,
    "osu_bibw": _bandwidth_both,
    "osu_collective": _collective,
    "osu_one_sided_latency": _one_sided_latency,
    "osu_one_sided_bw": _one_sided_bandwidth,
    "imb": _exchange,
    "halo3d": _application("halo3d-26"),
    "fft": _application("subcom3d-a2a"),
    "incast": _incast,
    "request_response": _requests,
    **{f"hpcc_{test}": _challenge for test in _HPCC_TESTS},
    "hpl": _challenge,
    "npb": _parallel_benchmark,
    "npb_cg": _conjugate_gradient,
    "openfoam": _solver,
    "nccl_tests": _nccl_tests,
    "training": _training,
    "moe": _moe,
    "inference": _inference,
    "checkpoint": _checkpoint,
}
"""Functions by the names of workloads."""

_BY_FRAME = {
    *("hpl", "npb", "npb_cg", "openfoam", "training", "moe", "checkpoint", "request_response"),
    *(f"hpcc_{test}" for test in _HPCC_TESTS),
}
"""Kinds whose rows are read as tables."""
