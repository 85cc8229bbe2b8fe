"""The row about how the open-loop engine grows: time, memory, instructions and misses by size.

Time is processor time of the whole process, set-up included: other processes do not count. Fits of
the measurements predict the time and memory of a dragonfly of a million hosts.
"""

import json
import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import counts
from openloop import LARGE, MEDIUM, SMALL, Case, fastest, words
from rows import Row

SIZES = [
    SMALL,
    Case(6, us=100, speed_aim=5e6),
    MEDIUM,
    Case(12, us=20, speed_aim=2.5e6, repeats=3),
    LARGE,
]
RATIO_AIM = 2.0
"""How many times longer a packet-hop may take on the largest fabric than on the smallest."""
COUNTED = [(SMALL, (10, 20)), (MEDIUM, (2, 4))]
"""Fabrics that valgrind runs, each with two lengths [us] whose difference has no set-up."""
CACHES = ["--I1=32768,8,64", "--D1=32768,8,64", "--LL=2097152,16,64"]
"""A core's own caches, the same on every machine."""
MILLION = Case(23, us=20, speed_aim=2.5e6, groups=946)
SPAN_US = 20


def rows() -> list[Row]:
    """Name the row, with what measures it."""
    return [Row("openloop growth", growth)]


def growth() -> dict[str, Any]:
    """Run all sizes on one thread."""
    runs = [fastest(case, 1) for case in SIZES]
    hosts = [run["hosts"] for run in runs]
    costs_ns = [run["processor_s"] / run["packet_hops"] * 1e9 for run in runs]
    peaks = [run["peak_mib"] * 2**20 for run in runs]
    ratio = costs_ns[-1] / costs_ns[0]
    return {
        "row": "openloop growth",
        "hosts": hosts,
        "ns_per_hop": [round(cost, 1) for cost in costs_ns],
        "ratio": round(ratio, 2),
        "peak_bytes_per_host": [
            round(peak / count) for peak, count in zip(peaks, hosts, strict=True)
        ],
        "bytes_per_packet": runs[-1]["bytes_per_packet"],
        "bytes_per_port": runs[-1]["bytes_per_port"],
        **counted(),
        **projection(hosts, costs_ns, peaks, hops_per_host(runs[-1], LARGE)),
        "is_within_aims": ratio < RATIO_AIM,
    }


def hops_per_host(run: dict[str, Any], case: Case) -> float:
    """Count packet-hops per host in the span of the projection."""
    return float(run["packet_hops"] / run["hosts"] * SPAN_US / (2 * case.us))


def counted() -> dict[str, Any]:
    """Count by valgrind, each a list by size; ``None`` where it is not installed."""
    if not counts.is_installed():
        return dict.fromkeys(counts.NAMES)
    readings = [count(case, spans) for case, spans in COUNTED]
    return {
        "counted_hosts": [case.hosts for case, _ in COUNTED],
        **{name: [figures[name] for figures in readings] for name in counts.NAMES},
    }


def count(case: Case, spans_us: Sequence[int]) -> dict[str, Any]:
    """Count a case per packet-hop, from what a longer run takes more than a shorter."""
    runs = [counts.collect(words(case, us, 1), *CACHES) for us in spans_us]
    shorter, longer = ((json.loads(text)["packet_hops"], totals) for text, totals in runs)
    more = {name: longer[1][name] - value for name, value in shorter[1].items()}
    return counts.per_hop(more, longer[0] - shorter[0])


def projection(
    hosts: Sequence[int], costs_ns: Sequence[float], peaks: Sequence[float], hops: float
) -> dict[str, Any]:
    """Predict the time and memory of a million hosts on one thread.

    Memory grows in proportion to hosts, as a host has four ports less one in ``h``; a packet-hop's
    time grows with the logarithm, as ever more of what it touches is far away.
    """
    many = MILLION.hosts
    memory, _ = line([float(count) for count in hosts], peaks)
    cost, slope = line([math.log(count) for count in hosts], costs_ns)
    cost_ns = cost(math.log(many))
    return {
        "ns_per_hop_per_doubling": round(slope * math.log(2), 2),
        "projected_hosts": many,
        "projected_gib": round(memory(many) / 2**30, 2),
        "projected_ns_per_hop": round(cost_ns, 1),
        f"projected_s_per_{SPAN_US}_us": round(many * hops * cost_ns / 1e9, 1),
    }


def line(x: Sequence[float], y: Sequence[float]) -> tuple[Callable[[float], float], float]:
    """Fit a line; gives it, and its slope."""
    slope, start = statistics.linear_regression(x, y)
    return lambda at: start + slope * at, slope
