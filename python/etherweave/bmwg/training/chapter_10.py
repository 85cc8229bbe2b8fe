"""Jobs: synthetic steps, interference (training draft, chapter 10)."""

from collections.abc import Sequence
from itertools import chain
from statistics import fmean

from etherweave.api.results import Result
from etherweave.bmwg.collectives import collective_cases, parts, swept
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import (
    algorithm_factor,
    interference_factor,
    overlap_fraction,
    percentile,
    roofline_s,
)
from etherweave.bmwg.kpis import SETTING, SOFTWARE, health, iterations_us
from etherweave.bmwg.model import BenchTest, Case, Cell, Included, Plot, ReportTable, labelled
from etherweave.bmwg.settings import MIB, strategies
from etherweave.bmwg.traffic import collective

COMPUTE_MS = (10, 50, 100, 500)
ITERATIONS = 1_000
OVERLAPS = (0, 25, 50, 75)  # Shares of the leaves of a job that the other one uses [%].
AXES = ("strategy", "overlap [%]", "jobs")
OPERATION = "alltoall"


def _step_cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Simulate the all-reduces of the steps; the runs are those of 9.1."""
    return collective_cases(fabric, ["allreduce"], strategies(fabric), *swept(fabric, full))


def _step_tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report job completion over the sequential roofline, for each time of computation."""
    rows: list[list[Cell]] = []
    for case, result in trials:
        operation, count, size = parts(case)
        collective_s = fmean(iterations_us(result)) / 1e6
        for compute_ms in COMPUTE_MS:
            compute_s = compute_ms / 1e3
            completion_s = ITERATIONS * (compute_s + collective_s)
            factor = algorithm_factor(operation, count)
            plan = (ITERATIONS, compute_s, size, factor, fabric.rate_gbps * 1e9)
            communication_s = completion_s - ITERATIONS * compute_s
            axes = (case.labels["strategy"], count, size, compute_ms)
            over, overlap = completion_s / roofline_s(*plan), overlap_fraction(completion_s, *plan)
            rows.append([*axes, over, completion_s, communication_s, overlap])
    columns = [
        *SETTING.columns("strategy", "N", "S [B]", "C [ms]"),
        *SOFTWARE.columns("JCT ratio", "JCT [s]", "JCT - Iter C [s]", "overlap fraction"),
    ]
    note = (
        f"JCT of {ITERATIONS:,} iterations: computation and the simulated all-reduce, one after "
        "the other. The roofline has the bytes of a bandwidth-optimal all-reduce at B_acc, the "
        "line rate of an accelerator's own NICs; an overlap fraction below 0 is what the fabric "
        "adds to it."
    )
    return [ReportTable("step", "Synthetic step", columns, rows, note, Plot(1, 4, (0, 2, 3)))]


def _interference_cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Run a job alone, and beside another one that shares some of its leaves."""
    size, iterations = (256 * MIB, 100) if full else (4 * MIB, 10)
    made = []
    for strategy, changes in strategies(fabric).items():
        for overlap in OVERLAPS:
            placed = _placement(fabric, overlap)
            missing = "" if placed else "needs leaves of 2 hosts or more, 8 or more of them"
            pair = [
                collective(hosts, OPERATION, size, iterations, name=name)
                for name, hosts in zip("ab", placed or (), strict=False)
            ]
            for jobs, run in (("alone", {"run": {"jobs": ["a"]}}), ("both", {})):
                own = {} if missing else {"job": pair, **run, **changes}
                made.append(Case(labelled(AXES, strategy, overlap, jobs), own, missing))
    return made


def _placement(fabric: BenchFabric, overlap: int) -> tuple[list[int], list[int]] | None:
    """Place a job on half of the leaves, and one that shares a part of them; half of each leaf."""
    leaves = list(fabric.leaves.values())
    half = len(leaves) // 2
    if half < 4 or min(map(len, leaves)) < 2:
        return None
    shared = half * overlap // 100
    first = [hosts[: len(hosts) // 2] for hosts in leaves[:half]]
    second = [hosts[len(hosts) // 2 :] for hosts in leaves[half - shared : 2 * half - shared]]
    return list(chain(*first)), list(chain(*second))


def _interference_tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report the time of the first job beside the second over its time alone."""
    trials_of: dict[tuple[Cell, Cell], dict[Cell, tuple[Case, Result]]] = {}
    for case, result in trials:
        strategy, overlap, jobs = (case.labels[axis] for axis in AXES)
        trials_of.setdefault((strategy, overlap), {})[jobs] = (case, result)
    rows: list[list[Cell]] = []
    for key, pair in trials_of.items():
        if len(pair) < 2:
            continue
        alone, both = (iterations_us(pair[jobs][1], "a") for jobs in ("alone", "both"))
        factor = interference_factor(sum(both), sum(alone))
        times = [percentile(times, 50) for times in (alone, both)]
        reported = [value(*pair["both"]) for _, value in health(fabric)]
        rows.append([*key, *times, factor, *reported])
    titles = ("iteration alone P50 [us]", "iteration beside P50 [us]", "interference factor of JCT")
    columns = [
        *SETTING.columns(*AXES[:2]),
        *SOFTWARE.columns(*titles),
        *(column for column, _ in health(fabric)),
    ]
    note = (
        "Both jobs exchange all-to-all on half of the hosts of half of the leaves. Overlap: the "
        "share of the leaves of the first job, hence of their uplinks, that the second uses too. "
        "Factor: the time of all iterations of the first job beside the second over that alone, "
        "so that slow iterations count more than in P50."
    )
    plot = Plot(1, 4, (0,))
    return [ReportTable("interference", "Interference", columns, rows, note, plot)]


TESTS = {
    "10.1": BenchTest(_step_cases, _step_tables),
    "10.3": BenchTest(_interference_cases, _interference_tables),
}
