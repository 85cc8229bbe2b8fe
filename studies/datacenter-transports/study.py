"""HPCC against DCQCN on 320 hosts, the queue of DCTCP, and short flows of Swift."""

from collections.abc import Callable, Iterator, Sequence

import polars as pl

from etherweave.api.flow_times import FlowTimes, flow_times
from etherweave.api.results import Result
from etherweave.study.declared import Metric, Results
from etherweave.study.experiments import RunExperiment

LOADS = (30, 50)
SHORT, LONG, RPC = 200_000, 1_000_000, 10_000
"""Below it a flow is short, from it on long, below it an RPC [B]."""
PACKET = 1_106
"""Packet of the queue of DCTCP in a buffer [B]."""
SENDERS = (2, 10)
CONTROLS: dict[str, dict[str, object]] = {
    "hpcc": {"transport.roce.hpcc": {"base_round_trip": "13us"}},
    "dcqcn": {
        "transport.roce.dcqcn": {"rpg_ai_rate": "20Mb/s", "rpg_hai_rate": "200Mb/s"},
        "switch.ecn": {"queue_min": "400kB", "queue_max": "1600kB", "share_max": 0.2},
    },
    "swift": {"transport.roce.swift": {"base_target": "20us", "flow_scaling": "100us"}},
}


def experiments(full: bool) -> Iterator[RunExperiment]:
    """List the runs; all of them are longer in a complete study."""
    length, until = ("100ms", "20ms") if full else ("2ms", "2ms")
    duration = {f"job.{job}.workload.flows.duration": length for job in (0, 1)}
    duration["observe.until"] = until
    for control in ("hpcc", "dcqcn"):
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


def background(result: Result) -> FlowTimes:
    """Give the flows of the background, without those of incasts."""
    return next(times for times in flow_times(result) if times.job == "background")


def quantile(values: Sequence[float], share: float) -> float:
    """Return the quantile of values, with linear interpolation."""
    return float(pl.Series(values).quantile(share, "linear") or 0.0)


def slowdown(result: Result, share: float, below: float = SHORT, least: int = 0) -> float:
    """Return a quantile of slowdowns of flows of some sizes."""
    rows = background(result).rows
    return quantile([factor for size, factor, _ in rows if least <= size < below], share)


def reduction(results: Results) -> float:
    """Return by which share HPCC shortens a tail of DCQCN's, at most, over buckets and loads."""
    pairs = [
        zip(*(background(results[f"{name}.{load}"]).buckets() for name in ("hpcc", "dcqcn")))
        for load in LOADS
    ]
    return max(
        1 - hpcc.quantiles[name] / dcqcn.quantiles[name]
        for pair in pairs
        for hpcc, dcqcn in pair
        for name in ("p95", "p99")
        if name in hpcc.quantiles
    )


def queue(result: Result, share: float) -> float:
    """Return a quantile of the sampled queues [B]; ports that carried nothing are empty."""
    return quantile(result.values("port_samples", "occupancy_bytes"), share)


def paused(result: Result) -> float:
    """Return the share of time for which ports are paused, over all ports and priorities in use."""
    ports = result.to_polars("ports")
    return float(ports["rx_pause_duration_ns"].sum()) / (len(ports) * result.summary["end_ns"])


def mean_queue(result: Result) -> float:
    """Return the mean of the sampled queue [B]."""
    return float(result.to_polars("port_samples")["occupancy_bytes"].cast(pl.Float64).mean())


def goodput(result: Result) -> float:
    """Return what all streams received [Gb/s]."""
    return float(result.to_polars("streams")["goodput_gbps"].sum())


def metrics() -> dict[str, Metric]:
    """Every check by its id."""
    both: Callable[[Results], tuple[Result, Result]] = lambda r: (r["hpcc.30"], r["dcqcn.30"])
    gain = lambda r, share: slowdown(both(r)[1], share) / slowdown(both(r)[0], share)  # noqa: E731
    found: dict[str, Metric] = {
        "hpcc.reduction": reduction,
        "hpcc.gain.tail": lambda r: gain(r, 0.99) / gain(r, 0.5),
        "hpcc.long.median": lambda r: (
            slowdown(both(r)[0], 0.5, float("inf"), LONG)
            / slowdown(both(r)[1], 0.5, float("inf"), LONG)
        ),
        "hpcc.queue.ratio": lambda r: queue(r["hpcc.50"], 0.999) / queue(r["dcqcn.50"], 0.999),
        "dcqcn.paused.50": lambda r: paused(r["dcqcn.50"]),
        "dcqcn.load.p99": lambda r: slowdown(r["dcqcn.50"], 0.99) / slowdown(r["dcqcn.30"], 0.99),
        "dctcp.goodput": lambda r: goodput(r["kernel.dctcp"]) / goodput(r["kernel.new_reno"]),
        "dctcp.queue.ratio": lambda r: (
            mean_queue(r["kernel.dctcp"]) / mean_queue(r["kernel.new_reno"])
        ),
        "swift.short.p99": lambda r: quantile(
            [time for size, _, time in background(r["swift.80"]).rows if size < RPC], 0.99
        ),
    }
    for load in LOADS:
        name = f"hpcc.{load}"
        found[f"hpcc.short.p95.{load}"] = lambda r, name=name: slowdown(r[name], 0.95)
        found[f"hpcc.queue.p99.{load}"] = lambda r, name=name: queue(r[name], 0.99) / 1e3
        found[f"hpcc.paused.{load}"] = lambda r, name=name: paused(r[name])
    for senders in SENDERS:
        name = f"dctcp.{senders}"
        found[f"dctcp.queue.max.{senders}"] = lambda r, name=name: queue(r[name], 1) / PACKET
        found[f"dctcp.queue.depth.{senders}"] = lambda r, name=name: (
            (queue(r[name], 1) - queue(r[name], 0)) / PACKET
        )
    return found
