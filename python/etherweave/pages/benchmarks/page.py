"""The page of a run of benchmarks: its sections in order, and what stands above them."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from etherweave.pages.benchmarks import pairs, telemetry
from etherweave.pages.benchmarks.answers import figures
from etherweave.pages.benchmarks.data import Benchmarks
from etherweave.pages.benchmarks.points import points, rates
from etherweave.pages.benchmarks.stability import distributions, stability
from etherweave.pages.benchmarks.sweeps import bandwidth, latency, rate_findings
from etherweave.report.page import Front, Page
from etherweave.report.section import Builder

SECTIONS: list[Builder[Benchmarks]] = [
    bandwidth,
    latency,
    rates,
    *pairs.sections,
    distributions,
    stability,
    points,
]
"""Sections in the order of the page; those without anything to show return nothing."""


def write_benchmarks(benchmarks: Benchmarks, out: Path) -> Path:
    """Write the page of a run of benchmarks into a directory; returns the page's path."""
    page = Page(out)
    page.show(SECTIONS, benchmarks)
    page.show(telemetry.builders(benchmarks), benchmarks)
    findings = [*rate_findings(benchmarks), *pairs.findings(benchmarks)]
    names = ("site", "networks", "rule", "seed", "experiments")
    asked = json.dumps({name: benchmarks.facts[name] for name in names}, indent=2)
    return page.write(_front(benchmarks, findings), [("What was asked for", asked)])


def _front(benchmarks: Benchmarks, findings: Sequence[str]) -> Front:
    facts = benchmarks.facts
    own = [experiment for experiment in facts["experiments"] if experiment["counted"]]
    gave = (
        f"{len(own)} of {len(facts['experiments'])} experiments on {facts['site']} gave numbers, "
        f"in {facts['launches']:,} launches."
    )
    lead = " ".join([*(f"{figure}." for figure in figures(benchmarks)), gave])
    loads = {name: None for experiment in own for name in experiment.get("background", ())}
    if loads:
        lead += f" The network was loaded by {' and '.join(loads)} in the background."
    trouble = "" if facts["is_finished"] else "The run was interrupted: launches are missing."
    warnings = [*findings, *facts["warnings"]]
    return Front(benchmarks.name, lead, (), _facts(facts), warnings, trouble)


def _facts(facts: dict[str, Any]) -> list[tuple[str, str]]:
    rule = facts["rule"]
    precision = (
        f"until the median's {rule['confidence']:.0%} interval reaches "
        f"{rule['half_width']:.0%} or less"
    )
    networks = [
        f"{network['name']}: {network['rate'] * 8 / 1e9:g} Gb/s, {network['latency'] * 1e6:g} us"
        for network in facts["networks"]
    ]
    return [
        ("cluster", facts["site"]),
        ("measured", f"{_moment(facts['start_ns'])} to {_moment(facts['end_ns'])} (UTC)"),
        ("networks, as the site's file has them", "; ".join(networks)),
        ("launches", f"{rule['launches_min']} to {rule['launches_max']} each, {precision}"),
        ("order", f"shuffled in rounds, seed {facts['seed']}; the first round is warm-up"),
        ("Etherweave", facts["version"]),
        ("identity", facts["identity"]),
    ]


def _moment(ns: int | None) -> str:
    return "–" if ns is None else f"{datetime.fromtimestamp(ns / 1e9, UTC):%Y-%m-%d %H:%M:%S}"
