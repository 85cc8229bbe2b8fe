"""Plausibility of results: signs of an invalid run, each seen in practice."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from etherweave.measurements.benchmark_report import BenchmarkReport, Measurement
from etherweave.measurements.metrics import CALL_TIME, LATENCY, ROUND_TRIP, Metric

SMALL = 8192  # Messages up to here wait for latency, not for the link [bytes].
LEAVES_THE_HOST = 0.3e-6  # No message crosses a network faster, one way [s].
_WAITS = (LATENCY, CALL_TIME, ROUND_TRIP)
_TAIL_FACTOR = 50  # Ratio of the 99th percentile to the median from which on a warning is given.


def with_warnings(report: BenchmarkReport) -> BenchmarkReport:
    """Add what is implausible to the report's warnings."""
    doubts = (*report.warnings, *_suspicions(report.measurements))
    return replace(report, warnings=tuple(dict.fromkeys(doubts)))


def _suspicions(measurements: Iterable[Measurement]) -> Iterator[str]:
    waits = [row for row in measurements if row.metric in _WAITS and (row.size_bytes or 0) <= SMALL]
    yield from _polling(waits)
    yield from _shared_memory(waits)
    yield from _outliers(waits)


def _polling(waits: list[Measurement]) -> Iterator[str]:
    centres = [wait for wait in waits if wait.statistic in ("mean", "p50")]
    slow = [centre for centre in centres if is_slice(centre.value)]
    if slow and len(slow) * 2 >= len(centres):
        yield (
            f"oversubscribed? times of {slow[0].printed} are slices of the scheduler: "
            "processes that poll share a core"
        )


def _shared_memory(waits: list[Measurement]) -> Iterator[str]:
    fast = [
        wait
        for wait in waits
        if wait.metric is LATENCY and wait.statistic in ("mean", "p50") and wait.size_bytes
        if 0 < wait.value < LEAVES_THE_HOST
    ]
    if fast:
        yield f"a latency of {fast[0].printed} never left the host: shared memory?"


def _outliers(waits: list[Measurement]) -> Iterator[str]:
    points: dict[tuple[Metric, int | None, object], dict[str, Measurement]] = defaultdict(dict)
    for wait in waits:
        points[wait.metric, wait.size_bytes, wait.labels][wait.statistic] = wait
    heavy = [point for point in points.values() if _is_above(point, "mean", "p99", 1)]
    if heavy:
        mean, tail = heavy[0]["mean"], heavy[0]["p99"]
        yield (
            f"outliers carry the mean at {len(heavy)} of {len(points)} points, "
            f"such as {mean.printed} above a 99th percentile of {tail.printed}: use the median"
        )
    long = [point for point in points.values() if _is_above(point, "p99", "p50", _TAIL_FACTOR)]
    if long:
        yield f"long tail: {long[0]['p99'].printed} at 99 %, {long[0]['p50'].printed} at 50 %"


def _is_above(point: dict[str, Measurement], high: str, low: str, factor: float) -> bool:
    return high in point and low in point and point[high].value > factor * point[low].value


SLICE = (3.5e-3, 7e-3)  # Range of means and medians of such waits: 5 ms to 6 ms were seen [s].
WAIT = (2e-3, 12e-3)  # Range of a single one: a slice of 3 ms to 6 ms, or two of them [s].


def is_slice(centre: float) -> bool:
    """Whether a mean or a median [s] looks like a slice rather than like a network."""
    return SLICE[0] < centre < SLICE[1]


def is_wait(time: float) -> bool:
    """Whether a single time [s] does."""
    return WAIT[0] < time < WAIT[1]
