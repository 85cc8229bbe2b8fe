"""From a scenario to a measured result."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import polars as pl

from etherweave import _core
from etherweave.bench.measure import executor, launchers
from etherweave.bench.measure.errors import MeasureError
from etherweave.bench.measure.executor import Executor
from etherweave.bench.measure.forecast import Forecast, Limits, forecast, within
from etherweave.bench.measure.jobs import Jobs, jobs_of
from etherweave.bench.measure.launch import launch
from etherweave.bench.measure.launchers import Launcher, Launching, Place
from etherweave.bench.measure.records import tables
from etherweave.machine import machine
from etherweave.results import Measured, Result, Summary
from etherweave.scenario import Overrides, Scenario

MISSED_NS_MAX = 1e6
"""A rank that starts later than that after the agreed instant is told of [ns]."""


class Progress(NamedTuple):
    """How far a measurement is."""

    launch: int
    """Under way, from 0."""
    launches: int
    elapsed_s: float
    """Since its start [s]."""
    expected: Forecast
    """Of one launch."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a measurement, with the launches that were complete.

    Parameters
    ----------
    result
        Partial, and marked so; None when no launch was complete.
    """

    def __init__(self, result: Result | None) -> None:
        super().__init__(result)
        self.result = result


class _Course(NamedTuple):
    """A measurement, planned."""

    jobs: Jobs
    executor: Executor
    command: list[str]
    expected: Forecast
    launcher: Launcher
    limits: Limits
    launches: int
    setup_s: float


def measure(
    scenario: Scenario,
    overrides: Overrides | None = None,
    *,
    launching: Launching | None = None,
    limits: Limits | None = None,
    ranks: int | None = None,
    launches: int = 1,
    rehearsal: int = 1,
    verify: bool = False,
    compiler: str = "mpicc",
    progress: Callable[[Progress], None] | None = None,
) -> Result:
    """Execute the jobs of a scenario over MPI.

    Parameters
    ----------
    scenario, overrides
        As for :func:`etherweave.run`.
    launching
        What starts the ranks, and where; all on this machine unless given.
    limits
        What it may take: refused beforehand if predicted to be more, and ended if it is.
    ranks
        How many are expected; a scenario with another number is refused.
    launches
        How often to start all ranks anew. Iterations of one launch have much in common; several
        launches tell how much of a difference is chance.
    rehearsal
        Passes over each block of a program before the start that is recorded: connections are open
        then. 0 for none.
    verify
        Whether to compare the length of every message with what was to come; takes time.
    compiler
        Of MPI programs in C.
    progress
        Called now and then.

    Returns
    -------
    Result
        Tables as of a run, ``iterations`` and ``streams`` with the number of the launch beside;
        ``ranks`` (host, clock) and ``messages`` (counts by rank and peer).

    Raises
    ------
    ScenarioError
        When the scenario is wrong.
    MeasureError
        When something is missing, would take too long, or fails.
    Interrupted
        On Ctrl-C: all processes have ended, complete launches are in the exception.
    """
    started = time.monotonic()
    launching, limits = launching or Launching(), limits or Limits()
    jobs = jobs_of(scenario, overrides, rehearsal)
    if ranks not in (None, jobs.ranks):
        raise MeasureError(f"the jobs have {jobs.ranks} ranks; expected {ranks}")
    expected = forecast(jobs, _processors() if launching.launcher is Launcher.LOCAL else None)
    within(limits, expected, launches)
    words = launchers.command(launching, here(launching), jobs.ranks)
    built = executor.build(compiler)
    options = ["--verify"] if verify else []
    command = [
        *words,
        str(built.path),
        *options,
        "--time-limit",
        str(max(1, round(limits.seconds))),
    ]
    setup_s = time.monotonic() - started
    course = _Course(jobs, built, command, expected, launching.launcher, limits, launches, setup_s)
    return _run(course, progress or (lambda facts: None))


def _run(course: _Course, progress: Callable[[Progress], None]) -> Result:
    done: list[dict[str, pl.DataFrame]] = []
    took: list[float] = []
    for number in range(course.launches):
        try:
            one, took_s = _launch(course, number, progress)
        except KeyboardInterrupt:
            partial = _result(course, done, took, is_whole=False) if done else None
            raise Interrupted(partial) from None
        done.append(one)
        took.append(took_s)
    return _result(course, done, took, is_whole=True)


def _launch(
    course: _Course, number: int, progress: Callable[[Progress], None]
) -> tuple[dict[str, pl.DataFrame], float]:
    """Launch once; gives the tables and the time that it took [s]."""

    def tell(elapsed_s: float) -> None:
        progress(Progress(number, course.launches, elapsed_s, course.expected))

    with TemporaryDirectory(prefix="etherweave-measure-") as directory:
        place = Path(directory)
        files = _written(course.jobs, place)
        words = [*course.command, str(place), *files]
        took_s = launch(words, course.limits.seconds, place / "log.txt", tell)
        return tables(place, course.jobs.jobs, number), took_s


def _written(jobs: Jobs, place: Path) -> list[str]:
    """Write the schedules; gives their files."""
    files = []
    for number, job in enumerate(jobs.jobs):
        path = place / f"{number}.ews"
        path.write_bytes(job.schedule)
        files.append(str(path))
    return files


def here(launching: Launching) -> Place:
    """Ask the launcher and this machine what a command line depends on.

    Raises
    ------
    MeasureError
        When there is no such launcher.
    """
    program = launchers.program(launching.launcher)
    found = shutil.which(program)
    if found is None:
        raise MeasureError(f"{program}: not found; expected it to launch the ranks")
    asked = launching.launcher is not Launcher.SRUN
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False)
    return Place(said.stdout if asked else "", _processors(), os.geteuid() == 0)


def _processors() -> int:
    """Count those that this process may run on."""
    return len(os.sched_getaffinity(0))


def _result(
    course: _Course,
    done: Sequence[Mapping[str, pl.DataFrame]],
    took: Sequence[float],
    is_whole: bool,
) -> Result:
    joined = {name: pl.concat([one[name] for one in done]) for name in done[0]}
    return Result(
        tables={name: table.to_arrow() for name, table in joined.items()},
        summary=_summary(course, joined, took, is_whole),
        resolved=course.jobs.resolved,
        machine=machine(),
    )


def _summary(
    course: _Course, tables: Mapping[str, pl.DataFrame], took: Sequence[float], is_whole: bool
) -> Summary:
    ranks = tables["ranks"]
    facts: Measured = {
        "launcher": course.launcher.value,
        "command": course.command,
        "compiler": course.executor.compiler,
        "launches": len(took),
        "ranks": course.jobs.ranks,
        "hosts": ranks["host"].n_unique(),
        "messages": int(tables["messages"]["sent_messages"].sum()),
        "payload_bytes": int(tables["messages"]["sent_bytes"].sum()),
        "clock_error_ns_max": float(ranks["clock_error_ns"].max() or 0),  # type: ignore[arg-type]
        "start_missed_ns_max": float(ranks["start_missed_ns"].max() or 0),  # type: ignore[arg-type]
    }
    return {
        "name": course.jobs.name,
        "seed": course.jobs.seed,
        "version": _core.version(),
        "finished": "complete" if is_whole else "interrupted",
        "end_ns": float(ranks["duration_ns"].max() or 0),  # type: ignore[arg-type]
        "wall_s": sum(took),
        "setup_s": course.setup_s,
        "fingerprint": None,
        "threads": 1,
        "warnings": _warnings(course, facts),
        "measured": facts,
    }


def _warnings(course: _Course, facts: Measured) -> list[str]:
    warnings = []
    ranks, hosts = facts["ranks"], facts["hosts"]
    if hosts < ranks:
        warnings.append(
            f"{ranks} ranks shared {hosts} {'host' if hosts == 1 else 'hosts'}: "
            "what they sent to each other there crossed no network"
        )
    processors = _processors()
    if course.launcher is Launcher.LOCAL and ranks > processors:
        warnings.append(
            f"{ranks} ranks took turns on {processors} processors: times are those of the "
            "scheduler of this machine"
        )
    if (missed := facts["start_missed_ns_max"]) > MISSED_NS_MAX:
        warnings.append(f"a rank started {missed / 1e6:.1f} ms after the agreed instant")
    return warnings
