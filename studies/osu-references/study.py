"""OSU benchmarks that systems published: each figure on the profile of its interconnect."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import polars as pl

from etherweave.measurements.quantities import quantities
from etherweave.study.declared import Metric, Results
from etherweave.study.experiments import RunExperiment

LARGE = 64 << 10
RING = {"tests": ["latency"], "rings": 3, "latency_turns": 40}  # Turns of a random ring.


class Case(NamedTuple):
    """Parts of an id: ``infiniband-edr.latency.openmpi.8.1``."""

    profile: str
    metric: str  # ``latency``, ``bandwidth`` of all pairs of a NIC, or ``ring``: GPCNeT's latency.
    library: str  # Library of the figure, of those with the same profile.
    size: int
    pairs: int  # On a NIC.

    @classmethod
    def of(cls, name: str) -> "Case":
        """Read an id."""
        profile, metric, library, size, pairs = name.split(".")
        return cls(profile, metric, library, int(size), int(pairs))


def ids() -> list[str]:
    """List the ids of ``expected.csv``."""
    return pl.read_csv(Path(__file__).with_name("expected.csv"))["id"].to_list()


def experiments(full: bool) -> Iterator[RunExperiment]:
    """List a run for every id; a complete study has no more."""
    del full
    return map(_experiment, ids())


def _experiment(name: str) -> RunExperiment:
    case = Case.of(name)
    few = 3 if case.size >= LARGE else 20
    size = {"bytes": f"{case.size}B", "pairs": case.pairs}
    workload = {
        "latency": {"osu_latency": {**size, "warm_up": 5, "iterations": 2 * few}},
        "bandwidth": {"osu_bw": {**size, "warm_up": 1, "iterations": max(few // 4, 1)}},
        "ring": {"gpcnet": {"ranks": 64 * case.pairs, **RING}},
    }[case.metric]
    overrides: dict[str, object] = {"job.0.workload": workload, "job.0.ranks_per_host": case.pairs}
    if case.metric == "ring":
        overrides["topology.single_switch.hosts"] = 64
    own = f"{case.profile}-{case.metric}"
    has_own = Path(__file__).with_name(f"{own}.toml").exists()
    return RunExperiment(name, own if has_own else case.profile, overrides)


def metrics() -> dict[str, Metric]:
    """Every figure by its id."""
    return {name: partial(figure, name) for name in ids()}


def figure(name: str, results: Results) -> float:
    """Return a latency [us], or a bandwidth [MB/s]. GPCNeT's latency is half of a turn."""
    if Case.of(name).metric == "ring":
        return fmean(results[name].values("iterations", "duration_ns")) / 2e3
    median = quantities(results[name])[0].median
    return median * (1e6 if Case.of(name).metric == "latency" else 1e-6)
