"""Interference of two jobs (training draft, 10.3)."""

from collections.abc import Sequence
from itertools import chain

from etherweave.api.results import Result
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import interference_factor, percentile
from etherweave.bmwg.kpis import SETTING, SOFTWARE, health, iterations_us
from etherweave.bmwg.model import Case, Cell, Column, Included, Plot, ReportTable, labelled
from etherweave.bmwg.settings import MIB, strategies
from etherweave.bmwg.traffic import collective

OVERLAPS = (0, 25, 50, 75)  # Shares of the leaves of a job that the other one uses [%].
AXES = ("strategy", "overlap [%]", "jobs")
OPERATION = "alltoall"


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Run a job alone, and beside another one that shares some of its leaves."""
    size, iterations = (256 * MIB, 100) if full else (4 * MIB, 10)
    made = []
    for strategy, changes in strategies(fabric).items():
        for overlap in OVERLAPS:
            placed = _placement(fabric, overlap)
            for jobs in ("alone", "both"):
                labels = labelled(AXES, strategy, overlap, jobs)
                if placed is None:
                    made.append(
                        Case(labels, {}, "needs leaves of 2 hosts or more, 8 or more of them")
                    )
                    continue
                pair = [
                    collective(hosts, OPERATION, size, iterations, name=name)
                    for name, hosts in zip("ab", placed, strict=True)
                ]
                run = {"run": {"jobs": ["a"]}} if jobs == "alone" else {}
                made.append(Case(labels, {"job": pair, **run, **changes}))
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


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report the time of the first job beside the second over its time alone."""
    trials_of: dict[tuple[Cell, Cell], dict[Cell, tuple[Case, Result]]] = {}
    for case, result in trials:
        key = (case.labels["strategy"], case.labels["overlap [%]"])
        trials_of.setdefault(key, {})[case.labels["jobs"]] = (case, result)
    rows: list[list[Cell]] = []
    for (strategy, overlap), pair in trials_of.items():
        if len(pair) < 2:
            continue
        alone, both = (iterations_us(pair[jobs][1], "a") for jobs in ("alone", "both"))
        factor = interference_factor(sum(both), sum(alone))
        times = [percentile(times, 50) for times in (alone, both)]
        reported = [value(*pair["both"]) for _, value in health(fabric)]
        rows.append([strategy, overlap, *times, factor, *reported])
    columns = [
        *(Column(axis, SETTING) for axis in AXES[:2]),
        Column("iteration alone P50 [us]", SOFTWARE),
        Column("iteration beside P50 [us]", SOFTWARE),
        Column("interference factor of JCT", SOFTWARE),
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
