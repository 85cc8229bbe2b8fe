"""What a job of a result measured, in the words of the benchmark that it is.

A ping-pong's latency is half of its round trip; a bandwidth is window · size · iterations / time;
a collective's time is the mean of its calls, over ranks too: as the OSU Micro-Benchmarks print
them. An application's number is the mean time of its iterations, that of an incast the sum of its
streams. Of several launches the median counts.
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from etherweave.bench.metrics import (
    BANDWIDTH,
    BANDWIDTH_BOTH,
    BANDWIDTH_SUM,
    CALL_TIME,
    ITERATION_TIME,
    LATENCY,
    Metric,
)
from etherweave.fabrics import fabric as build
from etherweave.report.bounds import TCP_HEADERS, Medium, roce, tcp
from etherweave.results import Result
from etherweave.simulation import resolve
from etherweave.units import size_of

_LENGTH = "iterations"
"""The key of a workload that says how long it goes on, and not what it is."""


@dataclass(frozen=True)
class Fabric:
    """What a scenario says of its fabric."""

    transport: str
    """``roce`` or ``tcp``."""
    version: str
    """Of RoCE: ``v1``, ``v2``; else empty."""
    is_paused: bool
    """Whether PFC protects it."""
    medium: Medium
    """Of a host's link."""

    @property
    def words(self) -> str:
        """Name it as publications do."""
        name = f"RoCE {self.version}" if self.transport == "roce" else "TCP"
        return f"{name}+PFC" if self.is_paused else name


class Quantity(NamedTuple):
    """One number of a job."""

    job: str
    program: str
    """Whose number it is like."""
    test: str
    """Of the program, if it has several."""
    metric: Metric
    size_bytes: int | None
    ranks: int
    values: tuple[float, ...]
    """One of each launch, in the metric's unit."""
    is_as_published: bool = True
    """Whether it is the very workload of the publications, for one that they do not describe."""

    @property
    def median(self) -> float:
        """Of the launches."""
        return float(np.median(self.values))


class _Job(NamedTuple):
    name: str
    kind: str
    facts: Mapping[str, Any]
    """Of the workload, as resolved."""
    rows: tuple[pl.DataFrame, ...]
    """Iterations or streams, of each launch."""
    transport: str
    is_alone: bool
    """Whether the scenario has no other job."""


def fabric(result: Result) -> Fabric:
    """Read the fabric from a result's scenario."""
    scenario = tomllib.loads(result.resolved)
    kind, facts = next(iter(scenario["transport"].items()))
    rate = _rate(scenario)
    if kind == "roce":
        version = str(facts["version"])
        wire = roce(size_of(facts["path_mtu"]), int(version.removeprefix("v")))
        medium = Medium(rate, wire, f"RoCE {version}, path MTU {wire.payload} B")
    else:
        mtu = size_of(facts["mss"]) + TCP_HEADERS
        version, medium = "", Medium(rate, tcp(mtu), f"TCP, MTU {mtu} B")
    return Fabric(kind, version, "pfc" in scenario.get("flow_control", {}), medium)


def quantities(result: Result) -> list[Quantity]:
    """List the figures of all jobs that are like a benchmark's, in the order of the jobs."""
    scenario = tomllib.loads(result.resolved)
    (transport,) = scenario["transport"]
    jobs = scenario.get("job", [])
    found = []
    for job in jobs:
        kind, facts = next(iter(job["workload"].items()))
        rows = _rows(result, job["name"])
        if kind in _KINDS and rows:
            own = _Job(job["name"], kind, facts, rows, transport, len(jobs) == 1)
            found.append(_KINDS[kind](own))
    return found


def _rate(scenario: Mapping[str, Any]) -> float:
    """Find the rate of a host's link, the slowest if they differ [bytes/s]."""
    links = pl.DataFrame(build({"topology": scenario["topology"]}).tables["links"])
    rates = links.filter(pl.col("class") == "host")["rate_gbps"]
    return float(rates.to_numpy().min()) / 8e-9


def _rows(result: Result, job: str) -> tuple[pl.DataFrame, ...]:
    """Take the job's rows, a part for each launch; a job has iterations or streams."""
    for name in ("iterations", "streams"):
        rows = result.to_polars(name).filter(pl.col("job") == job)
        if not rows.is_empty():
            return tuple(rows.partition_by("launch")) if "launch" in rows.columns else (rows,)
    return ()


def _mean(rows: pl.DataFrame) -> float:
    """Return the mean iteration [s]."""
    return float(rows["duration_ns"].to_numpy().mean()) * 1e-9


def _latency(job: _Job) -> Quantity:
    size = size_of(job.facts["bytes"])
    values = tuple(_mean(rows) / 2 for rows in job.rows)
    return Quantity(job.name, "osu_latency", "", LATENCY, size, 2, values)


def _bandwidth(program: str, metric: Metric, ways: int) -> Callable[[_Job], Quantity]:
    def made(job: _Job) -> Quantity:
        size = size_of(job.facts["bytes"])
        moved = ways * size * int(job.facts["window"])
        values = tuple(moved / _mean(rows) for rows in job.rows)
        return Quantity(job.name, program, "", metric, size, 2, values)

    return made


def _collective(job: _Job) -> Quantity:
    operation = job.facts["operation"]  # a table; its name alone for the barrier
    name, facts = (operation, {}) if isinstance(operation, str) else next(iter(operation.items()))
    size = _block(facts["bytes"]) if "bytes" in facts else None
    values = tuple(_mean(rows) for rows in job.rows)
    ranks = int(job.facts["ranks"])
    return Quantity(job.name, f"osu_{name}", "", CALL_TIME, size, ranks, values)


def _block(written: str | list[str]) -> int:
    """Return a size in bytes; of blocks of different lengths the mean."""
    lengths = [size_of(one) for one in ([written] if isinstance(written, str) else written)]
    return sum(lengths) // len(lengths)


def _application(program: str) -> Callable[[_Job], Quantity]:
    def made(job: _Job) -> Quantity:
        ranks = int(np.prod([job.facts[axis] for axis in ("pex", "pey", "pez")]))
        values = tuple(_mean(rows) for rows in job.rows)
        is_usual = {**_usual(job.kind), _LENGTH: job.facts[_LENGTH]} == job.facts
        alike = is_usual and job.is_alone
        return Quantity(job.name, program, "", ITERATION_TIME, None, ranks, values, alike)

    return made


def _incast(job: _Job) -> Quantity:
    program = "ib_write_bw" if job.transport == "roce" else "iperf3"
    values = tuple(float(rows["goodput_gbps"].sum()) / 8e-9 for rows in job.rows)
    ranks = int(job.facts["sources"]) + 1
    return Quantity(job.name, program, "incast", BANDWIDTH_SUM, None, ranks, values)


@cache
def _usual(kind: str) -> Mapping[str, Any]:
    """Return the core's defaults of a workload: those of the publication that it is from."""
    job = {"name": "usual", "workload": {kind: {}}}
    text = resolve({"topology": {"single_switch": {"hosts": 64}}, "job": [job]})
    return dict(tomllib.loads(text)["job"][0]["workload"][kind])


_KINDS: dict[str, Callable[[_Job], Quantity]] = {
    "osu_latency": _latency,
    "osu_bw": _bandwidth("osu_bw", BANDWIDTH, 1),
    "osu_bibw": _bandwidth("osu_bibw", BANDWIDTH_BOTH, 2),
    "osu_collective": _collective,
    "halo3d": _application("halo3d-26"),
    "fft": _application("subcom3d-a2a"),
    "incast": _incast,
}
"""By the names of workloads."""
