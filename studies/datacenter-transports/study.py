"""HPCC against DCQCN on 320 hosts, DCTCP's queue, Swift, TIMELY, and incasts over trimming."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import polars as pl

from etherweave.api.flow_times import FlowTimes, flow_times
from etherweave.api.results import Result
from etherweave.study.declared import Metric, Results
from etherweave.study.experiments import RunExperiment

LOADS = (30, 50)
SHORT, LONG, RPC = 200_000, 1_000_000, 10_000
"""Below it a flow is short, from it on long, below it an RPC [B]."""
PACKET = 1_106  # Packet of the queue of DCTCP in a buffer [B].
SENDERS = (2, 10)
FABRIC = ("hpcc", "dcqcn")
CONTROLS: dict[str, dict[str, object]] = {
    "hpcc": {"transport.roce.hpcc": {"base_round_trip": "13us"}},
    "dcqcn": {
        "transport.roce.dcqcn": {"rpg_ai_rate": "20Mb/s", "rpg_hai_rate": "200Mb/s"},
        "switch.ecn": {"queue_min": "400kB", "queue_max": "1600kB", "share_max": 0.2},
    },
    "swift": {
        "transport.roce.swift": {
            "base_target": "20us",
            "flow_scaling": "100us",
            "initial_window": "60kB",
        }
    },
}
INCASTS = (16, 128)
"""Senders of the incasts over trimming."""
RESPONSE = 450_000
"""Payload of each of them [B]."""
ENDS = {"AB": ("host0", "host1"), "AC": ("host0", "host2"), "AD": ("host0", "host3")}
ENDS |= {"AE": ("host0", "host4"), "FE": ("host5", "host4")}
"""Source and destination of the flows in and out of A and E."""
NEIGHBOURS: dict[str, dict[str, object]] = {
    "ndp": {
        "transport.uet": {
            "payload_mtu": "8KiB",
            "control_priority": 6,
            "rccc": {"base_round_trip": "110us", "grant": "8448B"},
        },
        "switch.egress_threshold": {"static": "72kB"},
        "switch.trimming": {"size": "64B", "priority": 6},
        "flow_control.none": {},
        "ets.weights": [100, 0, 0, 0, 0, 0, 0, 0],
    },
    "dctcp": {
        "transport.roce": {
            "reliability": "selective_repeat",
            "ack_every": 1,
            "window": "512KiB",
            "dctcp": {},
        },
        "switch.ecn": {"queue_min": "72kB", "queue_max": "72kB", "share_max": 1.0},
        "flow_control.pfc": {},
    },
}


def experiments(full: bool) -> Iterator[RunExperiment]:
    """List the runs; all of them are longer in a complete study."""
    length, until = ("100ms", "20ms") if full else ("2ms", "2ms")
    duration = {f"job.{job}.workload.flows.duration": length for job in (0, 1)}
    duration["observe.until"] = until
    for control in FABRIC:
        for load in LOADS:
            changes = {"job.0.workload.flows.load": load / 100, **CONTROLS[control]}
            yield RunExperiment(f"{control}.{load}", "fabric", {**duration, **changes})
    alone = {"job.0.workload.flows.load": 0.8, "run.jobs": ["background"], **CONTROLS["swift"]}
    yield RunExperiment("swift.80", "fabric", {**duration, **alone})
    for senders in SENDERS:
        yield RunExperiment(f"dctcp.{senders}", "queue", {"job.0.workload.incast.sources": senders})
    yield RunExperiment("kernel.new_reno", "kernel")
    marks = {"queue_min": "100kB", "queue_max": "100kB", "share_max": 1.0}
    dctcp = {
        "transport.tcp.congestion_control": "dctcp",
        "transport.tcp.ecn": True,
        "switch.ecn": marks,
    }
    yield RunExperiment("kernel.dctcp", "kernel", dctcp)
    yield RunExperiment("ndp.in_and_out", "trimming")
    for senders in INCASTS:
        responses = listed((sender, senders, RESPONSE) for sender in range(senders))
        alone = {"job.0.workload.flows.text": responses, "run.warm_up": "0s", "run.end": "1s"}
        changes = {"topology.single_switch.hosts": senders + 1, **alone}
        yield RunExperiment(f"ndp.incast.{senders}", "trimming", changes)
    responses = listed((sender, 0, RESPONSE) for sender in range(8, 72))
    for name, changes in NEIGHBOURS.items():
        incast = {"job.1.workload.flows.text": responses, **changes}
        yield RunExperiment(f"collateral.{name}", "collateral", incast)
    probes = "source,destination,bytes,start_us\n"
    probes += "".join(f"11,0,1000,{start}\n" for start in range(0, 30_000, 100))
    beside: dict[str, object] = {"job.1.workload.flows.text": probes}
    yield RunExperiment("probes.pfc", "probes", beside)
    yield RunExperiment("probes.timely", "probes", {**beside, "transport.roce.timely": {}})


def listed(flows: Iterable[tuple[int, int, int]]) -> str:
    """Write flows that start at once as a list."""
    return "source,destination,bytes\n" + "".join(f"{a},{b},{size}\n" for a, b, size in flows)


def background(result: Result) -> FlowTimes:
    """Give the flows of the background, without those of incasts."""
    return next(times for times in flow_times(result) if times.job == "background")


def quantile(values: Sequence[float], share: float) -> float:
    """Return the quantile of values, with linear interpolation."""
    return float(pl.Series(values).quantile(share, "linear") or 0.0)


def slowdown(result: Result, share: float, below: float = SHORT, least: int = 0) -> float:
    """Return a quantile of slowdowns of flows of some sizes."""
    rows = [(size, factor) for size, factor, _ in background(result).rows if factor is not None]
    return quantile([factor for size, factor in rows if least <= size < below], share)


def reduction(results: Results) -> float:
    """Return by which share HPCC shortens a tail of DCQCN's, at most, over buckets and loads."""
    return max(_reductions(results))


def _reductions(results: Results) -> Iterator[float]:
    for load in LOADS:
        hpcc, dcqcn = (background(results[f"{name}.{load}"]).buckets() for name in FABRIC)
        for quick, slow in zip(hpcc, dcqcn, strict=True):
            for name in quick.quantiles.keys() & {"p95", "p99"}:
                yield 1 - quick.quantiles[name] / slow.quantiles[name]


def queue(result: Result, share: float) -> float:
    """Return a quantile of the sampled queues [B]; ports that carried nothing are empty."""
    return quantile(result.values("port_samples", "occupancy_bytes"), share)


def paused(result: Result) -> float:
    """Return the share of time for which ports are paused, over all ports and priorities in use."""
    ports = result.to_polars("ports")
    return float(ports["rx_pause_duration_ns"].sum()) / (len(ports) * result.summary["end_ns"])


def mean_queue(result: Result) -> float:
    """Return the mean of the sampled queue [B]."""
    queues = result.values("port_samples", "occupancy_bytes")
    return math.fsum(queues) / len(queues)


def goodput(result: Result) -> float:
    """Return what the long streams received together [Gb/s]."""
    streams = result.to_polars("streams").filter(pl.col("job") == "long")
    return math.fsum(streams["goodput_gbps"])


def gain(results: Results, share: float) -> float:
    """Return a quantile of slowdowns of short flows with DCQCN over that with HPCC, at 30 %."""
    return slowdown(results["dcqcn.30"], share) / slowdown(results["hpcc.30"], share)


def long_flows(results: Results) -> float:
    """Return the median slowdown of long flows with HPCC over that with DCQCN, at 30 %."""
    hpcc, dcqcn = (slowdown(results[f"{name}.30"], 0.5, math.inf, LONG) for name in FABRIC)
    return hpcc / dcqcn


def rpc_time(result: Result) -> float:
    """Return the 99th percentile of completion times of the shortest flows [us]."""
    return quantile([time for size, _, time in background(result).rows if size < RPC], 0.99)


def rate_between(result: Result, ends: tuple[str, str]) -> float:
    """Return what streams between two hosts received [Gb/s]."""
    streams = result.to_polars("streams")
    is_own = (pl.col("source_host") == ends[0]) & (pl.col("destination_host") == ends[1])
    return float(streams.filter(is_own)["goodput_gbps"].sum())


def overhead(result: Result) -> float:
    """Return by which share the last flow of an incast ends after all payload at 10 Gb/s."""
    ends = result.values("flow_times", "end_ns")
    return float(max(ends)) / (len(ends) * RESPONSE * 8 / 10) - 1


def probe_time(result: Result) -> float:
    """Return the 99th percentile of completion times of probes [us]."""
    probes = next(times for times in flow_times(result) if times.job == "probes")
    return quantile([time for _, _, time in probes.rows], 0.99)


def neighbour(result: Result) -> float:
    """Return what the long flow beside an incast received [Gb/s]."""
    return rate_between(result, ("host79", "host1"))


def ratio(figure: Callable[[Result], float], over: str, under: str, results: Results) -> float:
    """Return a figure of one experiment over that of another."""
    return figure(results[over]) / figure(results[under])


def of(figure: Callable[[Result], float], name: str, results: Results) -> float:
    """Return a figure of an experiment."""
    return figure(results[name])


def metrics() -> dict[str, Metric]:
    """Every check by its id."""
    tail, short = partial(queue, share=0.999), partial(slowdown, share=0.99)
    figures: dict[str, Metric] = {
        "hpcc.reduction": reduction,
        "hpcc.gain.tail": lambda results: gain(results, 0.99) / gain(results, 0.5),
        "hpcc.long.median": long_flows,
        "hpcc.queue.ratio": partial(ratio, tail, "hpcc.50", "dcqcn.50"),
        "dcqcn.paused.50": partial(of, paused, "dcqcn.50"),
        "dcqcn.load.p99": partial(ratio, short, "dcqcn.50", "dcqcn.30"),
        "dctcp.goodput": partial(ratio, goodput, "kernel.dctcp", "kernel.new_reno"),
        "dctcp.queue.ratio": partial(ratio, mean_queue, "kernel.dctcp", "kernel.new_reno"),
        "swift.short.p99": partial(of, rpc_time, "swift.80"),
        "ndp.collateral": partial(of, neighbour, "collateral.ndp"),
        "ndp.collateral.ratio": partial(ratio, neighbour, "collateral.dctcp", "collateral.ndp"),
        "timely.p99": partial(ratio, probe_time, "probes.pfc", "probes.timely"),
        "timely.goodput": partial(of, goodput, "probes.timely"),
    }
    for pair, ends in ENDS.items():
        between = partial(rate_between, ends=ends)
        figures[f"ndp.rate.{pair}"] = partial(of, between, "ndp.in_and_out")
    for senders in INCASTS:
        figures[f"ndp.incast.{senders}"] = partial(of, overhead, f"ndp.incast.{senders}")
    for load in LOADS:
        name = f"hpcc.{load}"
        figures[f"hpcc.short.p95.{load}"] = partial(of, partial(slowdown, share=0.95), name)
        figures[f"hpcc.queue.p99.{load}"] = partial(of, queue_kb, name)
        figures[f"hpcc.paused.{load}"] = partial(of, paused, name)
    for senders in SENDERS:
        name = f"dctcp.{senders}"
        figures[f"dctcp.queue.max.{senders}"] = partial(of, packets_max, name)
        figures[f"dctcp.queue.depth.{senders}"] = partial(of, depth, name)
    return figures


def queue_kb(result: Result) -> float:
    """Return the 99th percentile of the sampled queues [kB]."""
    return queue(result, 0.99) / 1e3


def packets_max(result: Result) -> float:
    """Return the longest sampled queue [packets]."""
    return queue(result, 1) / PACKET


def depth(result: Result) -> float:
    """Return how far the sampled queue falls below its longest [packets]."""
    return (queue(result, 1) - queue(result, 0)) / PACKET
