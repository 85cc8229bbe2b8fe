"""Measurement of a scenario's jobs over MPI."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from etherweave import _core
from etherweave.api.machine import machine
from etherweave.api.outputs import cache
from etherweave.api.results import Measured, Result, Summary
from etherweave.api.scenario import Overrides, ScenarioSource
from etherweave.api.units import counted
from etherweave.bench.launchers.launcher import LaunchOutcome
from etherweave.bench.measure import executor, rank_placement
from etherweave.bench.measure.errors import MeasureError
from etherweave.bench.measure.estimate import Estimate, MeasureLimits, estimate, within
from etherweave.bench.measure.executor import Executor, launch_directory
from etherweave.bench.measure.jobs import ScenarioJobs, jobs_of
from etherweave.bench.measure.launch import LATE_S, LaunchOptions, launch
from etherweave.bench.measure.priorities import JobPriority, job_priorities, numbers_of
from etherweave.bench.measure.rank_placement import LaunchPlacement
from etherweave.bench.measure.records import tables
from etherweave.bench.programs.plans import BenchmarkCommand, Start
from etherweave.bench.site.values import ClusterSite, SiteFabric

MISSED_NS_MAX = 1e6  # Delay of a rank's start after the common instant that causes a warning [ns].


class MeasureProgress(NamedTuple):
    """Progress of a measurement."""

    launch: int  # Number of the current launch, from 0.
    launches: int
    elapsed_s: float  # Since its start [s].
    expected: Estimate  # Estimate of one launch.


class MeasureInterrupted(KeyboardInterrupt):
    """Ctrl-C during a measurement, with the launches that were complete.

    ``result`` is partial, and marked so; ``None`` when no launch was complete.
    """

    def __init__(self, result: Result | None) -> None:
        super().__init__(result)
        self.result = result


class _Launched(NamedTuple):
    tables: Mapping[str, pl.DataFrame]
    outcome: LaunchOutcome


class _Plan(NamedTuple):
    jobs: ScenarioJobs
    priorities: Sequence[JobPriority]
    rank_placement: LaunchPlacement
    executor: Executor
    expected: Estimate
    limits: MeasureLimits
    is_verified: bool
    launches: int
    setup_s: float


def measure(
    scenario: ScenarioSource,
    overrides: Overrides | None = None,
    *,
    site: ClusterSite | None = None,
    link: SiteFabric | None = None,
    hosts: Sequence[str] | None = None,
    options: LaunchOptions | None = None,
    limits: MeasureLimits | None = None,
    dscps: Mapping[int, int] | None = None,
    ranks: int | None = None,
    launches: int = 1,
    warm_up: int = 1,
    verify: bool = False,
    compiler: str = "mpicc",
    progress: Callable[[MeasureProgress], None] | None = None,
) -> Result:
    """Execute the jobs of a scenario over MPI.

    Returns tables of a run, ``iterations`` and ``streams`` with the number of the launch, and
    ``ranks`` (host, clock) and ``messages`` (counts by rank and peer).

    Parameters
    ----------
    scenario, overrides
        As for :func:`etherweave.run`.
    site, link, hosts
        Site on whose hosts ranks run: one on each in the order of the file, or equal blocks if
        there are more ranks than hosts; its fabric that MPI is set to use, by default the choice of
        MPI; names of the hosts that take part, in rank order, by default all.
    options
        Launcher without a site, and its options; by default all ranks run on this machine.
    limits
        Limits: a launch that is estimated to exceed them is rejected, one that does is ended.
    dscps
        Code points that hosts write for priorities, where they differ from the usual ones.
    ranks
        Expected number of ranks; a scenario with another number is rejected.
    launches
        How often to start all ranks anew. Iterations of one launch have much in common; several
        launches report how much of a difference is chance.
    warm_up
        Passes over each block of a program before the recorded start, which opens connections.
    verify
        Whether to check the length of every message; costs time.
    compiler
        Compiler of MPI programs in C.
    progress
        Called ten times a second, by a thread of its own.

    Raises
    ------
    ScenarioError, SiteError
        When the scenario is wrong, or a host is none of the site's.
    MeasureError
        When something is missing, exceeds a limit, or fails.
    MeasureInterrupted
        On Ctrl-C: all processes have ended, the exception has the complete launches.
    """
    started = time.monotonic()
    limits = limits or MeasureLimits()
    jobs = jobs_of(scenario, overrides, warm_up)
    if ranks not in (None, jobs.ranks):
        raise MeasureError(f"the jobs have {jobs.ranks} ranks; expected {ranks}")
    if site:
        placement = rank_placement.of_site(site, link, hosts, jobs.ranks)
    else:
        placement = rank_placement.of_launcher(options or LaunchOptions(), jobs.ranks)
    priorities = job_priorities(jobs, link, dscps, is_here=placement.processors is not None)
    expected = estimate(jobs, placement.processors, placement.rate_bps / placement.ranks_per_node)
    within(limits, expected, launches)
    built = executor.build(compiler, modules=placement.modules)
    setup_s = time.monotonic() - started
    plan = _Plan(jobs, priorities, placement, built, expected, limits, verify, launches, setup_s)
    return _run(plan, progress or (lambda facts: None))


def _run(plan: _Plan, progress: Callable[[MeasureProgress], None]) -> Result:
    done: list[_Launched] = []
    for number in range(plan.launches):
        try:
            done.append(_launch(plan, number, progress))
        except KeyboardInterrupt:
            raise MeasureInterrupted(_result(plan, done) if done else None) from None
    return _result(plan, done)


def _launch(plan: _Plan, number: int, progress: Callable[[MeasureProgress], None]) -> _Launched:
    def report(elapsed_s: float) -> None:
        progress(MeasureProgress(number, plan.launches, elapsed_s, plan.expected))

    with launch_directory(cache()) as place:
        files = _written(plan.jobs, place)
        records = place / "records"
        records.mkdir()
        placement, limit_s = plan.rank_placement, plan.limits.seconds + LATE_S
        job = placement.job(_command(plan, files), records, limit_s)
        outcome = launch(placement.launcher, job, report)
        return _Launched(tables(records, plan.jobs.jobs, number), outcome)


def _written(jobs: ScenarioJobs, place: Path) -> list[Path]:
    """Write the schedules, and return their files."""
    files = []
    for number, job in enumerate(jobs.jobs):
        files.append(place / f"{number}.ews")
        files[-1].write_bytes(job.schedule)
    return files


def _command(plan: _Plan, files: Sequence[Path]) -> BenchmarkCommand:
    """Return the executor's command; the launcher replaces what is in braces."""
    program, *names = (
        str(path).replace("{", "{{").replace("}", "}}") for path in (plan.executor.path, *files)
    )
    verify = ["--verify"] if plan.is_verified else []
    limit = ["--time-limit", str(max(1, round(plan.limits.seconds)))]
    priorities = [word for priority in plan.priorities for word in priority.words()]
    words = (program, *verify, *limit, *priorities, "{directory}", *names)
    return BenchmarkCommand(Start.MPI, words)


def _result(plan: _Plan, done: Sequence[_Launched]) -> Result:
    joined = {name: pl.concat([run.tables[name] for run in done]) for name in done[0].tables}
    return Result(
        tables={name: table.to_arrow() for name, table in joined.items()},
        summary=_summary(plan, joined, [launched.outcome for launched in done]),
        resolved=plan.jobs.resolved,
        machine=machine(),
    )


def _summary(
    plan: _Plan, tables: Mapping[str, pl.DataFrame], outcomes: Sequence[LaunchOutcome]
) -> Summary:
    ranks, messages, streams = (tables[name] for name in ("ranks", "messages", "streams"))
    facts: Measured = {
        "launcher": plan.rank_placement.launcher.name,
        "command": _words(outcomes[0], plan.executor.path),
        "compiler": plan.executor.compiler,
        "launches": len(outcomes),
        "ranks": plan.jobs.ranks,
        "hosts": ranks["host"].n_unique(),
        "messages": int(messages["sent_messages"].sum()) + int(streams["messages"].sum()),
        "payload_bytes": int(messages["sent_bytes"].sum()) + int(streams["bytes"].sum()),
        "clock_error_ns_max": float(ranks["clock_error_ns"].max() or 0),  # type: ignore[arg-type]
        "start_missed_ns_max": float(ranks["start_missed_ns"].max() or 0),  # type: ignore[arg-type]
    }
    if plan.priorities:
        facts["priorities"] = [str(priority) for priority in plan.priorities]
    return {
        "name": plan.jobs.name,
        "seed": plan.jobs.seed,
        "version": _core.version(),
        "finished": "complete" if len(outcomes) == plan.launches else "interrupted",
        "end_ns": float(ranks["duration_ns"].max() or 0),  # type: ignore[arg-type]
        "wall_s": sum(outcome.end_ns - outcome.start_ns for outcome in outcomes) / 1e9,
        "setup_s": plan.setup_s,
        "fingerprint": None,
        "threads": 1,
        "warnings": _warnings(plan, facts),
        "measured": facts,
    }


def _words(outcome: LaunchOutcome, program: Path) -> list[str]:
    """Return the command that started the ranks, without the files of a single launch."""
    words = list(outcome.words)
    return words[: words.index(str(program)) + 1] if str(program) in words else words


def _warnings(plan: _Plan, facts: Measured) -> list[str]:
    warnings = []
    placement, ranks, hosts = plan.rank_placement, facts["ranks"], facts["hosts"]
    if hosts < ranks:
        warnings.append(
            f"{ranks} ranks shared {counted(hosts, 'host')}"
            f"{_blocks(placement)}: their messages to each other crossed no network"
        )
    if placement.processors and ranks > placement.processors:
        warnings.append(
            f"{ranks} ranks ran on {placement.processors} processors: times depend on "
            "the scheduler of this machine"
        )
    if any(numbers_of(plan.jobs)) and not plan.priorities:
        warnings.append(
            "no priority was set: the ranks of all jobs share this machine, without a fabric of a "
            "site"
        )
    if (missed := facts["start_missed_ns_max"]) > MISSED_NS_MAX:
        warnings.append(f"a rank started {missed / 1e6:.1f} ms after the common instant")
    return warnings


def _blocks(placement: LaunchPlacement) -> str:
    several = len(placement.hosts) > 1 and placement.ranks_per_node > 1
    return f", up to {placement.ranks_per_node} on each, block after block" if several else ""
