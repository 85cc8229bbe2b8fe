"""The evaluation of Sandia's testbed: what runs, and what each check measures.

J. Kenny, J. Wilke, C. Ulmer, G. Baker, S. Knight, J. Friesen: *An Evaluation of Ethernet
Performance for Scientific Workloads*, INDIS 2020.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from statistics import mean
from typing import TypeAlias

import polars as pl

from etherweave.api.results import Result
from etherweave.measurements.quantities import quantities
from etherweave.study.experiments import RunExperiment

Results: TypeAlias = Mapping[str, Result]
Metric: TypeAlias = Callable[[Results], float]

TRANSPORTS: dict[str, dict[str, object]] = {
    "roce_v1": {"transport": {"roce": {"version": "v1"}}},
    "roce_v2": {"transport": {"roce": {"version": "v2"}}},
    "tcp": {"transport": {"tcp": {}}, "flow_control": {"none": {}}},
    "tcp_pfc": {"transport": {"tcp": {}}},
}
"""Overrides of each network option of the testbed."""

SIZES = ["8B", "1kB", "10kB", "100kB", "1MB", "8MB"]
SOURCES = [1, 2, 3, 4]
STREAMS = [1, 2, 4, 10]
PLACEMENT_SEEDS = [1, 2, 3]

ITERATIONS = 16_000  # Iterations of FFT, in the published total times.
CORE_PEAK = 33.6e9  # Operations of a core in a second: 2.1 GHz, 16 in a clock.
FORWARD: dict[str, object] = {"run.fast_forward": {"error": 0.01}}
"""All iterations, of which those are skipped whose time others predict."""
FORWARD_ALONE: dict[str, object] = {"run.fast_forward": {"error": 0.02}}
"""The same of FFT alone, on random hosts."""
FORWARD_BESIDE: dict[str, object] = {"run.fast_forward": {"error": 0.05}}
"""The same beside Halo3D, whose iterations last otherwise, so that both jobs drift against each
other: over RoCE, means of 500 iterations of FFT lie between 0.55 and 0.59 ms."""
SETTLED = 2_000
"""Iterations of a short run of FFT over TCP: interrupt moderation takes some 1,500 to settle."""


def experiments(full: bool) -> list[RunExperiment]:
    """List every experiment, with all iterations or with few."""
    lists = [
        _point_to_point_runs(),
        _incast_runs(),
        _proxy_runs(full),
        _linpack_runs(full),
        _interference_runs(full),
    ]
    return [experiment for group in lists for experiment in group]


def _point_to_point_runs() -> Iterator[RunExperiment]:
    bandwidth = {"osu_bw": {"bytes": "4MiB", "iterations": 4, "warm_up": 1}}
    for transport, options in TRANSPORTS.items():
        yield RunExperiment(f"p2p.{transport}.latency", "p2p", options)
        fast = {**options, "job.0.workload": bandwidth}
        yield RunExperiment(f"p2p.{transport}.bandwidth", "p2p", fast)


def _incast_runs() -> Iterator[RunExperiment]:
    for transport in ("roce_v2", "tcp"):
        for size in SIZES:
            for sources in SOURCES:
                for streams in STREAMS:
                    name = f"incast.{transport}.{size}.{sources}x{streams}"
                    incast: dict[str, object] = {
                        "sources": sources,
                        "streams_per_source": streams,
                        "message": size,
                    }
                    workload: dict[str, object] = {"job.0.workload.incast": incast}
                    yield RunExperiment(name, "incast", {**TRANSPORTS[transport], **workload})


def _proxy_runs(full: bool) -> Iterator[RunExperiment]:
    for transport in ("roce_v2", "tcp", "tcp_pfc"):
        for proxy, few in (("halo3d", 40), ("fft", 200 if transport == "roce_v2" else SETTLED)):
            shortened: dict[str, object] = {f"job.0.workload.{proxy}.iterations": few}
            options = {**TRANSPORTS[transport], **(FORWARD if full else shortened)}
            yield RunExperiment(f"{proxy}.{transport}", proxy, options)


def _linpack_runs(full: bool) -> Iterator[RunExperiment]:
    samples = {"job.0.workload.hpl.samples": 13 if full else 5}
    for transport in ("roce_v2", "tcp", "tcp_pfc"):
        yield RunExperiment(f"hpl.{transport}", "hpl", {**TRANSPORTS[transport], **samples})


def _interference_runs(full: bool) -> Iterator[RunExperiment]:
    """FFT alone and beside Halo3D, on random disjoint halves of the testbed."""
    # A single short iteration of Halo3D before FFT starts: as good as alone.
    alone: dict[str, object] = {"job.1.workload.halo3d.iterations": 1}
    if full:
        alone |= FORWARD_ALONE
    for seed in PLACEMENT_SEEDS:
        for transport in ("roce_v2", "tcp_pfc", "tcp"):
            options = {**TRANSPORTS[transport], "seed": seed}
            if full:
                options |= FORWARD_BESIDE
            else:
                few = 150 if transport == "roce_v2" else SETTLED
                options["job.0.workload.fft.iterations"] = few
            yield RunExperiment(f"qos.{transport}.alone.{seed}", "qos", {**options, **alone})
            yield RunExperiment(f"qos.{transport}.loaded.{seed}", "qos", options)
            if transport == "roce_v2":
                separate = {**options, "job.0.priority": 1}
                yield RunExperiment(f"qos.roce_v2.ets.{seed}", "qos", separate)


def metrics() -> dict[str, Metric]:
    """Every check by its id."""
    return {
        **_point_to_point(),
        **_incast(),
        **_proxies(),
        **_linpack(),
        **_pauses(),
        **_quality_of_service(),
    }


def iteration_ms(result: Result, job: str) -> float:
    """Mean time of an iteration over ranks and iterations [ms]."""
    rows = result.to_polars("iterations").filter(pl.col("job") == job)
    return float(rows["duration_ns"].mean() or 0.0) / 1e6  # type: ignore[arg-type]


def total_s(result: Result, job: str) -> float:
    """Time of all 16,000 iterations [s], from those that ran."""
    rows = result.to_polars("iterations").filter(pl.col("job") == job)
    spans = rows.select(
        first=pl.col("start_ns").min(),
        last=(pl.col("start_ns") + pl.col("duration_ns")).max(),
        count=pl.col("iteration").max() + 1,
    ).row(0)
    first, last, count = spans
    return float((last - first) / count * ITERATIONS / 1e9)


def goodput_gbps(result: Result) -> float:
    """Sum over streams [Gb/s]."""
    return float(result.to_polars("streams")["goodput_gbps"].sum())


def switch_pauses(result: Result, column: str, priority: int | None = None) -> int:
    """Sum of a pause counter over the ports of all switches."""
    ports = result.to_polars("ports").filter(~pl.col("node").str.starts_with("host"))
    if priority is not None:
        ports = ports.filter(pl.col("priority") == priority)
    return int(ports[column].sum())


def _point_to_point() -> dict[str, Metric]:
    def latency(name: str) -> Metric:
        # A round trip is two messages.
        return lambda results: iteration_ms(results[name], "p2p") * 1e3 / 2

    def bandwidth(name: str) -> Metric:
        bits = 64 * 4 * 2**20 * 8
        return lambda results: bits / (iteration_ms(results[name], "p2p") * 1e6)

    checks: dict[str, Metric] = {}
    for transport in ("roce_v1", "roce_v2", "tcp", "tcp_pfc"):
        checks[f"p2p.{transport}.latency"] = latency(f"p2p.{transport}.latency")
        checks[f"p2p.{transport}.bandwidth"] = bandwidth(f"p2p.{transport}.bandwidth")
    return checks


def _case(results: Results, transport: str, size: str, sources: int, streams: int) -> float:
    return goodput_gbps(results[f"incast.{transport}.{size}.{sources}x{streams}"])


def _best_small(transport: str, results: Results) -> float:
    return max(_case(results, transport, "8B", a, b) for a in SOURCES for b in STREAMS)


def _growth(transport: str, results: Results) -> float:
    few, many = (_case(results, transport, "8B", 1, streams) for streams in (1, STREAMS[-1]))
    return many / few


def _incast() -> dict[str, Metric]:
    large = SIZES[SIZES.index("10kB") :]

    def single(results: Results) -> float:
        return mean(_case(results, "tcp", size, 1, 1) for size in large)

    def many(results: Results) -> float:
        return mean(_case(results, "tcp", size, 4, 10) for size in large)

    def most(results: Results) -> float:
        grid = [(size, a, b) for size in SIZES[1:5] for a in SOURCES for b in STREAMS]
        good = [_case(results, "roce_v2", *point) >= 90 for point in grid]
        return 100 * mean(good)

    checks: dict[str, Metric] = {
        "incast.tcp.single_stream": single,
        "incast.tcp.many_streams": many,
        "incast.roce.1KB_to_1MB": most,
    }
    for name, transport in (("tcp", "tcp"), ("roce", "roce_v2")):
        checks[f"incast.small.{name}"] = partial(_best_small, transport)
        checks[f"incast.small.{name}.growth"] = partial(_growth, transport)
    return checks


def _proxies() -> dict[str, Metric]:
    def iteration(proxy: str, transport: str) -> Metric:
        return lambda results: iteration_ms(results[f"{proxy}.{transport}"], proxy)

    checks: dict[str, Metric] = {}
    for proxy in ("halo3d", "fft"):
        for name, transport in (("roce", "roce_v2"), ("tcp", "tcp"), ("tcp_pfc", "tcp_pfc")):
            checks[f"{proxy}.{name}.iteration"] = iteration(proxy, transport)

    def gain(results: Results) -> float:
        lossy, lossless = (checks[f"halo3d.{name}.iteration"] for name in ("tcp", "tcp_pfc"))
        return 100 * (1 - lossless(results) / lossy(results))

    return {**checks, "halo3d.tcp.pfc_gain": gain}


def _linpack() -> dict[str, Metric]:
    """Give shares of the peak of 3,072 cores [%], and their differences [points]."""

    def share(transport: str, results: Results) -> float:
        (found,) = [
            quantity
            for quantity in quantities(results[f"hpl.{transport}"])
            if quantity.test == "HPL"
        ]
        return 100 * found.median / (found.ranks * CORE_PEAK)

    roce, tcp, tcp_pfc = (partial(share, name) for name in ("roce_v2", "tcp", "tcp_pfc"))
    return {
        "hpl.roce": roce,
        "hpl.tcp": tcp,
        "hpl.difference": lambda results: roce(results) - tcp(results),
        "hpl.order": lambda results: roce(results) / tcp(results),
        "hpl.tcp_pfc": lambda results: tcp_pfc(results) - tcp(results),
    }


def _pauses() -> dict[str, Metric]:
    def both(result: Result) -> int:
        counters = ("tx_pause_packets", "rx_pause_packets")
        return sum(switch_pauses(result, counter) for counter in counters)

    def received(results: Results, transport: str) -> float:
        """Time for which NICs paused their leaves [us per iteration]; Table II sums durations."""
        result = results[f"halo3d.{transport}"]
        count = result.to_polars("iterations")["iteration"].max()
        iterations = int(count) + 1  # type: ignore[arg-type]
        ports = result.to_polars("ports").filter(pl.col("class") == "host")
        from_nics = ports.filter(~pl.col("node").str.starts_with("host"))
        return float(from_nics["rx_pause_duration_ns"].sum()) / 1e3 / iterations

    def sum_us(results: Results, transport: str, side: str) -> float:
        """Return durations of pauses of switches in Linpack's samples of panels [us]."""
        return switch_pauses(results[f"hpl.{transport}"], f"{side}_pause_duration_ns") / 1e3

    return {
        "pauses.hpl.ratio": lambda results: ratio(
            sum_us(results, "roce_v2", "rx"), sum_us(results, "tcp_pfc", "rx")
        ),
        "pauses.hpl.tx_ratio": lambda results: ratio(
            sum_us(results, "roce_v2", "tx"), sum_us(results, "tcp_pfc", "tx")
        ),
        "pauses.hpl.roce.tx_rx": lambda results: ratio(
            sum_us(results, "roce_v2", "tx"), sum_us(results, "roce_v2", "rx")
        ),
        "pauses.fft": lambda results: sum(
            both(results[f"fft.{transport}"]) for transport in ("roce_v2", "tcp", "tcp_pfc")
        ),
        "pauses.halo3d.tx": lambda results: sum(
            switch_pauses(results[f"halo3d.{transport}"], "tx_pause_packets")
            for transport in ("roce_v2", "tcp_pfc")
        ),
        "pauses.halo3d.roce": lambda results: received(results, "roce_v2"),
        "pauses.halo3d.ratio": lambda results: ratio(
            received(results, "tcp_pfc"), received(results, "roce_v2")
        ),
    }


def _quality_of_service() -> dict[str, Metric]:
    def total(option: str) -> Metric:
        return lambda results: mean(
            total_s(results[f"qos.{option}.{seed}"], "fft") for seed in PLACEMENT_SEEDS
        )

    tcp, tcp_loaded = total("tcp.alone"), total("tcp.loaded")
    roce, roce_loaded, ets = (total(f"roce_v2.{case}") for case in ("alone", "loaded", "ets"))

    def quick(results: Results) -> float:
        shares = []
        for seed in PLACEMENT_SEEDS:
            rows = results[f"qos.roce_v2.ets.{seed}"].to_polars("iterations")
            times = rows.filter(pl.col("job") == "fft")["duration_ns"]
            shares.append(int((times < 250_000).sum()) / len(times))
        return 100 * mean(shares)

    def pauses(
        results: Results, case: str, priority: int | None = None, of: str = "packets"
    ) -> int:
        names = [f"qos.{case}.{seed}" for seed in PLACEMENT_SEEDS]
        return sum(switch_pauses(results[name], f"rx_pause_{of}", priority) for name in names)

    def rate(results: Results, case: str, of: str) -> float:
        """Return pauses by the time of FFT, with which a run ends; the testbed's goes on."""
        times = (total_s(results[f"qos.{case}.{seed}"], "fft") for seed in PLACEMENT_SEEDS)
        return pauses(results, case, of=of) / sum(times)

    return {
        "qos.tcp.alone": tcp,
        "qos.tcp.loaded": tcp_loaded,
        "qos.tcp.slowdown": lambda results: tcp_loaded(results) / tcp(results),
        "qos.roce.alone": roce,
        "qos.roce.loaded": roce_loaded,
        "qos.roce.slowdown": lambda results: roce_loaded(results) / roce(results),
        "qos.roce.ets": lambda results: ets(results) / roce(results),
        "qos.roce.ets_most_iterations": quick,
        "qos.pauses.ratio": lambda results: ratio(
            pauses(results, "tcp_pfc.loaded"), pauses(results, "roce_v2.loaded")
        ),
        "qos.pauses.priorities": lambda results: ratio(
            pauses(results, "tcp_pfc.loaded", 1), pauses(results, "tcp_pfc.loaded", 0)
        ),
        "qos.pauses.roce_priorities": lambda results: ratio(
            pauses(results, "roce_v2.loaded", 1), pauses(results, "roce_v2.loaded", 0)
        ),
        "qos.pauses.ets": lambda results: ratio(
            rate(results, "roce_v2.ets", "packets"), rate(results, "roce_v2.loaded", "packets")
        ),
        "qos.pauses.ets_duration": lambda results: ratio(
            rate(results, "roce_v2.ets", "duration_ns"),
            rate(results, "roce_v2.loaded", "duration_ns"),
        ),
    }


def ratio(above: float, below: float) -> float:
    """Divide; without anything below there is no ratio, and a check of it fails."""
    return above / below if below > 0 else float("nan")
