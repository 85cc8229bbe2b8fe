"""Interconnects beside what systems of them published: each figure on its profile."""

import csv
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from etherweave.measurements.quantities import quantities
from etherweave.study.declared import Metric, Results
from etherweave.study.experiments import RunExperiment

LARGE = 64 << 10


def ids() -> list[str]:
    """List the ids of ``expected.csv``: ``infiniband-hdr.get_bw.4194304``."""
    with Path(__file__).with_name("expected.csv").open() as rows:
        return [row["id"] for row in csv.DictReader(rows)]


def experiments(full: bool) -> Iterator[RunExperiment]:
    """List a run for every id; a complete study has no more."""
    del full
    return map(_experiment, ids())


def _experiment(name: str) -> RunExperiment:
    profile, benchmark, text = name.split(".")
    size = int(text)
    few = 3 if size >= LARGE else 20
    repeated = {"bytes": f"{size}B", "warm_up": few, "iterations": 2 * few}
    at_once = {"bytes": f"{size}B", "warm_up": 1, "iterations": max(few // 4, 1)}
    workload = {
        "latency": {"osu_latency": repeated},
        "get_latency": {"osu_one_sided_latency": {**repeated, "access": "get"}},
        "bw": {"osu_bw": at_once},
        "bibw": {"osu_bibw": at_once},
        "put_bw": {"osu_one_sided_bw": {**at_once, "access": "put"}},
        "get_bw": {"osu_one_sided_bw": {**at_once, "access": "get"}},
    }[benchmark]
    return RunExperiment(
        name, "pair", {"interconnect.profile": profile, "job.0.workload": workload}
    )


def metrics() -> dict[str, Metric]:
    """Every figure by its id."""
    return {name: partial(figure, name) for name in ids()}


def figure(name: str, results: Results) -> float:
    """Return a latency [us], or a bandwidth [MB/s]."""
    return quantities(results[name])[0].median * (1e6 if "latency" in name else 1e-6)
