"""The experiments of the Sandia evaluation: which scenario, with which overrides."""

from collections.abc import Iterator

from etherweave.study.simulated import Simulated

TRANSPORTS: dict[str, dict[str, object]] = {
    "roce_v1": {"transport": {"roce": {"version": "v1"}}},
    "roce_v2": {"transport": {"roce": {"version": "v2"}}},
    "tcp": {"transport": {"tcp": {}}, "flow_control": {"none": {}}},
    "tcp_pfc": {"transport": {"tcp": {}}},
}
"""What switches between the testbed's network options."""

SIZES = ["8B", "1kB", "10kB", "100kB", "1MB", "8MB"]
SOURCES = [1, 2, 3, 4]
STREAMS = [1, 2, 4, 10]
PLACEMENT_SEEDS = [1, 2, 3]


def experiments(full: bool) -> list[Simulated]:
    """List every experiment, with all iterations or with few."""
    lists = [_point_to_point(), _incast(), _proxies(full), _quality_of_service(full)]
    return [experiment for group in lists for experiment in group]


def _point_to_point() -> Iterator[Simulated]:
    bandwidth = {"osu_bw": {"bytes": "4MiB", "iterations": 4, "warm_up": 1}}
    for transport, options in TRANSPORTS.items():
        yield Simulated(f"p2p.{transport}.latency", "p2p", options)
        fast = {**options, "job.0.workload": bandwidth}
        yield Simulated(f"p2p.{transport}.bandwidth", "p2p", fast)


def _incast() -> Iterator[Simulated]:
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
                    yield Simulated(name, "incast", {**TRANSPORTS[transport], **workload})


def _proxies(full: bool) -> Iterator[Simulated]:
    for transport in ("roce_v2", "tcp", "tcp_pfc"):
        for proxy, few in (("halo3d", 40), ("fft", 200)):
            options = dict(TRANSPORTS[transport])
            if not full:
                options[f"job.0.workload.{proxy}.iterations"] = few
            yield Simulated(f"{proxy}.{transport}", proxy, options)


def _quality_of_service(full: bool) -> Iterator[Simulated]:
    """FFT alone and beside Halo3D, on random disjoint halves of the testbed."""
    short: dict[str, object] = {} if full else {"job.0.workload.fft.iterations": 150}
    # A single short iteration of Halo3D before FFT starts: as good as alone.
    alone: dict[str, object] = {"job.1.workload.halo3d.iterations": 1}
    for seed in PLACEMENT_SEEDS:
        for transport in ("roce_v2", "tcp_pfc"):
            options = {**TRANSPORTS[transport], **short, "seed": seed}
            yield Simulated(f"qos.{transport}.alone.{seed}", "qos", {**options, **alone})
            yield Simulated(f"qos.{transport}.loaded.{seed}", "qos", options)
        separate = {**TRANSPORTS["roce_v2"], **short, "seed": seed, "job.0.priority": 1}
        yield Simulated(f"qos.roce_v2.ets.{seed}", "qos", separate)
        tcp = {**TRANSPORTS["tcp"], **short, "seed": seed}
        yield Simulated(f"qos.tcp.alone.{seed}", "qos", {**tcp, **alone})
        yield Simulated(f"qos.tcp.loaded.{seed}", "qos", tcp)
