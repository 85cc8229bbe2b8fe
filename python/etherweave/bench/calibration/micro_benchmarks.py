"""Micro-benchmarks that unknowns are inferred from, and their times.

Each is a workload of the simulator, so that the same schedule is simulated and measured.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

import polars as pl

Workload: TypeAlias = Mapping[str, Mapping[str, object]]
Average: TypeAlias = Literal["midmean", "mean"]
"""Average over the iterations of a launch. The mean of the middle half is robust against disturbed
iterations and, unlike the median, against two kinds of them. Benchmarks print the mean."""


class ChallengeTest(NamedTuple):
    """A figure of the HPC Challenge, by whose time a launch counts."""

    test: str
    is_fitted: bool  # Whether unknowns may be inferred from it.


Centre: TypeAlias = Average | ChallengeTest  # Measure of a launch.

_LATENCY = {8: 1000, 1024: 1000, 8192: 400, 65536: 100, 262144: 40}  # Round trips by size [bytes].
_BANDWIDTH = {64: 200, 1024: 100, 16384: 20, 131072: 4}  # Windows by size [bytes].
_INCAST_BYTES = 16 << 20  # Sent by each source [bytes].
_INCASTS: Mapping[str, Sequence[tuple[int, int]]] = {
    "tcp": ((65536, 1),),
    "roce": ((65536, 1), (8192, 4)),
}
"""Size of messages [bytes] and number outstanding per source, by transport. With several short ones
a NIC changes its connection with almost every packet: no other benchmark shows the cost of that.
They are long enough that MPI is no bottleneck, since streams are simulated without it."""


class MicroBenchmark(NamedTuple):
    """One micro-benchmark of one size."""

    name: str
    workload: Workload


def micro_benchmarks(hosts: int, transport: str) -> tuple[MicroBenchmark, ...]:
    """List the micro-benchmarks of a calibration.

    ``hosts`` is the number that takes part; from three on there is an incast. ``transport`` is its
    key in a scenario.
    """
    latency = [
        MicroBenchmark(
            f"osu_latency-{size}", {"osu_latency": {"bytes": f"{size}B", "iterations": turns}}
        )
        for size, turns in _LATENCY.items()
    ]
    bandwidth = [
        MicroBenchmark(f"osu_bw-{size}", {"osu_bw": {"bytes": f"{size}B", "iterations": turns}})
        for size, turns in _BANDWIDTH.items()
    ]
    incasts = _INCASTS[transport] if hosts > 2 else ()
    return (*latency, *bandwidth, *(_incast(hosts - 1, *incast) for incast in incasts))


def _incast(sources: int, size: int, outstanding: int) -> MicroBenchmark:
    facts = {
        "sources": sources,
        "message": f"{size}B",
        "outstanding": outstanding,
        "messages": _INCAST_BYTES // size,
    }
    return MicroBenchmark(f"incast-{sources}-{size}", {"incast": facts})


def seconds(iterations: pl.DataFrame, streams: pl.DataFrame, centre: Average) -> float:
    """Return the time of one launch: of an iteration, or of all streams together [s].

    ``iterations`` and ``streams`` are tables of a run, or of one launch of a measurement; one of
    them has rows. Raises ``ValueError`` when neither has rows.
    """
    if not iterations.is_empty():
        return _centre(iterations["duration_ns"], centre) / 1e9
    if not streams.is_empty() and streams["end_ns"].null_count() == 0:
        first, last = streams["start_ns"].min(), streams["end_ns"].max()
        return float(last - first) / 1e9  # type: ignore[operator,arg-type]
    raise ValueError("no iterations and no streams that ended; expected a workload that ends")


def reported_share(test: str) -> float:
    """Return the part of an iteration that tables show: OSU's latency is half a round trip.

    ``test`` is the key of a workload in a scenario.
    """
    return 0.5 if test == "osu_latency" else 1.0


def _centre(durations: pl.Series, centre: Average) -> float:
    if centre == "mean":
        return float(durations.mean())  # type: ignore[arg-type]
    values = durations.sort()
    quarter = len(values) // 4
    middle = values.slice(quarter, len(values) - 2 * quarter)
    return float(middle.mean())  # type: ignore[arg-type]
