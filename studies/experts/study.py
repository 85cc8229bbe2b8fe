"""Layers of experts beside what DeepEP and aiconfigurator published of them.

Calibration rows give the rate within a node, the time of a message and the start of a kernel by
formula; nothing else is fitted.
"""

import csv
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

from etherweave.measurements.quantities import quantities
from etherweave.study.declared import Metric, Results
from etherweave.study.experiments import RunExperiment

COPY = 7_472  # A token of 7,168 values in FP8 in a normal dispatch [B].
COUNTED = 7_392  # Bytes of it that DeepEP's tests count [B].
RANKS_8, RANKS_16 = 5.30, 6.52  # Ranks that a token with 8 of 256 experts reaches, of 8 and 16.


class Case(NamedTuple):
    """A measured layer."""

    system: str
    mode: str
    ranks: int
    tokens: int


CASES = {
    "C1": Case("h800", "normal", 8, 4_096),
    "C2": Case("h800", "normal", 16, 4_096),
    "C3": Case("h800", "low_latency", 8, 128),
    "C4": Case("h800", "low_latency", 32, 128),
    "C5": Case("v2", "normal", 16, 8_192),
    "C6": Case("h100", "normal", 8, 1_024),
    "C7": Case("h100", "normal", 16, 128),
    "C8": Case("h100", "normal", 16, 4_096),
    "C9a": Case("h100", "low_latency", 16, 8),
    "C9b": Case("h100", "low_latency", 16, 128),
    "K1": Case("h800", "normal", 64, 4_096),
    "K2": Case("h800", "low_latency", 128, 128),
    "K3": Case("h100", "normal", 32, 1_024),
    "K4": Case("h100", "normal", 64, 128),
    "K5": Case("h100", "normal", 64, 4_096),
    "K6a": Case("h100", "low_latency", 64, 8),
    "K6b": Case("h100", "low_latency", 64, 128),
}
GATED = {"h800"}  # Systems whose tests limit the groups of a token to four.
INFINIBAND = {"interconnect.profile": "infiniband-ndr"}
TABLES = {"routing": "up_down", "selection": {"destination_modulo": {}}}
FABRICS: dict[str, dict[str, object]] = {
    "hash": {"routing": "ecmp"},
    "adaptive": {"routing": "adaptive_up"},
    "infiniband": {**INFINIBAND, **TABLES},
    "infiniband_adaptive": {**INFINIBAND, "routing": "adaptive_up"},
}
"""Keys of RoCE and InfiniBand where servers are at leaf switches."""
QUEUE_PAIRS = (1, 10)  # Queue pairs of each pair of accelerators that are hashed apart.


def published() -> dict[str, float]:
    """Return the figures of ``expected.csv``, times in us and rates in GB/s."""
    with Path(__file__).with_name("expected.csv").open() as rows:
        return {
            row["id"]: float(row["published"] or row["reference"]) for row in csv.DictReader(rows)
        }


ROWS = published()


def _time(row: str) -> float:
    return ROWS[row] * 1e-6


def _rate_of_two() -> float:
    """Return the rate within a node [B/s] by which C6 and C7 differ in copies and in time."""
    copies = 1_024 * RANKS_8 - 128 * RANKS_16
    return copies * COPY / (_time("C6.dispatch") - _time("C7.dispatch"))


MESSAGE = (_time("C9b.dispatch") - _time("C9a.dispatch")) / ((128 - 8) * 8 * 0.5)
"""A message of H100 with low latency [s]: half of the copies leave the node."""
START = _time("C9a.dispatch") - 8 * 8 * 0.5 * MESSAGE  # Start of a kernel with low latency [s].
RATE_H100 = _rate_of_two()
START_H100 = _time("C6.dispatch") - 1_024 * RANKS_8 * COPY / RATE_H100
START_COMBINE = _time("C7.combine") - 128 * RANKS_16 * 14_416 / RATE_H100
RATE_H800 = ROWS["C1.dispatch"] * 1e9 * COPY / COUNTED
RATE_FLAT = 128 * 8 * 7_408 / (_time("C3.dispatch") - START)
MESSAGE_H800 = (_time("C4.dispatch") - START) / (128 * 8 * 0.75)


def _constants(case: Case) -> tuple[float, float, float, float]:
    """Return rate within a node, start of a dispatch and of a combine, and time of a message."""
    if case.mode == "low_latency":
        message = MESSAGE_H800 if case.system == "h800" else MESSAGE
        return RATE_FLAT, START, START, message
    if case.system == "v2":
        return 1e12, START_H100, START_H100, MESSAGE
    if case.system == "h800":
        return RATE_H800, 10e-6, 10e-6, MESSAGE_H800
    return RATE_H100, START_H100, START_COMBINE, MESSAGE


def _ps(seconds: float) -> str:
    return f"{round(seconds * 1e12)}ps"


def experiments(full: bool) -> Iterator[RunExperiment]:
    """List a run for every case, and for every fabric and number of queue pairs."""
    del full
    for name, case in CASES.items():
        yield RunExperiment(name, "cluster", _overrides(case))
    for (name, keys), pairs in product(FABRICS.items(), QUEUE_PAIRS):
        yield RunExperiment(f"{name}.{pairs}", "leaf_spine", {**keys, "job.0.connections": pairs})


def _overrides(case: Case) -> dict[str, object]:
    rate, start, combine, message = _constants(case)
    nodes = case.ranks // 8
    groups = nodes if case.system in GATED and case.mode == "normal" else 1
    moe = {
        "ranks": case.ranks,
        "mode": case.mode,
        "tokens": case.tokens,
        "groups": groups,
        "group_limit": min(groups, 4),
        "node": {"accelerators": 8, "rate": f"{round(rate * 8e-9)}Gb/s", "latency": _ps(start)},
        "combine_latency": _ps(combine),
    }
    library = {"profile": "deepep", "send_overhead": _ps(message)}
    return {
        "topology.rail_optimised.servers": nodes,
        "host.mpi_roce": library,
        "job.0.workload.moe": moe,
    }


def metrics() -> dict[str, Metric]:
    """Every figure by its id."""
    return {row: partial(ratio if row.startswith("hash.") else figure, row) for row in ROWS}


def figure(row: str, results: Results) -> float:
    """Return a time [us], or DeepEP's bandwidth [GB/s]."""
    name, test = row.split(".")
    is_rate = CASES[name].system != "h100" and CASES[name].mode == "normal"
    metric, scale = ("bandwidth_logical", 1e-9) if is_rate else ("call_time", 1e6)
    return _quantity(results, name, test, metric) * scale


def ratio(row: str, results: Results) -> float:
    """Return the time of a dispatch over RoCE by hash over that on another fabric."""
    hashed, pairs, other = row.split(".")
    runs = (f"{hashed}.{pairs}", f"{other}.{pairs}")
    times = [_quantity(results, run, "dispatch", "call_time") for run in runs]
    return times[0] / times[1]


def _quantity(results: Results, name: str, test: str, metric: str) -> float:
    of_run = quantities(results[name])
    return next(row.median for row in of_run if (row.test, row.metric.name) == (test, metric))
