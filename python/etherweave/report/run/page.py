"""The report of one run, perhaps beside others."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from etherweave.api.fidelity import error_text
from etherweave.api.limits import PLACES, JobLimits, how_to_record, limits
from etherweave.api.overview import overview
from etherweave.api.results import Result, Summary
from etherweave.measurements.run_lines import run_lines
from etherweave.report.page import Front, Page
from etherweave.report.run import benchmarks, osu, ports
from etherweave.report.run.comparison import (
    ComparedResults,
    goodput,
    iteration_times,
    published_figures,
    sentences,
)
from etherweave.report.run.flow_figures import FIGURES
from etherweave.report.run.flow_slowdowns import flow_slowdowns
from etherweave.report.run.hosts import iterations, nodes, streams
from etherweave.report.run.limits import compared_limits, explained, job_limits
from etherweave.report.run.modes import modes
from etherweave.report.run.rank_detail import WindowRequest, detail
from etherweave.report.run.samples import flow_series, host_series, link_maps, port_series
from etherweave.report.run.timeline import communication_map, timelines
from etherweave.report.section import Builder

SIMULATED: list[Builder[Result]] = [
    modes,
    flow_slowdowns,
    iterations,
    nodes,
    streams,
    host_series,
    port_series,
    link_maps,
    flow_series,
    ports.failures,
    ports.utilisation,
    ports.pauses,
    ports.counters,
    ports.flows,
]
"""Sections for a run, in the order of the page; those without anything to show return nothing."""

MEASURED: list[Builder[Result]] = [iterations, nodes, streams]
"""Sections for a measured run: its results at hosts."""

COMPARED: list[Builder[ComparedResults]] = [iteration_times, goodput, compared_limits]
"""Sections for results of the same jobs."""

REFERENCES: list[Builder[ComparedResults]] = [*osu.sections, *benchmarks.sections]
"""Sections for one result or several: curves of benchmarks, beside published ones."""

ENDS = {
    "complete": "Complete after {}",
    "time_limit": "Ended at its time limit, after {}: not all jobs are complete",
    "interrupted": "Interrupted after {}: results are partial",
    "stuck": "Stuck after {}: no event could make progress",
    "fault": "Ended after {} by a fault of Etherweave: results are partial",
}


def write_run(
    result: Result, out: Path, others: Sequence[Result] = (), request: WindowRequest | None = None
) -> Path:
    """Write a run's page into a directory; returns the page's path.

    ``out`` is made when missing; ``others`` are results of the same jobs, to be shown beside it.
    ``request`` is the window of time in which ranks are drawn in detail.
    """
    jobs = timelines(result)
    if request:
        request.check(jobs)
    page = Page(out)
    beside = ComparedResults([result, *others])
    if others:
        page.show(COMPARED, beside)
    with_limits = explained(result)
    page.show([job_limits], with_limits)
    page.show(REFERENCES, beside)
    if any("flow_times" in result.tables for result in beside.results):
        results = zip(beside.labels, beside.results, strict=True)
        page.show(FIGURES, {label: [own] for label, own in results})
    page.show(MEASURED if "measured" in result.summary else SIMULATED, result)
    page.show([published_figures], beside)
    for job in jobs:
        page.show([communication_map, partial(detail, request=request)], job)
    scenarios = [
        (f"Resolved scenario, {label}" if others else "Resolved scenario", result.resolved)
        for result, label in zip(beside.results, beside.labels, strict=True)
    ]
    return page.write(_front(result, with_limits, beside), scenarios)


def _front(result: Result, with_limits: Result, beside: ComparedResults) -> Front:
    summary, jobs = result.summary, limits(with_limits)
    end = ENDS[summary["finished"]].format(f"{summary['end_ns'] / 1e6:,.3f} ms")
    lead = ". ".join([end, *(f"{job.job} is limited by {_first(job)}" for job in jobs)]) + "."
    of_summary = _measured_facts if "measured" in summary else _facts
    error = error_text(result)
    of_fidelity = [("error against packets", error)] if error else []
    repeated = [] if with_limits is result else [("ranks observed", "in a second, equal run")]
    facts = [*of_summary(summary), *of_fidelity, *repeated, *result.machine.items()]
    warnings = [*beside.warnings, *beside.differences]
    trouble = summary.get("stuck_report") or ""
    answers = [*sentences(beside), *_answers(result, jobs)]
    return Front(summary["name"], lead, answers, facts, warnings, trouble)


def _first(job: JobLimits) -> str:
    place, time_ns = next(iter(job.places_ns.items()))
    return f"{PLACES[place]}, {time_ns / job.time_ns:.0%} of its time"


def _answers(result: Result, job_limitses: Sequence[JobLimits]) -> list[str]:
    """Say what jobs took, what limits them, and what the fabric did."""
    answers = [*(entry.sentence() for entry in job_limitses), *run_lines(result, overview(result))]
    if "measured" in result.summary:
        return answers
    if not job_limitses and (hint := how_to_record(result)):
        answers.append(hint)
    return [*answers, *ports.busiest(result), *ports.spread(result)]


def _measured_facts(summary: Summary) -> list[tuple[str, str]]:
    facts = summary["measured"]
    counts = ("launches", "ranks", "hosts", "messages", "payload_bytes")
    of_executor = [
        ("compiler", facts["compiler"]),
        ("clocks within", f"{facts['clock_error_ns_max'] / 1e3:,.3g} us"),
        ("late starts up to", f"{facts['start_missed_ns_max'] / 1e3:,.3g} us"),
    ]
    return [
        ("seed", str(summary["seed"])),
        ("Etherweave", summary["version"]),
        ("took", f"{summary['wall_s']:,.3g} s, after {summary['setup_s']:,.3g} s of set-up"),
        ("command", " ".join(facts["command"])),
        *((name.replace("_", " "), f"{facts[name]:,}") for name in counts),  # type: ignore[literal-required]
        *(of_executor if facts["compiler"] else ()),
        *(("priority", text) for text in facts.get("priorities", ())),
    ]


def _facts(summary: Summary) -> list[tuple[str, str]]:
    wall = summary["wall_s"]
    fates = ("created", "delivered", "dropped", "in_flight")
    counts = ["packet_hops", "events", *(f"packets_{fate}" for fate in fates)]
    fingerprint = dict(summary["fingerprint"] or {})
    return [
        ("seed", str(summary["seed"])),
        ("Etherweave", summary["version"]),
        ("took", f"{wall:,.3g} s, after {summary['setup_s']:,.3g} s of set-up"),
        *((name.replace("_", " "), f"{summary[name]:,}") for name in counts),  # type: ignore[literal-required]
        ("packet-hops per second", f"{summary['packet_hops'] / wall:,.0f}" if wall > 0 else "–"),
        ("threads of the core", str(summary["threads"])),
        ("fingerprint", " ".join(f"{key}:{value}" for key, value in fingerprint.items()) or "–"),
    ]
