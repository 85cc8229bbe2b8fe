"""From a scenario to a measured result."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from etherweave import _core
from etherweave.bench.launchers.launcher import LaunchOutcome
from etherweave.bench.measure import executor, seating
from etherweave.bench.measure.errors import MeasureError
from etherweave.bench.measure.executor import Executor
from etherweave.bench.measure.forecast import Forecast, Limits, forecast, within
from etherweave.bench.measure.jobs import Jobs, jobs_of
from etherweave.bench.measure.launch import LATE_S, launch
from etherweave.bench.measure.launchers import Launching
from etherweave.bench.measure.records import tables
from etherweave.bench.measure.seating import Seating
from etherweave.bench.measure.workplaces import workplace
from etherweave.bench.plans import BenchmarkCommand, Start
from etherweave.bench.site.values import ClusterSite, SiteFabric
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


class _Launched(NamedTuple):
    """A launch that was complete."""

    tables: Mapping[str, pl.DataFrame]
    outcome: LaunchOutcome


class _Course(NamedTuple):
    """A measurement, planned."""

    jobs: Jobs
    seating: Seating
    executor: Executor
    expected: Forecast
    limits: Limits
    is_verified: bool
    launches: int
    setup_s: float


def measure(
    scenario: Scenario,
    overrides: Overrides | None = None,
    *,
    site: ClusterSite | None = None,
    link: SiteFabric | None = None,
    hosts: Sequence[str] | None = None,
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
    site
        On whose hosts the ranks sit, one on each in the order of the site's file; several, block
        after block, when there are more ranks than hosts.
    link
        One of its fabrics, to which MPI is switched; none leaves it to MPI.
    hosts
        Names of those of the site that may take part, in the order of ranks; all unless given.
    launching
        Without a site: what starts the ranks, and where; all on this machine unless given.
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
        Called now and then, by a thread of its own.

    Returns
    -------
    Result
        Tables as of a run, ``iterations`` and ``streams`` with the number of the launch beside;
        ``ranks`` (host, clock) and ``messages`` (counts by rank and peer).

    Raises
    ------
    ScenarioError
        When the scenario is wrong.
    SiteError
        When a host is none of the site's.
    MeasureError
        When something is missing, would take too long, or fails.
    Interrupted
        On Ctrl-C: all processes have ended, complete launches are in the exception.
    """
    started = time.monotonic()
    limits = limits or Limits()
    jobs = jobs_of(scenario, overrides, rehearsal)
    if ranks not in (None, jobs.ranks):
        raise MeasureError(f"the jobs have {jobs.ranks} ranks; expected {ranks}")
    if site:
        seats = seating.of_site(site, link, hosts, jobs.ranks)
    else:
        seats = seating.found(launching or Launching(), jobs.ranks)
    expected = forecast(jobs, seats.processors, seats.rate_bps / seats.ranks_per_node)
    within(limits, expected, launches)
    built = executor.build(compiler, modules=seats.modules)
    setup_s = time.monotonic() - started
    course = _Course(jobs, seats, built, expected, limits, verify, launches, setup_s)
    return _run(course, progress or (lambda facts: None))


def _run(course: _Course, progress: Callable[[Progress], None]) -> Result:
    done: list[_Launched] = []
    for number in range(course.launches):
        try:
            done.append(_launch(course, number, progress))
        except KeyboardInterrupt:
            raise Interrupted(_result(course, done) if done else None) from None
    return _result(course, done)


def _launch(course: _Course, number: int, progress: Callable[[Progress], None]) -> _Launched:
    def tell(elapsed_s: float) -> None:
        progress(Progress(number, course.launches, elapsed_s, course.expected))

    with workplace(executor.cache()) as place:
        files = _written(course.jobs, place)
        records = place / "records"
        records.mkdir()
        seats, limit_s = course.seating, course.limits.seconds + LATE_S
        job = seats.job(_command(course, files), records, limit_s)
        outcome = launch(seats.launcher, job, tell)
        return _Launched(tables(records, course.jobs.jobs, number), outcome)


def _written(jobs: Jobs, place: Path) -> list[Path]:
    """Write the schedules; gives their files."""
    files = []
    for number, job in enumerate(jobs.jobs):
        files.append(place / f"{number}.ews")
        files[-1].write_bytes(job.schedule)
    return files


def _command(course: _Course, files: Sequence[Path]) -> BenchmarkCommand:
    """Give the executor's words; a launcher fills in what stands in braces."""
    program, *names = (
        str(path).replace("{", "{{").replace("}", "}}") for path in (course.executor.path, *files)
    )
    verify = ["--verify"] if course.is_verified else []
    limit = ["--time-limit", str(max(1, round(course.limits.seconds)))]
    return BenchmarkCommand(Start.MPI, (program, *verify, *limit, "{directory}", *names))


def _result(course: _Course, done: Sequence[_Launched]) -> Result:
    """Put launches together, those that were complete."""
    joined = {name: pl.concat([one.tables[name] for one in done]) for name in done[0].tables}
    return Result(
        tables={name: table.to_arrow() for name, table in joined.items()},
        summary=_summary(course, joined, [one.outcome for one in done]),
        resolved=course.jobs.resolved,
        machine=machine(),
    )


def _summary(
    course: _Course, tables: Mapping[str, pl.DataFrame], outcomes: Sequence[LaunchOutcome]
) -> Summary:
    ranks = tables["ranks"]
    facts: Measured = {
        "launcher": course.seating.launcher.name,
        "command": _words(outcomes[0], course.executor.path),
        "compiler": course.executor.compiler,
        "launches": len(outcomes),
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
        "finished": "complete" if len(outcomes) == course.launches else "interrupted",
        "end_ns": float(ranks["duration_ns"].max() or 0),  # type: ignore[arg-type]
        "wall_s": sum(one.end_ns - one.start_ns for one in outcomes) / 1e9,
        "setup_s": course.setup_s,
        "fingerprint": None,
        "threads": 1,
        "warnings": _warnings(course, facts),
        "measured": facts,
    }


def _words(outcome: LaunchOutcome, program: Path) -> list[str]:
    """Give what started the ranks, without the files of a single launch."""
    words = list(outcome.words)
    return words[: words.index(str(program)) + 1] if str(program) in words else words


def _warnings(course: _Course, facts: Measured) -> list[str]:
    warnings = []
    seats, ranks, hosts = course.seating, facts["ranks"], facts["hosts"]
    if hosts < ranks:
        warnings.append(
            f"{ranks} ranks shared {hosts} {'host' if hosts == 1 else 'hosts'}"
            f"{_blocks(seats)}: what they sent to each other there crossed no network"
        )
    if seats.processors and ranks > seats.processors:
        warnings.append(
            f"{ranks} ranks took turns on {seats.processors} processors: times are those of the "
            "scheduler of this machine"
        )
    if (missed := facts["start_missed_ns_max"]) > MISSED_NS_MAX:
        warnings.append(f"a rank started {missed / 1e6:.1f} ms after the agreed instant")
    return warnings


def _blocks(seats: Seating) -> str:
    several = len(seats.hosts) > 1 and seats.ranks_per_node > 1
    return f", up to {seats.ranks_per_node} on each, block after block" if several else ""
