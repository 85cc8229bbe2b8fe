"""The report of a study: its front, above the sections of its publication."""

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from etherweave.report.figures import STUDIES
from etherweave.report.page import Front, Page
from etherweave.report.source import Study
from etherweave.study import Check, StudyResult, plan_of

CHECKS = "checks.json"
"""What makes a directory a study's."""


def load_study(directory: Path) -> Study:
    """Read a study from the directory that it was written to.

    Raises
    ------
    FileNotFoundError
        When the directory holds no checks.
    ValueError
        When its checks are of no study that this version knows.
    """
    card = json.loads((directory / CHECKS).read_text(encoding="utf-8"))
    try:
        plan = plan_of(card.get("study", ""))
    except KeyError as error:
        raise ValueError(f"{directory / CHECKS}: {error.args[0]}") from None
    return Study(plan, [_check(row) for row in card["checks"]], directory)


def write_study(study: Study | StudyResult, out: Path | None = None) -> Path:
    """Write a study's page; returns the page's path.

    Parameters
    ----------
    study
        As it ran, or as read from its directory.
    out
        Directory for the page and its figures; by default that of the study.
    """
    source = study if isinstance(study, Study) else _source(study)
    page = Page(out or source.directory, source.matching, source.plan.found)
    page.show(STUDIES[source.plan.name], source)
    return page.write(_front(source), _appendix(source))


def _source(study: StudyResult) -> Study:
    return Study(plan_of(study.name), study.checks, study.directory)


def _check(row: dict[str, Any]) -> Check:
    low, high = row["tolerance"]
    value = math.nan if row["value"] is None else row["value"]
    bounds, tried = (low, high), row.get("tried", "")
    return Check(row["id"], row["source"], row["expected"], bounds, row["unit"], value, tried)


def _front(study: Study) -> Front:
    held = sum(check.holds for check in study.checks)
    lead = f"{held} of {len(study.checks)} published figures hold."
    return Front(study.plan.title, lead, _facts(study), _warnings(study))


def _facts(study: Study) -> list[tuple[str, str]]:
    return [
        ("published by", study.plan.authors),
        ("at", study.plan.venue),
        *(_facts_of_runs(study) if study.summaries else ()),
        *(_facts_of_designs(study) if study.designs else ()),
        *(_facts_of_curves(study) if study.curves else ()),
    ]


def _facts_of_runs(study: Study) -> list[tuple[str, str]]:
    summaries = study.summaries.values()
    wall = sum(summary["wall_s"] for summary in summaries)
    machines = [_words(result.machine.items()) for result in study.overview.values()]
    return [
        ("experiments", f"{len(summaries):,}"),
        ("seeds", _each(str(summary["seed"]) for summary in summaries)),
        ("Etherweave", _each(summary["version"] for summary in summaries)),
        ("packet-hops", f"{sum(summary['packet_hops'] for summary in summaries):,}"),
        ("simulated in", f"{wall:,.1f} s of one thread each"),
        ("machine", _each(machines)),
    ]


def _facts_of_designs(study: Study) -> list[tuple[str, str]]:
    facts = [found.facts for found in study.designs.values()]
    built = [found.design for found in study.designs.values() if found.design]
    pairs = sum(design["tables"]["compacted"]["pairs_proved"] for design in built)
    return [
        ("fabrics", f"{len(facts):,}, {len(built):,} of them built"),
        ("Etherweave", _each(fact["version"] for fact in facts)),
        ("tables proved", f"for {pairs:,} pairs of a switch and a host"),
        ("designed in", f"{sum(fact['wall_s'] for fact in facts):,.1f} s of one thread each"),
        ("machine", _each(_words(fact["machine"].items()) for fact in facts)),
    ]


def _facts_of_curves(study: Study) -> list[tuple[str, str]]:
    curves = study.curves.values()
    hops = sum(curve.points["packet_hops"].sum() for curve in curves)
    return [
        ("curves", f"{len(curves):,}, of {sum(curve.points.height for curve in curves):,} points"),
        ("packet-hops", f"{hops:,}"),
        (
            "simulated in",
            f"{sum(curve.facts['wall_s'] for curve in curves):,.1f} s of one thread each",
        ),
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
    resolved = {name: run.resolved for name, run in study.overview.items()}
    for kind in (study.designs, study.curves):
        resolved |= {name: found.resolved for name, found in kind.items()}
    shown = [name for name in study.plan.shown if name in resolved]
    return [(f"Resolved scenario of {name}", resolved[name]) for name in shown]
