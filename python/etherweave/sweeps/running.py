"""Carries out the runs of a sweep that have no record, and says what they are expected to take."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from etherweave import _core
from etherweave.api.fidelity import error_max, fidelity
from etherweave.api.machine import machine
from etherweave.api.overview import overview
from etherweave.api.results import CoreTables, Result, parse_summary
from etherweave.api.scenario import ScenarioSource, literals
from etherweave.api.simulation import ScenarioError
from etherweave.api.work import Work, WorkCallback, unheard
from etherweave.extend import described_fault, extensions_of, load_extensions
from etherweave.measurements.benchmark_lines import benchmark_columns
from etherweave.sweeps import cost
from etherweave.sweeps.executors import Executor, Task, WorkerError, executor
from etherweave.sweeps.points import Run, Sweep, SweepError, load_sweep
from etherweave.sweeps.store import LOST, TABLES, Record, SweepStatus, SweepStore

if TYPE_CHECKING:
    import polars

FIGURES = (
    "end_ns",
    "packet_hops",
    "packets_created",
    "packets_delivered",
    "packets_dropped",
    "packets_damaged",
    "packets_lost",
)
"""Figures of a summary that are columns of the dataset."""
_ORIGIN = "resolved"
"""Name of resolved scenarios, which nobody has written: mistakes are recorded without it."""
_NO_ROOM = "--memory-limit"
"""Option that a mistake expects which only says that memory is lacking now."""


@dataclass(frozen=True, repr=False)
class SweepResult:
    """Result of a sweep."""

    dataset: Path  # Directory of Parquet files: a row for each point.
    status: SweepStatus
    carried_out: int  # Runs that were carried out now; the others had a record.
    runs_by_fidelity: Mapping[str, int]
    """How many runs were simulated by ``packet``, ``flow``, or jobs of both, ``hybrid``."""
    model: cost.CostModel | None
    """Predictions of the cost model for these runs; None for few measured runs."""

    def to_polars(self) -> "polars.DataFrame":
        """Read the dataset: a row for each point, its axes and its figures as columns."""
        return SweepStore(self.dataset.parent).table()

    def results(self) -> dict[str, list[Result]]:
        """Load the results that ``tables`` kept: those of all seeds, by what differs of points."""
        return SweepStore(self.dataset.parent).results()

    def __repr__(self) -> str:
        """Say how many runs have ended and failed, and where their figures are."""
        ended = f"{self.status.finished} of {self.status.runs} runs finished"
        counts = {"failed": self.status.failed, "lost": self.status.lost}
        others = "".join(f", {count} {name}" for name, count in counts.items() if count)
        now = f"{self.carried_out} of them now{others}"
        return f"<SweepResult: {ended}, {now}, in {self.dataset}>"


def sweep(
    scenario: Sweep | ScenarioSource,
    directory: str | Path,
    executor: Executor = executor(),  # noqa: B008 - frozen, and starts nothing
    on_progress: WorkCallback = unheard,
    *,
    tables: bool = False,
    part_of: tuple[Work, int] | None = None,
) -> SweepResult:
    """Carry out the runs of a sweep that have no record in a directory, and write its dataset.

    Parameters
    ----------
    scenario
        A scenario with a table ``sweep``: a file, a mapping, or what :func:`load_sweep` read.
    directory
        Directory of the dataset and of the journal of runs; made when missing.
    executor
        Where runs are carried out; see :func:`executor`. Results do not depend on it.
    on_progress
        Called with the work whenever a run has ended; items are hashes of runs.
    tables
        Whether each run leaves its whole result, too, in ``tables/`` under its hash. Workers write
        it, so that all of them see the directory.
    part_of
        Work that these runs extend, and how many more may follow them at most.

    Raises
    ------
    SweepError
        When no point is a valid scenario, all runs are lost, or another sweep uses the directory.
        Runs that fail are rows of the dataset, and ``status.failed`` counts them.
    ExecutorError
        When a worker's core is another than that of this process.
    OSError
        When a file cannot be written. Runs until then are kept.
    """
    what = scenario if isinstance(scenario, Sweep) else load_sweep(scenario)
    home = Path(directory)
    store, runs = SweepStore(home), list(what.runs())
    with store.alone():
        store.keep_plan(what, runs)
        records = store.records()
        left = {run.id: run for run in runs if store.lacks(records.get(run.id), run.id, tables)}
        done = 0
        different = list({run.id: run for run in runs}.values())
        taken_s = {run: float(record.get("seconds", 0.0)) for run, record in records.items()}
        work, more = part_of or (work_of(executor), 0)
        work.extend(
            [run.id for run in different],
            lambda: cost.expected_times(what, different, taken_s),
            more,
        )
        work.expect_step("dataset", cost.DATASET_S)
        for known in different:
            has_ended = work.has_ended(known.id)
            if known.id in left and has_ended:
                work.repeat(known.id)  # It was lost in an earlier batch.
            elif known.id not in left and not has_ended:
                work.end(known.id, is_kept=True)
        on_progress(work)
        try:
            with store.journal() as journal:
                for run, record in _carried_out(what, left, executor, home, tables):
                    journal.add(run, record)
                    records[run] = record
                    done += 1
                    work.end(run)
                    on_progress(work)
        finally:
            dataset = store.write_dataset(what, runs, records)
            work.end("dataset")
    _reject_all_lost([records[run.id] for run in runs if run.id in records])
    fidelities = (records[run.id].get("fidelity") for run in runs if run.id in records)
    by_fidelity = Counter(own for own in fidelities if own)
    model = _model(what, runs, records)
    return SweepResult(dataset, store.status(), done, dict(by_fidelity), model)


def work_of(executor: Executor) -> Work:
    """Return work without items yet, of runs that an executor carries out."""
    return Work([], None, executor.workers, in_seconds=True, start_s=cost.START_S)


def _reject_all_lost(records: Sequence[Record]) -> None:
    """Raise ``SweepError`` where all runs of a sweep are lost."""
    if records and all(record["ended"] == LOST for record in records):
        count = f"all {len(records)} runs" if len(records) > 1 else "the run"
        raise SweepError(f"{count} lost: {records[0]['message']}; repeat the sweep to try again")


def _carried_out(
    what: Sweep, left: Mapping[str, Run], executor: Executor, home: Path, tables: bool
) -> Iterator[tuple[str, Record]]:
    for run in left.values():
        if run.mistake:
            yield run.id, _record("mistake", run.mistake)

    def tasks() -> Iterator[Task]:
        for run in left.values():
            if not run.mistake:
                place = str(home.absolute() / TABLES / run.id) if tables else None
                yield run.id, [what.resolve(run.point), place, *what.extend]

    for key, record in executor.completed(f"{__name__}:carry_out", tasks(), home):
        yield key, _record(LOST, str(record)) if isinstance(record, WorkerError) else record


def carry_out(task: Sequence[Any]) -> Record:
    """Carry out a run in a worker: its scenario, a place for its tables, and names of classes."""
    resolved, place, *names = task
    start = time.thread_time()
    try:
        extensions = extensions_of(
            load_extensions(names), lambda more: _core.resolve(resolved, _ORIGIN, literals(more))
        )
        changes, classes = literals(extensions.overrides), extensions.classes
        done = _core.run(resolved, _ORIGIN, changes, 1, (), None, None, None, None, classes)
    except ScenarioError as error:
        lacks_room = any(_NO_ROOM in mistake.expected for mistake in error.mistakes)
        message = "\n".join(str(mistake.at("")) for mistake in error.mistakes)
        return _record(LOST if lacks_room else "mistake", message)
    except (Exception, SystemExit) as error:
        if (described := described_fault(error)) is None:
            raise
        return _record("mistake", described)
    summary = parse_summary(done.summary)
    if summary["finished"] == "interrupted":
        raise KeyboardInterrupt  # Worker that is terminated: no result.
    result = Result(CoreTables(done.tables), summary, done.resolved, machine() if place else {})
    if place:
        result.save(place)
    figures: dict[str, Any] = {name: summary[name] for name in FIGURES}  # type: ignore[literal-required]
    fingerprint = summary["fingerprint"]
    figures["fingerprint"] = "".join(fingerprint.values()) if fingerprint else None  # type: ignore[arg-type]
    message = summary.get("stuck_report") or "; ".join(summary["warnings"])
    if fault := summary.get("fault"):
        message = f"{fault['message']} ({fault['place']})"
    figures |= _flat("skipped.", summary.get("skipped", {}))
    figures |= _flat("", overview(result))
    figures |= benchmark_columns(result)
    record = _record(summary["finished"], message, figures, time.thread_time() - start)
    modes = {"fidelity": fidelity(done.resolved), "fidelity_error_max": error_max(summary)}
    return {**record, **modes}


def _record(
    ended: str, message: str, figures: Mapping[str, Any] | None = None, seconds: float = 0.0
) -> Record:
    return {"ended": ended, "message": message, "figures": figures or {}, "seconds": seconds}


def _flat(before: str, values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Name figures by their path; lists, such as the worst ports, are left out."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(f"{before}{key}.", value)
        elif not isinstance(value, list):
            yield f"{before}{key}", value


def expect(what: Sweep, home: Path, executor: Executor) -> cost.Expectation:
    """Predict what the runs of a sweep that have no record take; a few run for a moment for it.

    Raises ``SweepError`` when every point has a mistake.
    """
    runs, records = list(what.runs()), SweepStore(home).records()
    different = {run.id: run for run in runs}.values()
    left = [run for run in different if records.get(run.id, {"ended": LOST})["ended"] == LOST]
    valid = [run for run in left if not run.mistake]
    return cost.expected(what, len(runs), len(different) - len(left), valid, executor)


def _model(
    what: Sweep, runs: Sequence[Run], records: Mapping[str, Record]
) -> cost.CostModel | None:
    """Predict runs that have been measured from a few of them, to know the error."""
    measured = {
        run.id: run
        for run in runs
        if records.get(run.id, {}).get("seconds") and records[run.id]["ended"] not in (LOST,)
    }
    if len(measured) < 2 * cost.PILOTS:
        return None
    known = cost.estimates(what, list(measured.values()))
    taken = [records[run]["seconds"] for run in measured]
    chosen = cost.pilots(known)
    return cost.CostModel.of([(known[at], taken[at]) for at in chosen]).checked(known, taken)
