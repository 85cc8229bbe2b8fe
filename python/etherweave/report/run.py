"""The report of one run."""

from pathlib import Path

from etherweave.report.figures import RUN
from etherweave.report.page import Front, Page
from etherweave.results import Result, Summary

ENDS = {
    "complete": "ran to its end",
    "time_limit": "ended at its time limit",
    "interrupted": "was interrupted: its results are partial",
    "stuck": "got stuck: nothing could move any more",
}


def write_run(result: Result, out: Path) -> Path:
    """Write a run's page into a directory; returns the page's path."""
    page = Page(out)
    page.show(RUN, result)
    return page.write(_front(result), [("Resolved scenario", result.resolved)])


def _front(result: Result) -> Front:
    summary = result.summary
    lead = f"The run {ENDS[summary['finished']]}, at {summary['end_ns'] / 1e6:,.6g} ms."
    facts = [*_facts(summary), *result.machine.items()]
    trouble = summary.get("stuck_report") or ""
    return Front(summary["name"], lead, facts, summary["warnings"], trouble)


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
