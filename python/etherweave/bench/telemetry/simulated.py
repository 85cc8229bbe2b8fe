"""Hosts of a simulated run as recordings: samples of ``observe.hosts`` as counters of hosts.

Simulated time begins in 1970. A rank that waits counts as a program, for MPI libraries poll.
Counters that a simulation does not have are absent.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from etherweave.api.results import Result
from etherweave.bench.telemetry.counters import CounterRow
from etherweave.bench.telemetry.families import FAMILIES, INTERFACE, PRIORITY, PROCESSOR, Family
from etherweave.bench.telemetry.recorder import Recording
from etherweave.bench.telemetry.sampling import Sample

_Facts = dict[str, Any]
_Counters = dict[tuple[str, tuple[str, ...]], dict[str, float]]
"""Counters by their columns, of each family and its keys."""


def simulated_hosts(result: Result) -> list[Recording]:
    """Give a recording for each host that the run has sampled; none without ``observe.hosts``."""
    if "host_samples" not in result.tables:
        return []
    rises: dict[str, list[tuple[_Facts, Family, tuple[str, ...], dict[str, float]]]] = {}
    for row in result.to_polars("host_samples").iter_rows(named=True):
        rises.setdefault(row["host"], []).append((row, PROCESSOR, ("all",), _processor(row)))
    for row in result.to_polars("port_samples").iter_rows(named=True):
        for host, family, keys, counted in _interfaces(row):
            if host in rises:
                rises[host].append((row, family, keys, counted))
    return [_recording(result.summary["name"], host, rows) for host, rows in rises.items()]


def _processor(row: _Facts) -> dict[str, float]:
    return {
        "user_s": (row["user_ns"] + row["waiting_ns"]) / 1e9,
        "system_s": row["system_ns"] / 1e9,
        "softirq_s": row["softirq_ns"] / 1e9,
    }


def _interfaces(row: _Facts) -> Iterator[tuple[str, Family, tuple[str, ...], dict[str, float]]]:
    """Yield what a port has sent, as its own node and as its peer count it."""
    sent, priority = {"sent_bytes": row["tx_bytes"]}, str(row["priority"])
    pauses = {
        "paused_s": row["rx_pause_duration_ns"] / 1e9,
        "pausing_s": row["tx_pause_duration_ns"] / 1e9,
    }
    name = f"to {row['peer']}"
    yield row["node"], INTERFACE, (name,), {**sent, "received_drops": row["drops_packets"]}
    yield row["node"], PRIORITY, (name, priority), sent | pauses
    received, name = {"received_bytes": row["tx_bytes"]}, f"to {row['node']}"
    yield row["peer"], INTERFACE, (name,), received
    yield row["peer"], PRIORITY, (name, priority), received


def _recording(
    run: str, host: str, rows: Sequence[tuple[_Facts, Family, tuple[str, ...], dict[str, float]]]
) -> Recording:
    first = rows[0][0]
    totals: _Counters = {}
    for _, family, keys, counted in rows:
        totals.setdefault((family.name, keys), {}).update(dict.fromkeys(counted, 0))
    samples = [Sample(round(first["time_ns"] - first["duration_ns"]), _families(totals))]
    in_order = sorted(rows, key=lambda rise: rise[0]["time_ns"])
    for time, rises in groupby(in_order, key=lambda rise: rise[0]["time_ns"]):
        for _, family, keys, counted in rises:
            total = totals[family.name, keys]
            for column, rise in counted.items():
                total[column] += rise
        samples.append(Sample(round(time), _families(totals)))
    return Recording(run, host, first["duration_ns"] / 1e9, tuple(samples), 0, 0.0)


def _families(totals: _Counters) -> dict[str, list[CounterRow]]:
    return {
        family.name: [
            CounterRow(keys, tuple(counted.get(column.name) for column in family.columns))
            for (name, keys), counted in totals.items()
            if name == family.name
        ]
        for family in FAMILIES
    }
