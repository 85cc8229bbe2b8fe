"""Applications under deployed rules: claims about synthetic traffic, carried to iterations.

The publication simulates no application. Here hosts with RoCE and MPI run on the same fabric,
and rules are deactivated by real PFC frames.
"""

from functools import partial

import polars as pl

from etherweave import Result
from etherweave.study.declared import Metric, Results
from etherweave.study.experiments import RunExperiment

ROUTINGS = ("minimal", "conditional_tables", "valiant_group", "ugal_local")
"""Compared on every load."""

CG = {"npb_cg": {"ranks": 1_024, "class": "D", "inner": 2}}
"""32 rows of 32 ranks, as many as a group has hosts; messages of 375 kB."""

LOADS: dict[str, dict[str, object]] = {
    "benign": {"job.0.placement": {"random": {}}},
    "adversarial": {"job.0.workload": {"permutation": {"ranks": 1_056, "partner": {"shift": 32}}}},
    "planes": {"job.0.placement": {"linear": {}}},
    "cg.benign": {"job.0.workload": CG, "job.0.placement": {"random": {}}},
    "cg.adversarial": {
        "job.0.workload": CG,
        "job.0.placement": {"hosts": [rank % 32 * 32 + rank // 32 for rank in range(1_024)]},
    },
}
"""Halo3D on random hosts; every host to the next group; Halo3D in order, whose planes are two
groups each, so that all of a group exchanges faces with the same other one; CG on random hosts; CG
with a column of its ranks in each group, so that all of a group sums with the same other one."""


def experiments() -> list[RunExperiment]:
    """List a run for each load and routing."""
    return [
        RunExperiment(
            f"applications.{load}.{routing}", "applications", {**overrides, "routing": routing}
        )
        for load, overrides in LOADS.items()
        for routing in ROUTINGS
    ]


def metrics() -> dict[str, Metric]:
    """Give the metric of every check of applications by its id."""
    return {
        "applications.benign": partial(_ratio, "benign", "minimal"),
        "applications.adversarial": partial(_ratio, "adversarial", "valiant_group"),
        "applications.planes": partial(_ratio, "planes", "valiant_group"),
        "applications.cg.benign": partial(_ratio, "cg.benign", "minimal"),
        "applications.cg.adversarial": partial(_ratio, "cg.adversarial", "valiant_group"),
        "applications.lost": _lost,
    }


def iteration_us(results: Results, load: str, routing: str) -> float:
    """Average the time of an iteration over ranks and iterations [us]."""
    result: Result = results[f"applications.{load}.{routing}"]
    frame = result.to_polars("iterations").select(pl.col("duration_ns").mean())
    return float(frame.item()) / 1_000


def _ratio(load: str, reference: str, results: Results) -> float:
    conditional = iteration_us(results, load, "conditional_tables")
    return conditional / iteration_us(results, load, reference)


def _lost(results: Results) -> float:
    """Count the packets that any run dropped."""
    names = (f"applications.{load}.{routing}" for load in LOADS for routing in ROUTINGS)
    return float(sum(results[name].summary["packets_dropped"] for name in names))
