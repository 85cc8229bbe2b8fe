"""Key performance indicators of a run, each with the point at which it is observed.

Ports of switches give what is DUT-reported, flows and streams what crosses the boundary at NICs,
iterations and transfers what software sees.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from etherweave.api.results import Result
from etherweave.bmwg import formulas
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.model import Column, Metric, ObservationPoint

BOUNDARY, REPORTED = ObservationPoint.BOUNDARY, ObservationPoint.REPORTED
SOFTWARE, SETTING = ObservationPoint.SOFTWARE, ObservationPoint.SETTING
TREE_PEERS_MAX = 4  # Most peers in a double binary tree: three of an inner node, one of a leaf.
PERCENTILES = (50, 95, 99, 99.9)  # Percentiles of latencies (T 5.2).


def rows(result: Result, table: str, *columns: str) -> Iterator[tuple[Any, ...]]:
    """Read columns of a table; nothing where the result has no such table."""
    if table in result.tables:
        yield from zip(*(result.values(table, column) for column in columns), strict=True)


def stream_rates(result: Result, job: str = "") -> list[float]:
    """Read the goodput of each stream of the jobs whose names begin so [Gb/s]."""
    streams = rows(result, "streams", "job", "goodput_gbps")
    return [rate for name, rate in streams if name.startswith(job)]


def stream_times_us(result: Result, job: str = "") -> list[float]:
    """Read the completion time of each stream of the jobs whose names begin so [us]."""
    streams = rows(result, "streams", "job", "start_ns", "end_ns")
    return [(end - start) / 1e3 for name, start, end in streams if name.startswith(job)]


def iterations_us(result: Result, job: str = "") -> list[float]:
    """Read how long iterations took, each until its last rank was done [us]."""
    slowest: dict[tuple[str, int], float] = {}
    for name, number, duration in rows(result, "iterations", "job", "iteration", "duration_ns"):
        if name.startswith(job):
            slowest[name, number] = max(slowest.get((name, number), 0.0), duration / 1e3)
    return list(slowest.values())


class SwitchCounters(NamedTuple):
    """Counters of all ports of switches, over the run."""

    tx_packets: int
    marked: int
    drops: int
    pauses: int
    """Frames with quanta above 0 that switches sent or hosts sent them; X-ON is none of them."""
    paused_us: float
    """Time for which ports of switches held their peers paused, all of them together [us]."""
    paused_us_max: float  # The longest of a port and priority [us].
    occupancy_max: int  # Largest occupancy of a queue [B].


def counters(fabric: BenchFabric, result: Result) -> SwitchCounters:
    """Sum the counters of switches."""
    hosts = set(fabric.host_names)
    names = (
        "tx_packets",
        "ecn_marked_packets",
        "drops_packets",
        "tx_pause_xoff_packets",
        "tx_pause_refresh_packets",
        "tx_pause_duration_ns",
        "occupancy_bytes_max",
    )
    every = list(rows(result, "ports", "node", *names))
    own = [row[1:] for row in every if row[0] not in hosts]
    if not own:
        return SwitchCounters(0, 0, 0, 0, 0.0, 0.0, 0)
    sent, marked, drops, _, _, paused, depth = zip(*own, strict=True)
    return SwitchCounters(
        sum(sent),
        sum(marked),
        sum(drops),
        sum(xoff + refresh for *_, xoff, refresh, _, _ in every),
        math.fsum(paused) / 1e3,
        max(paused) / 1e3,
        max(depth),
    )


def uplink_bytes(fabric: BenchFabric, result: Result) -> list[int]:
    """Sum what each port of a leaf sent to other switches, all that there are [B]."""
    sums = dict.fromkeys(fabric.uplinks, 0)
    for node, port, size in rows(result, "ports", "node", "port", "tx_bytes"):
        if (node, port) in sums:
            sums[node, port] += size
    return list(sums.values())


def uplink_shares(fabric: BenchFabric, result: Result) -> list[float]:
    """Compute the utilisation of each port of a leaf to other switches, over the run [%]."""
    span_ns = result.summary["end_ns"]
    rates = fabric.uplinks.values()
    sizes = uplink_bytes(fabric, result)
    return [800 * size / (rate * span_ns) for size, rate in zip(sizes, rates, strict=True)]


def uplinks_max(fabric: BenchFabric) -> Metric:
    """Return the utilisation of the busiest port of a leaf to another switch."""
    return REPORTED.metric(
        "uplinks, most [%]", lambda run: max(uplink_shares(fabric, run), default=None)
    )


def flow_sums(result: Result) -> tuple[int, int, int, int]:
    """Sum packets, retransmissions, packets out of order, and acknowledged payload [B]."""
    columns = ("packets", "retransmissions", "out_of_order", "bytes")
    flows = list(rows(result, "flows", *columns))
    sums = [sum(values) for values in zip(*flows, strict=True)] if flows else [0, 0, 0, 0]
    return sums[0], sums[1], sums[2], sums[3]


def out_of_order_rate(result: Result) -> float:
    """Compute packets that were delivered out of sequence, a second (T 4.2)."""
    return flow_sums(result)[2] / (result.summary["end_ns"] * 1e-9)


def algorithm(result: Result) -> str:
    """Name the algorithm by who sends to whom: what ran, not what was asked for."""
    peers: dict[str, set[str]] = {}
    for host, other, size in rows(result, "flows", "source_host", "destination_host", "bytes"):
        if size:
            peers.setdefault(host, set()).add(other)
    degrees = {len(others) for others in peers.values()}
    if degrees == {1}:
        return "ring"
    if degrees == {len(peers) - 1}:
        return "pairwise"
    if not degrees:
        return "none"
    name = "double tree" if max(degrees) <= TREE_PEERS_MAX else "other"
    return f"{name}: {min(degrees)} to {max(degrees)} peers"


class FlowRates(NamedTuple):
    """Goodput of flows in a period."""

    end_us: float  # End of the period [us].
    rates: Mapping[int, float]  # Goodput by flow [Gb/s].


def flow_series(result: Result) -> list[FlowRates]:
    """Read the goodput of flows with data by period."""
    periods: dict[float, dict[int, float]] = {}
    for end, flow, rate in rows(result, "flow_samples", "time_ns", "flow", "goodput_gbps"):
        periods.setdefault(end / 1e3, {})[flow] = rate
    return [FlowRates(end, rates) for end, rates in sorted(periods.items())]


def convergence_us(
    series: Sequence[FlowRates], onset_us: float, flows: int, tolerance: float
) -> float | None:
    """Compute the time from an onset until all flows are near the fair share [us] (T 7.3).

    The fair share is the goodput of all flows in the period over their number. None where no period
    has all flows within the tolerance.
    """
    return _first_us(
        series,
        onset_us,
        flows,
        tolerance,
        lambda rates: dict.fromkeys(rates, fmean(rates.values())),
    )


def steady_us(
    series: Sequence[FlowRates], onset_us: float, flows: int, tolerance: float
) -> float | None:
    """Compute the time from an onset until all flows are near their steady rate [us] (I 8.3).

    The steady rate of a flow is its mean in the last fifth of the periods after the onset.
    """
    after = [period.rates for period in series if period.end_us > onset_us]
    last = after[-max(len(after) // 5, 1) :]
    known = set().union(*last)
    steady = {flow: fmean(rates.get(flow, 0.0) for rates in last) for flow in known}
    return _first_us(series, onset_us, flows, tolerance, lambda _: steady)


def _first_us(
    series: Sequence[FlowRates],
    onset_us: float,
    flows: int,
    tolerance: float,
    goals: Callable[[Mapping[int, float]], Mapping[int, float]],
) -> float | None:
    """Find the end of the first period after an onset in which all flows are near their goals."""
    for period in series:
        if period.end_us > onset_us and len(period.rates) >= flows:
            goal = goals(period.rates)
            near = (
                abs(rate - goal.get(flow, 0.0)) <= tolerance * goal.get(flow, 0.0)
                for flow, rate in period.rates.items()
            )
            if all(near):
                return period.end_us - onset_us
    return None


def tail_us(values_us: Sequence[float], percent: float) -> float | None:
    """Return a percentile to the picosecond, or nothing where the samples do not hold it."""
    value = formulas.percentile(values_us, percent)
    return None if value is None else round(value, PICOSECONDS)


def latency_cells(values_us: Sequence[float]) -> list[float | None]:
    """Return minimum, mean, percentiles as far as samples have them, and maximum [us]."""
    statistics = (min(values_us), fmean(values_us), max(values_us))
    ends = [round(value, PICOSECONDS) for value in statistics]
    return [*ends[:2], *(tail_us(values_us, percent) for percent in PERCENTILES), ends[2]]


PICOSECONDS = 6  # Decimal places of microseconds that are picoseconds, the steps of simulated time.
LATENCY_TITLES = ("min", "mean", *(f"P{percent:g}" for percent in PERCENTILES), "max")


def latency_columns(point: ObservationPoint) -> list[Column]:
    """Name the columns of :func:`latency_cells`."""
    return point.columns(*(f"{title} [us]" for title in LATENCY_TITLES))


def health(fabric: BenchFabric) -> list[Metric]:
    """Return the DUT-reported columns of all tests: marks, pauses, drops (T 4.2)."""

    def lost_ppm(result: Result) -> float:
        created = result.summary.get("packets_created", 0)
        return formulas.drop_rate(counters(fabric, result).drops, created)

    def marked(result: Result) -> float:
        counts = counters(fabric, result)
        return formulas.marking_ratio(counts.marked, counts.tx_packets)

    return [
        REPORTED.metric("CE-marked [%]", marked),
        REPORTED.metric("PAUSE frames", lambda run: counters(fabric, run).pauses),
        REPORTED.metric("paused by switches [us]", lambda run: counters(fabric, run).paused_us),
        REPORTED.metric("dropped [ppm]", lost_ppm),
    ]


def balance(fabric: BenchFabric) -> list[Metric]:
    """Return the columns of load balancing: uplinks, fairness, order (T 8)."""

    def of_sizes(value: Callable[[Sequence[float]], float]) -> Callable[[Result], float]:
        return lambda run: value(uplink_bytes(fabric, run))

    return [
        REPORTED.metric(
            "uplinks, least [%]", lambda run: min(uplink_shares(fabric, run), default=None)
        ),
        uplinks_max(fabric),
        REPORTED.metric("MMR of uplinks, load", of_sizes(formulas.max_mean_ratio)),
        REPORTED.metric("JFI of uplinks", of_sizes(formulas.fairness)),
        BOUNDARY.metric("JFI of flows", lambda run: formulas.fairness(stream_rates(run))),
        BOUNDARY.metric("out of order [1/s]", out_of_order_rate),
        BOUNDARY.metric("retransmitted [packets]", lambda run: flow_sums(run)[1]),
    ]
