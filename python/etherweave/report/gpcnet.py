"""Jobs that are GPCNeT's network tests, as GPCNeT prints them.

Times of a ring are those of two messages, rates are of 2^20 bytes that a rank sends. An average is
that of all ranks and turns; of rates it is of each ring. ``99%`` is what 99 of 100 turns are better
than. Sources: ``random_ring.c``, ``collectives.c`` and ``utils.c`` of GPCNeT 1.3.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from etherweave.api.results import Result

_LONG = 131_072
_OUTSTANDING = 8
_BLOCK = 4_096
_MEBI = 1024.0**2
_BAR = f"+{'-' * 78}+"
_INNER = f"+{'-' * 33}+{'-' * 14}+{'-' * 14}+{'-' * 14}+"
_IMPACTS = f"+{'-' * 33}+{'-' * 22}+{'-' * 21}+"
_LEGEND = """  Legend
   RR = random ring communication pattern
   Nat = natural ring communication pattern
   Lat = latency
   BW = bandwidth
   BW+Sync = bandwidth with barrier"""


class _Kind(NamedTuple):
    """Kind of a test of GPCNeT."""

    title: str
    turns: str  # The key of the workload that has its turns.
    is_ring: bool
    is_rate: bool


_KINDS = {
    "latency": _Kind("RR Two-sided Lat (8 B)", "latency_turns", True, False),
    "get_latency": _Kind("RR Get Lat (8 B)", "latency_turns", True, False),
    "put_bandwidth": _Kind(f"RR Put BW ({_LONG} B)", "bandwidth_turns", True, True),
    "bandwidth": _Kind(f"RR Two-sided BW ({_LONG} B)", "bandwidth_turns", True, True),
    "natural_bandwidth": _Kind(f"Nat Two-sided BW ({_LONG} B)", "bandwidth_turns", True, True),
    "bandwidth_sync": _Kind(f"RR Two-sided BW+Sync ({_LONG} B)", "bandwidth_turns", True, True),
    "allreduce": _Kind("Multiple Allreduce (8 B)", "allreduces", False, False),
    "alltoall": _Kind(f"Multiple Alltoall ({_BLOCK} B)", "alltoalls", False, True),
}


class NetworkTest(NamedTuple):
    """Figures of a test."""

    title: str
    average: float
    percentile: float  # Figure that 99 of 100 turns are better than.
    is_rate: bool  # Whether figures are rates [MiB/s/rank], not times [us].

    def impact(self, congested: "NetworkTest") -> tuple[float, float]:
        """Return the congestion impact factors of average and percentile, from what is printed."""
        pairs = ((self.average, congested.average), (self.percentile, congested.percentile))
        rounded = [(round(alone, 1), round(beside, 1)) for alone, beside in pairs]
        factors = [
            _quotient(alone, beside) if self.is_rate else _quotient(beside, alone)
            for alone, beside in rounded
        ]
        return factors[0], factors[1]


def _quotient(above: float, below: float) -> float:
    return above / below if below else float("inf")


def network_tests(result: Result, job: str) -> list[NetworkTest]:
    """Compute the figures of all tests of a job, in order."""
    facts = _workload(result, job)
    rows = result.to_polars("iterations").filter(pl.col("job") == job)
    first, spans = 0, []
    for name in facts["tests"]:
        kind = _KINDS[name]
        turns, rings = int(facts[kind.turns]), int(facts["rings"]) if kind.is_ring else 1
        own = rows.filter(pl.col("iteration").is_between(first, first + turns * rings - 1))
        times = own.sort("rank", "iteration")["duration_ns"].to_numpy().reshape(-1, turns) * 1e-9
        spans.append(_figures(kind, times, int(facts["ranks"]) // int(facts["groups"])))
        first += turns * rings
    return spans


def _figures(kind: _Kind, times: np.ndarray[Any, np.dtype[np.float64]], group: int) -> NetworkTest:
    """Take the figures of a test from its times, a row for each rank and ring [s]."""
    if not kind.is_rate:
        values = times * 1e6 / (2 if kind.is_ring else 1)
        return NetworkTest(kind.title, values.mean(), np.quantile(values, 0.99), is_rate=False)
    sent = 2 * _OUTSTANDING * _LONG if kind.is_ring else _BLOCK * (group - 1)
    rates = sent / (times * _MEBI)
    average = (sent / (times.mean(axis=1) * _MEBI)).mean()
    return NetworkTest(kind.title, average, np.quantile(rates, 0.01), is_rate=True)


def jobs(result: Result) -> Iterator[str]:
    """List the jobs that are network tests."""
    return (job["name"] for job in result.scenario["job"] if "gpcnet" in job["workload"])


def _workload(result: Result, job: str) -> Mapping[str, Any]:
    tables = {table["name"]: table["workload"] for table in result.scenario["job"]}
    return dict(tables[job]["gpcnet"])


def network_test(result: Result, job: str) -> str:
    """Print a job as ``network_test`` does."""
    facts = _workload(result, job)
    size = f"  Test with {facts['ranks']} MPI ranks ({_hosts(facts)} nodes)"
    head = ["Network Tests v1.3", size, "", _LEGEND]
    return "\n".join([*head, *_table("Isolated Network Tests", network_tests(result, job))])


def network_load_test(together: Result, alone: Result, job: str) -> str:
    """Print a job alone and beside congestors as ``network_load_test`` does."""
    tests = _workload(together, job)
    workloads = [job["workload"] for job in together.scenario["job"]]
    congestors = [job["gpcnet_congestor"] for job in workloads if "gpcnet_congestor" in job]
    ranks = sum(int(congestor["ranks"]) for congestor in (tests, *congestors))
    nodes = [_hosts(congestor) for congestor in congestors]
    least = f"(min {min(nodes, default=0)} nodes per congestor)"
    isolated, congested = network_tests(alone, job), network_tests(together, job)
    return "\n".join(
        [
            "NetworkLoad Tests v1.3",
            f"  Test with {ranks} MPI ranks ({_hosts(tests) + sum(nodes)} nodes)",
            f"  {_hosts(tests)} nodes running Network Tests",
            f"  {sum(nodes)} nodes running Congestion Tests {least}",
            "",
            _LEGEND,
            *_table("Isolated Network Tests", isolated),
            "",
            *_table("Network Tests running with Congestion Tests", congested),
            "",
            *_impacts(isolated, congested),
        ]
    )


def _hosts(facts: Mapping[str, Any]) -> int:
    return int(facts["ranks"]) // int(facts["groups"])


def _table(title: str, tests: list[NetworkTest]) -> list[str]:
    rows = [_row("Name", "Avg", "99%", "Units")]
    for test in tests:
        unit = "MiB/s/rank" if test.is_rate else "usec"
        rows.append(_row(test.title, f"{test.average:.1f}", f"{test.percentile:.1f}", unit))
    return [_BAR, f"| {title:^76} |", _INNER, *(text for row in rows for text in (row, _INNER))]


def _row(*cells: str) -> str:
    name, *others = cells
    return f"| {name:>31} | {' | '.join(f'{cell:>12}' for cell in others)} |"


def _impacts(isolated: list[NetworkTest], congested: list[NetworkTest]) -> list[str]:
    title = "Network Tests running with Congestion Tests - Key Results"
    lines = [_BAR, f"| {title:^76} |", f"+{'-' * 33}+{'-' * 44}+"]
    lines += [f"| {'Name':>31} | {'Congestion Impact Factor':>42} |", _IMPACTS]
    lines += [f"| {'':>31} | {'Avg':>20} | {'99%':>19} |", _IMPACTS]
    for alone, beside in zip(isolated, congested, strict=True):
        average, percentile = alone.impact(beside)
        lines += [f"| {alone.title:>31} | {average:>19.1f}X | {percentile:>18.1f}X |", _IMPACTS]
    return lines
