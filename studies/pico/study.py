"""Allreduce as PICO's campaigns measured it: each row on the profile of its interconnect."""

import csv
import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

from etherweave.study.declared import Metric, Results
from etherweave.study.experiments import RunExperiment

ELEMENT = 4  # Bytes of an ``int32``, of which the campaigns reduce vectors.
LARGE = 1 << 20  # Vectors from which on a call stands for all, for no two differ.
FULL = 1 << 29  # Vectors of a complete study alone.
ALGORITHMS: dict[str, dict[str, object]] = {
    "default": {},
    "non_blocking": {"compute": "0s"},
    "recursive_doubling": {"algorithm": "recursive_doubling"},
    "rabenseifner": {"algorithm": "rabenseifner"},
    "ring": {"algorithm": "ring"},
}
"""Keys of ``osu_collective`` by the name of an algorithm, without that of its library."""
NODES = {"lumi": (2_048, 16), "mare_nostrum": (6_480, 32)}  # Nodes of a system, and of a job.


class Case(NamedTuple):
    """Case of an id such as ``lumi.recursive_doubling_mpich.4096``."""

    system: str
    algorithm: str
    size: int  # Bytes of the vector.

    @classmethod
    def of(cls, name: str) -> "Case":
        """Read an id."""
        system, algorithm, elements = name.split(".")
        return cls(system, algorithm.rsplit("_", 1)[0], int(elements) * ELEMENT)


def ids() -> list[str]:
    """List the ids of ``expected.csv``."""
    with Path(__file__).with_name("expected.csv").open() as rows:
        return [row["id"] for row in csv.DictReader(rows)]


def experiments(full: bool) -> Iterator[RunExperiment]:
    """List a run for every id, with the longest vectors in a complete study alone."""
    return (_experiment(name) for name in ids() if full or Case.of(name).size < FULL)


def _experiment(name: str) -> RunExperiment:
    case = Case.of(name)
    is_large = case.size >= LARGE
    keys: dict[str, object] = {
        "operation": {"allreduce": {"bytes": f"{case.size}B"}},
        "warm_up": 1 if is_large else 5,
        "iterations": 1 if is_large else 20,
        **ALGORITHMS[case.algorithm],
    }
    overrides = {f"job.0.workload.osu_collective.{key}": value for key, value in keys.items()}
    placement = {"job.0.placement.hosts": allocation(case.system)}
    return RunExperiment(name, case.system, overrides | placement)


def allocation(system: str) -> list[int]:
    """Draw the nodes of an allocation, in the order of their names, as a scheduler lists them."""
    return sorted(random.Random(system).sample(range(NODES[system][0]), NODES[system][1]))


def metrics() -> dict[str, Metric]:
    """Every figure by its id."""
    return {name: partial(figure, name) for name in ids()}


def figure(name: str, results: Results) -> float:
    """Return the median over calls of the slowest rank [us]."""
    slowest: dict[int, float] = {}
    iterations = results[name].values("iterations", "iteration")
    durations = results[name].values("iterations", "duration_ns")
    for iteration, duration in zip(iterations, durations, strict=True):
        slowest[iteration] = max(slowest.get(iteration, 0), duration)
    return median(slowest.values()) / 1e3
