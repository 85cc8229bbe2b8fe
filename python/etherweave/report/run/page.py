"""The report of one run, perhaps beside others."""

from collections.abc import Sequence
from pathlib import Path

from etherweave.api.fidelity import error_text
from etherweave.api.results import Result, Summary
from etherweave.report.page import Front, Page
from etherweave.report.run import benchmarks, osu
from etherweave.report.run.comparison import (
    ComparedResults,
    goodput,
    iteration_times,
    published_figures,
)
from etherweave.report.run.flow_slowdowns import flow_slowdowns
from etherweave.report.run.hosts import iterations, nodes, streams
from etherweave.report.run.limits import compared_limits, job_limits
from etherweave.report.run.modes import modes
from etherweave.report.run.ports import counters, failures, flows, pauses, utilisation
from etherweave.report.run.rank_detail import WindowRequest
from etherweave.report.run.rank_detail import sections as rank_sections
from etherweave.report.run.samples import flow_series, link_maps, port_series
from etherweave.report.section import Builder

SIMULATED: list[Builder[Result]] = [
    job_limits,
    modes,
    flow_slowdowns,
    iterations,
    nodes,
    streams,
    port_series,
    link_maps,
    flow_series,
    failures,
    utilisation,
    pauses,
    counters,
    flows,
]
"""For a run, in the order of the page; those without anything to show return nothing."""

MEASURED: list[Builder[Result]] = [iterations, nodes, streams]
"""For a run that was measured: what hosts see of it."""

COMPARED: list[Builder[ComparedResults]] = [iteration_times, goodput, compared_limits]
"""For results of the same jobs."""

REFERENCES: list[Builder[ComparedResults]] = [
    *osu.sections,
    *benchmarks.sections,
    published_figures,
]
"""For one result or several: what their figures can be compared with."""

ENDS = {
    "complete": "ran to its end",
    "time_limit": "ended at its time limit",
    "interrupted": "was interrupted: its results are partial",
    "stuck": "got stuck: no event could make progress",
    "fault": "was ended by a fault of Etherweave: its results are partial",
}


def write_run(
    result: Result, out: Path, others: Sequence[Result] = (), request: WindowRequest | None = None
) -> Path:
    """Write a run's page into a directory; returns the page's path.

    ``out`` is made when missing; ``others`` are results of the same jobs, to be shown beside it.
    ``request`` is the window of time in which ranks are drawn in detail.
    """
    of_ranks = rank_sections(result, request)
    page = Page(out)
    beside = ComparedResults([result, *others])
    if others:
        page.show(COMPARED, beside)
    page.show(REFERENCES, beside)
    page.show(MEASURED if "measured" in result.summary else SIMULATED, result)
    page.show(of_ranks, result)
    scenarios = [
        (f"Resolved scenario, {label}" if others else "Resolved scenario", one.resolved)
        for one, label in zip(beside.results, beside.labels, strict=True)
    ]
    return page.write(_front(result, beside), scenarios)


def _front(result: Result, beside: ComparedResults) -> Front:
    summary = result.summary
    lead = f"The run {ENDS[summary['finished']]}, at {summary['end_ns'] / 1e6:,.6g} ms."
    of_summary = _measured_facts if "measured" in summary else _facts
    error = error_text(result)
    of_fidelity = [("error against packets", error)] if error else []
    facts = [*of_summary(summary), *of_fidelity, *result.machine.items()]
    warnings = [*beside.warnings, *beside.differences]
    return Front(summary["name"], lead, facts, warnings, summary.get("stuck_report") or "")


def _measured_facts(summary: Summary) -> list[tuple[str, str]]:
    facts = summary["measured"]
    counts = ("launches", "ranks", "hosts", "messages", "payload_bytes")
    return [
        ("seed", str(summary["seed"])),
        ("Etherweave", summary["version"]),
        ("took", f"{summary['wall_s']:,.3g} s, after {summary['setup_s']:,.3g} s of set-up"),
        ("command", " ".join(facts["command"])),
        ("compiler", facts["compiler"]),
        *((name.replace("_", " "), f"{facts[name]:,}") for name in counts),  # type: ignore[literal-required]
        ("clocks within", f"{facts['clock_error_ns_max'] / 1e3:,.3g} us"),
        ("late starts up to", f"{facts['start_missed_ns_max'] / 1e3:,.3g} us"),
    ]


def _facts(summary: Summary) -> list[tuple[str, str]]:
    wall = summary["wall_s"]
    fates = ("created", "delivered", "dropped", "in_flight")
    counts = ["packet_hops", "events", *(f"packets_{fate}" for fate in fates)]
    fingerprint = dict(summary["fingerprint"] or {})
    return [
        ("seed", str(summary["seed"])),
        ("Etherweave", summary["version"]),
        ("simulated", f"{summary['end_ns'] / 1e6:,.6g} ms"),
        ("took", f"{wall:,.3g} s, after {summary['setup_s']:,.3g} s of set-up"),
        *((name.replace("_", " "), f"{summary[name]:,}") for name in counts),  # type: ignore[literal-required]
        ("packet-hops per second", f"{summary['packet_hops'] / wall:,.3g}" if wall > 0 else "–"),
        ("threads of the core", str(summary["threads"])),
        ("fingerprint", " ".join(f"{key}:{value}" for key, value in fingerprint.items()) or "–"),
    ]
