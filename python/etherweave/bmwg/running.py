"""Runs the cases of tests as a sweep: in parallel, and only those that have no result yet."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from etherweave.api.results import Result
from etherweave.api.work import WorkCallback, unheard
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.family import Entry, bench_test
from etherweave.bmwg.model import Case, ReportTable, Trial
from etherweave.bmwg.search import searched
from etherweave.sweeps import Executor, Sweep, SweepStore, sweep
from etherweave.sweeps.store import TABLES, Record

RUNS = "runs"  # Directory of the sweep within that of the results.
COUNTED = ("complete", "time_limit")
"""Endings of runs whose figures count; a deadlock counts where the test looks for it."""
REPETITION, SEED_STEP = "repetition", 1_000
"""Label of cases with another seed, and the step between seeds of a case."""
NAMES = ("test", "case")  # Axes of the sweep.
Cases: TypeAlias = Mapping[str, Sequence[Case]]  # Cases of tests by section.
Repeat: TypeAlias = Callable[[Cases], Mapping[str, Sequence[Sequence[Case]]]]
"""Makes the repetitions of cases, which the results of tests have side by side."""


@dataclass(frozen=True)
class TestResult:
    """A test that was carried out."""

    __test__ = False  # Not one of pytest's.

    entry: Entry  # Test of the draft.
    trials: Sequence[Trial]
    """All cases, in order; those that are not attempted have their reason as problem."""
    tables: Sequence[ReportTable]  # Tables of its report, of the first seed.
    repetitions: Sequence[Sequence[ReportTable]] = ()  # Tables of each seed, the first included.

    @property
    def attempted(self) -> Sequence[Trial]:
        """Trials that were carried out."""
        return [trial for trial in self.trials if not trial.case.excluded]

    @property
    def included(self) -> Sequence[Trial]:
        """Trials that count."""
        return [trial for trial in self.trials if not trial.problem]


@dataclass(frozen=True)
class CaseSweep(Sweep):
    """A sweep whose points are cases, each with changes of its own."""

    cases: Mapping[tuple[str, str], Case]  # Cases by the section of the test and by name.

    def changes(self, point: Mapping[str, object]) -> Mapping[str, object]:
        """Return the keys of the scenario that a case changes."""
        section, name = (str(point[axis]) for axis in NAMES)
        return self.cases[section, name].changes


def run_tests(
    fabric: BenchFabric,
    draft: str,
    entries: Sequence[Entry],
    home: Path,
    executor: Executor,
    on_progress: WorkCallback = unheard,
    *,
    full: bool = False,
    seeds: int = 1,
    repeat: Repeat | None = None,
) -> list[TestResult]:
    """Carry out tests of a draft on a fabric, and compute their tables.

    ``entries`` are of :func:`etherweave.bmwg.selected`. ``home`` keeps runs, which are not repeated
    then. ``on_progress`` is called with the work whenever a run has ended; items are hashes of
    runs. With ``full`` sweeps are those of the draft; each case runs with ``seeds`` seeds, or as
    ``repeat`` says. Raises
    ``SweepError`` when all runs have a mistake, such as on a fabric without the transport of a
    test.
    """
    tests = {entry.section: bench_test(draft, entry.section) for entry in entries}
    repeat = repeat or partial(_with_seeds, int(fabric.resolved["seed"]), seeds)
    cases = repeat({section: test.cases(fabric, full) for section, test in tests.items()})
    attempted = {
        (section, case.name): case
        for section, repetitions in cases.items()
        for case in chain(*repetitions)
        if not case.excluded
    }
    known = searched(
        _carried_out(fabric, draft, attempted, home, executor, on_progress),
        fabric.nic_gbps,
        lambda cases: _carried_out(fabric, draft, cases, home, executor, on_progress),
    )
    results = []
    for entry in entries:
        trials, tables = [], []
        for repetition in cases[entry.section]:
            own = [
                known.get((entry.section, case.name)) or Trial(case, None, case.excluded)
                for case in repetition
            ]
            counted = [(run.case, run.result) for run in own if run.result and not run.problem]
            trials += own
            tables.append(tests[entry.section].tables(fabric, counted) if counted else [])
        results.append(TestResult(entry, trials, tables[0], tables))
    return results


def _with_seeds(seed: int, seeds: int, cases: Cases) -> Mapping[str, Sequence[Sequence[Case]]]:
    """Repeat cases with other seeds."""

    def again(case: Case, number: int) -> Case:
        own = int(str(case.changes.get("seed", seed)))
        return repetition(case, number, {"seed": own + number * SEED_STEP})

    return {
        section: [own, *([again(case, number) for case in own] for number in range(1, seeds))]
        for section, own in cases.items()
    }


def repetition(case: Case, number: int, changes: Mapping[str, object]) -> Case:
    """Make a repetition of a case, from 0, by further changes."""
    labels = {**case.labels, REPETITION: number + 1} if number else case.labels
    return replace(case, labels=labels, changes={**case.changes, **changes})


def _carried_out(
    fabric: BenchFabric,
    draft: str,
    cases: Mapping[tuple[str, str], Case],
    home: Path,
    executor: Executor,
    on_progress: WorkCallback,
) -> dict[tuple[str, str], Trial]:
    if not cases:
        return {}
    name = f"{fabric.name}, {draft}"
    points = CaseSweep(name, fabric.text, fabric.origin, [([*NAMES], list(cases))], (), cases=cases)
    folder = home / RUNS
    sweep(points, folder, executor, on_progress, tables=True)
    records = SweepStore(folder).records()
    trials = {}
    for run in points.runs():
        section, case = (str(run.point[axis]) for axis in NAMES)
        trials[section, case] = _trial(cases[section, case], records[run.id], folder, run.id)
    return trials


def _trial(case: Case, record: Record, folder: Path, run: str) -> Trial:
    """Load what a run left, and say why it does not count, if it does not."""
    ended = record["ended"]
    is_counted = ended in COUNTED or (ended == "stuck" and case.may_deadlock)
    if not is_counted:
        return Trial(case, None, f"{ended}: {record['message']}".strip())
    return Trial(case, Result.load(folder / TABLES / run))
