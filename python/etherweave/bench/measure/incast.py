"""An incast on a real cluster by ``iperf3`` or ``ib_write_bw``, as a scenario describes it.

::

    source 1, stream 0 ── client ──►┐
    source 1, stream 1 ── client ──►┤ a server for each, all on the first host
    source 2, stream 0 ── client ──►┘

All clients run at once for the same time; what each reports is its stream's goodput, of iperf3 in
the time in which all streams run (:mod:`.common_time`).
"""

import math
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from etherweave import _core
from etherweave.api.code_points import code_point, mistake, octet
from etherweave.api.machine import machine
from etherweave.api.outputs import cache
from etherweave.api.results import Measured, Result
from etherweave.api.scenario import Overrides, ScenarioSource
from etherweave.api.units import rate_of, size_of
from etherweave.bench.adapters import ADAPTERS
from etherweave.bench.launchers.launcher import LaunchJob, LaunchOutcome
from etherweave.bench.launchers.registry import launcher
from etherweave.bench.measure.common_time import (
    AROUND_S,
    START_SPREAD_S,
    CommonTime,
    client_words,
    common_time,
)
from etherweave.bench.measure.errors import MeasureError, MeasureLaunchError
from etherweave.bench.measure.estimate import START_S, Estimate, MeasureLimits, within
from etherweave.bench.measure.executor import launch_directory
from etherweave.bench.measure.jobs import ScenarioJobs, jobs_of
from etherweave.bench.measure.launch import LATE_S, IncastProgram, launch
from etherweave.bench.measure.priorities import JobPriority
from etherweave.bench.programs.plans import BenchmarkRequest, FabricEstimate, GivenOptions, Start
from etherweave.bench.site.values import ClusterSite, SiteFabric
from etherweave.bench.texts.document import UnrecognisedError, parse
from etherweave.measurements.benchmark_report import BenchmarkReport
from etherweave.measurements.metrics import BANDWIDTH

_START_EACH_S = 0.3  # Time to start a server, until it listens, and its client [s].
DURATION_S = 10  # Usual time of all streams [s].
_BLOCK_MAX = 1 << 20  # Largest block of iperf3 [B].
_NO_ITERATIONS = {
    "job": pl.String,
    "rank": pl.UInt64,
    "host": pl.String,
    "iteration": pl.UInt64,
    "start_ns": pl.Float64,
    "duration_ns": pl.Float64,
    "launch": pl.UInt64,
}


def measure_incast(
    scenario: ScenarioSource,
    overrides: Overrides | None = None,
    *,
    program: IncastProgram,
    site: ClusterSite,
    link: SiteFabric | None = None,
    hosts: Sequence[str] | None = None,
    limits: MeasureLimits | None = None,
    dscps: Mapping[int, int] | None = None,
    duration_s: int = DURATION_S,
    launches: int = 1,
    progress: Callable[[float], None] = lambda elapsed_s: None,
) -> Result:
    """Measure the incast of a scenario with the programs that people use for it.

    The first host receives, each of the others is a source; sources share hosts in turn where there
    are fewer. ``duration_s`` is that of all streams, whole seconds; other parameters are those of
    :func:`etherweave.bench.measure.measure`. The table ``streams`` has a row for each stream, with
    the goodput that its program reports.

    Raises ``ScenarioError`` when the scenario is wrong, ``SiteError`` when a host is none of the
    site's, ``MeasureError`` when it is no incast that the program can send, exceeds a limit, or
    fails.
    """
    started = time.monotonic()
    jobs = jobs_of(scenario, overrides, 0)
    job = _incast(jobs, program)
    incast = job["workload"]["incast"]
    names = tuple(hosts or (host.name for host in site.hosts))
    if len(names) < 2:
        raise MeasureError("an incast needs a second host; expected --hosts with two or more")
    sources = [names[1 + at % (len(names) - 1)] for at in range(incast["sources"])]
    starting = launcher(site, link)
    if missing := starting.missing():
        raise MeasureError(f"launcher {starting.name}: {missing}")
    rate = link.rate if link else rate_of("10Gb/s")
    count = len(sources) * incast["streams_per_source"]
    length_s = duration_s + (AROUND_S if program is IncastProgram.IPERF3 else 0)
    expected = Estimate(START_S + _START_EACH_S * count + length_s, rate * length_s / 1e9)
    within(limits or MeasureLimits(), expected, launches)
    priority = _priority(jobs, job, dscps or {})
    command = _command(program, job, link, rate, priority, duration_s)
    tables, outcomes, warnings = [], [], list[str]()
    for number in range(launches):
        with launch_directory(cache()) as place:
            limit_s = expected.seconds + LATE_S
            work = LaunchJob(
                command, (names[0], *sources), incast["streams_per_source"], place, limit_s
            )
            overdue = partial(_overdue, place, program, count)
            outcomes.append(launch(starting, work, progress, overdue))
        together = _rates(outcomes[-1].text, program, count, duration_s)
        warnings += [f"launch {number}: {warning}" for warning in together.warnings]
        tables.append(_streams(job, names[0], sources, together.rates, duration_s, number))
    made = _result(jobs, program, link, tables, outcomes, time.monotonic() - started)
    made.summary["warnings"] += warnings
    if priority.priority:
        made.summary["measured"]["priorities"] = [str(priority)]
    return made


def _overdue(place: Path, program: IncastProgram, count: int) -> str:
    """Say how far a launch came whose time is over; clients print when they end."""
    begun = {kind: len([*place.glob(f"{kind}*.out")]) for kind in ("server", "client")}
    ended = len([file for file in place.glob("client*.out") if file.stat().st_size])
    return (
        f"of {count:,} servers of {program} {begun['server']:,} were started, of as many clients "
        f"{begun['client']:,}, and {ended:,} ended; expected fewer streams_per_source or sources"
    )


def _incast(jobs: ScenarioJobs, program: IncastProgram) -> dict[str, Any]:
    """Return the scenario's only job; raises ``MeasureError`` when the program cannot send it."""
    all_jobs: list[dict[str, Any]] = tomllib.loads(jobs.resolved)["job"]
    for at, job in enumerate(all_jobs):
        (workload,) = job["workload"]
        if workload != "incast" or len(all_jobs) > 1:
            raise MeasureError(
                f"job.{at}.workload: {workload} among {len(all_jobs)} jobs; "
                f"{program} sends one job of incast"
            )
    (job,) = all_jobs
    incast = job["workload"]["incast"]
    if "messages" in incast:
        raise MeasureError(
            f"job.0.workload.incast.messages: {incast['messages']}; {program} sends for a time, "
            "expected none"
        )
    if program is IncastProgram.IPERF3 and size_of(incast["message"]) > _BLOCK_MAX:
        raise MeasureError(
            f"job.0.workload.incast.message: {incast['message']}; iperf3 sends at most 1MiB at once"
        )
    return job


def _priority(jobs: ScenarioJobs, job: Mapping[str, Any], dscps: Mapping[int, int]) -> JobPriority:
    """Return the job's priority, which options of the program set."""
    if problem := mistake(dscps):
        raise MeasureError(problem)
    number = job["priority"]
    mark = dscps.get(number, code_point(number))
    return JobPriority(job["name"], number, mark, {}, 0, jobs.ranks - 1)


def _command(
    program: IncastProgram,
    job: Mapping[str, Any],
    link: SiteFabric | None,
    rate: float,
    priority: JobPriority,
    duration_s: int,
) -> Any:
    incast, number = job["workload"]["incast"], priority.priority
    tos = str(octet(priority.code_point))
    words: list[str] = []
    is_iperf3 = program is IncastProgram.IPERF3
    if is_iperf3:
        words += [*client_words(), *(["-S", tos] if number else [])]
    else:
        words += ["-t", str(incast["outstanding"])]
        words += ["-S", str(number), "--tclass", tos] if number else []
    adapter = ADAPTERS["iperf3" if is_iperf3 else "perftest"]
    request = BenchmarkRequest(
        str(program),
        size_max=size_of(incast["message"]),
        seconds=duration_s + (START_SPREAD_S if is_iperf3 else 0),
        device=link.device.partition(":")[0] if link and link.device else None,
        options=GivenOptions(tuple(words), replaced=frozenset({"-O"} if is_iperf3 else ())),
    )
    command = adapter.plan(request, FabricEstimate(rate)).command
    server = (*command.server, "-J") if is_iperf3 else command.server
    return replace(command, server=server, start=Start.FAN_IN)


def _rates(text: str, program: IncastProgram, count: int, duration_s: int) -> CommonTime:
    """Return the goodput of each stream."""
    try:
        reports = parse(text).reports
    except UnrecognisedError as error:
        raise MeasureLaunchError(f"{program}: {error}") from None
    rates = [rate for report in reports if not math.isnan(rate := _rate(report))]
    if len(rates) != count:
        raise MeasureLaunchError(f"{program}: {len(rates)} results of {count} streams")
    return (
        CommonTime(rates, 0)
        if program is not IncastProgram.IPERF3
        else common_time(text, duration_s)
    )


def _rate(report: BenchmarkReport) -> float:
    rates = [entry for entry in report.measurements if entry.metric is BANDWIDTH]
    received = [entry for entry in rates if ("side", "receiver") in entry.labels]
    means = [entry.value for entry in received or rates if entry.statistic == "mean"]
    return means[0] if means else math.nan


def _streams(
    job: Mapping[str, Any],
    sink: str,
    sources: Sequence[str],
    rates: Sequence[float],
    duration_s: int,
    launch_number: int,
) -> pl.DataFrame:
    message = size_of(job["workload"]["incast"]["message"])
    each = job["workload"]["incast"]["streams_per_source"]
    octets = [round(rate * duration_s) for rate in rates]
    return pl.DataFrame(
        {
            "job": job["name"],
            "source_host": [host for host in sources for _ in range(each)],
            "destination_host": sink,
            "stream": pl.Series([at % each for at in range(len(rates))], dtype=pl.UInt64),
            "messages": pl.Series([count // message for count in octets], dtype=pl.UInt64),
            "bytes": pl.Series(octets, dtype=pl.UInt64),
            "start_ns": 0.0,
            "end_ns": duration_s * 1e9,
            "goodput_gbps": [rate * 8 / 1e9 for rate in rates],
        }
    ).with_columns(launch=pl.lit(launch_number, dtype=pl.UInt64))


def _result(
    jobs: ScenarioJobs,
    program: IncastProgram,
    link: SiteFabric | None,
    tables: Sequence[pl.DataFrame],
    outcomes: Sequence[LaunchOutcome],
    taken_s: float,
) -> Result:
    streams = pl.concat(tables)
    wall_s = sum(outcome.end_ns - outcome.start_ns for outcome in outcomes) / 1e9
    hosts = {*streams["source_host"], *streams["destination_host"]}
    facts: Measured = {
        "launcher": str(program),
        "command": list(outcomes[0].words),
        "compiler": "",
        "launches": len(outcomes),
        "ranks": jobs.ranks,
        "hosts": len(hosts),
        "messages": int(streams["messages"].sum()),
        "payload_bytes": int(streams["bytes"].sum()),
        "clock_error_ns_max": 0.0,
        "start_missed_ns_max": 0.0,
    }
    shared = len(hosts) < jobs.ranks
    warnings = [f"{jobs.ranks - 1} sources share {len(hosts) - 1} hosts"] if shared else []
    totals = [table["goodput_gbps"].sum() for table in tables if link]
    warnings += [
        f"launch {number}: {total:.3g} Gb/s arrived by a link of {link.rate * 8 / 1e9:g} Gb/s; "
        "expected at most its rate, which the site states"
        for number, total in enumerate(totals)
        if link and total > link.rate * 8 / 1e9
    ]
    return Result(
        tables={
            "iterations": pl.DataFrame(schema=_NO_ITERATIONS).to_arrow(),
            "streams": streams.to_arrow(),
        },
        summary={
            "name": jobs.name,
            "seed": jobs.seed,
            "version": _core.version(),
            "finished": "complete",
            "end_ns": float(streams["end_ns"].max() or 0.0),  # type: ignore[arg-type]
            "wall_s": wall_s,
            "setup_s": taken_s - wall_s,
            "fingerprint": None,
            "threads": 1,
            "warnings": warnings,
            "measured": facts,
        },
        resolved=jobs.resolved,
        machine=machine(),
    )
