"""Table II: iterations of the NAS Parallel Benchmarks on 64 nodes, of which CG is figure 8."""

from functools import partial
from math import nan

from scipy.stats import spearmanr

from etherweave.report.run.timeline import timelines
from etherweave.study.declared import Metric, Results
from etherweave.study.experiments import RunExperiment

RANKS = 64
OTHERS = ("bt", "ft", "is", "lu", "mg", "sp")
PUBLISHED_MS = {"cg": 1.6, "bt": 29, "ft": 58, "is": 10, "lu": 52, "mg": 11, "sp": 22}
"""Iteration times of Table II."""
ORDER = (("cg",), ("is", "mg"), ("sp",), ("bt",), ("lu",), ("ft",))
"""Kernels as published, the shortest first; IS and MG are 10 and 11 ms."""
CG_OPERATIONS = 2 * 75_000 * (5 + 13 * 14)
"""Operations of an inner iteration of class B: 75,000 unknowns, 13 · 14 elements of a row."""


def experiments() -> list[RunExperiment]:
    """List a run for each kernel: a second for 10^9 operations of a rank."""
    cg = {
        "npb_cg": {
            "ranks": RANKS,
            "class": "B",
            "compute": f"{CG_OPERATIONS // RANKS}ns",
            "inner": 5,
            "iterations": 12,
        }
    }
    kernels: list[RunExperiment] = [
        RunExperiment("table_2.kernel.cg", "kernels", {"job.0.workload": cg})
    ]
    kernels += [
        RunExperiment(f"table_2.kernel.{name}", "kernels", {"job.0.workload.npb.benchmark": name})
        for name in OTHERS
    ]
    return kernels


def metrics() -> dict[str, Metric]:
    """Give the metric of every check of kernels by its id."""
    times: dict[str, Metric] = {
        f"table_2.kernel.{name}": partial(iteration_ms, name) for name in PUBLISHED_MS
    }
    return {
        **times,
        "table_2.kernel.correlation": _correlation,
        "table_2.kernel.marks": _beside_marks,
        "table_2.kernel.order": _misordered,
    }


def iteration_ms(name: str, results: Results) -> float:
    """Find the time of an iteration by the autocorrelation of communication [ms]."""
    (timeline,) = timelines(results[f"table_2.kernel.{name}"])
    period = timeline.period
    return period.ns * 1e-6 if period else nan


def _times(results: Results) -> dict[str, float]:
    return {name: iteration_ms(name, results) for name in PUBLISHED_MS}


def _misordered(results: Results) -> float:
    """Count the pairs of kernels of which the published order has the shorter one longer."""
    places = {name: place for place, names in enumerate(ORDER) for name in names}
    times = _times(results)
    pairs = (
        (first, other) for first in places for other in places if places[first] < places[other]
    )
    return float(sum(times[first] >= times[other] for first, other in pairs))


def _correlation(results: Results) -> float:
    """Correlate the order of the times with the published one, by Spearman's coefficient."""
    times = _times(results)
    rank = spearmanr([times[name] for name in PUBLISHED_MS], list(PUBLISHED_MS.values()))
    return float(rank.statistic)


def _beside_marks(results: Results) -> float:
    """Give the largest part by which a time is off what the programs mark as iterations."""
    return max(
        abs(iteration_ms(name, results) / _marked_ms(name, results) - 1) for name in PUBLISHED_MS
    )


def _marked_ms(name: str, results: Results) -> float:
    """Average the iterations that the program marks [ms]."""
    rows = results[f"table_2.kernel.{name}"].to_polars("iterations")
    return float(rows["duration_ns"].to_numpy().mean()) * 1e-6
