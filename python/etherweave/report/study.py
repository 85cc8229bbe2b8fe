"""The report of a study: its front, above the exhibits of its publication."""

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from etherweave.report.figures import STUDY
from etherweave.report.page import Front, Page
from etherweave.report.source import Study
from etherweave.study import Check, StudyResult

CHECKS = "checks.json"
"""What makes a directory a study's."""
TITLE = "An Evaluation of Ethernet Performance for Scientific Workloads, simulated"
SHOWN = ("halo3d.roce_v2", "halo3d.tcp", "fft.roce_v2", "qos.roce_v2.ets.1", "incast.tcp.8B.1x1")
"""Experiments whose resolved scenario stands in the page; all are beside their results."""


def load_study(directory: Path) -> Study:
    """Read a study from the directory that it was written to.

    Raises
    ------
    FileNotFoundError
        When the directory holds no checks.
    """
    card = json.loads((directory / CHECKS).read_text(encoding="utf-8"))
    return Study([_check(row) for row in card["checks"]], directory)


def write_study(study: Study | StudyResult, out: Path | None = None) -> Path:
    """Write a study's page; returns the page's path.

    Parameters
    ----------
    study
        As it ran, or as read from its directory.
    out
        Directory for the page and its figures; by default that of the study.
    """
    source = Study(study.checks, study.directory)
    page = Page(out or source.directory, source.matching)
    page.show(STUDY, source)
    return page.write(_front(source), _appendix(source))


def _check(row: dict[str, Any]) -> Check:
    low, high = row["tolerance"]
    value = math.nan if row["value"] is None else row["value"]
    bounds, tried = (low, high), row.get("tried", "")
    return Check(row["id"], row["source"], row["expected"], bounds, row["unit"], value, tried)


def _front(study: Study) -> Front:
    held = sum(check.holds for check in study.checks)
    lead = f"{held} of {len(study.checks)} published figures hold."
    return Front(TITLE, lead, _facts(study), _warnings(study))


def _facts(study: Study) -> list[tuple[str, str]]:
    summaries = study.summaries.values()
    wall = sum(summary["wall_s"] for summary in summaries)
    machines = [_words(result.machine.items()) for result in study.overview.values()]
    return [
        ("published by", "J. Kenny, J. Wilke, C. Ulmer, G. Baker, S. Knight, J. Friesen"),
        ("at", "INDIS 2020, Sandia National Laboratories"),
        ("experiments", f"{len(summaries):,}"),
        ("seeds", _each(str(summary["seed"]) for summary in summaries)),
        ("Etherweave", _each(summary["version"] for summary in summaries)),
        ("packet-hops", f"{sum(summary['packet_hops'] for summary in summaries):,}"),
        ("simulated in", f"{wall:,.1f} s of one thread each"),
        ("machine", _each(machines)),
    ]


def _words(items: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{name} {value}" for name, value in items)


def _each(values: Iterable[str]) -> str:
    """Name different values once each."""
    return "; ".join(sorted(set(values)))


def _warnings(study: Study) -> Sequence[str]:
    """Tell what nobody should overlook in any experiment."""
    return [
        f"{name}: {warning}"
        for name, summary in study.summaries.items()
        for warning in (*_partial(summary["finished"]), *summary["warnings"])
    ]


def _partial(finished: str) -> Sequence[str]:
    return ["its results are partial"] if finished in ("interrupted", "stuck") else []


def _appendix(study: Study) -> list[tuple[str, str]]:
    shown = [(name, study.overview[name]) for name in SHOWN if name in study.overview]
    return [(f"Resolved scenario of {name}", result.resolved) for name, result in shown]
