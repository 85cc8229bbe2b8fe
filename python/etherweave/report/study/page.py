"""The report of a study: failed checks, then the sections of the study, passes folded.

Sections that the study names as its opening stand before all that.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from etherweave.report.page import Front, Page
from etherweave.report.section import Builder, Section
from etherweave.report.study.charts import bars_section, lines_section
from etherweave.report.study.checks import check_tables, failures, overview
from etherweave.report.study.experiments import assumptions, fabrics, runs
from etherweave.report.study.questions import answers
from etherweave.study import MissingResultError, StudyResult
from etherweave.study.declared import BarChart, LineChart, QuestionTable


def write_study(study: StudyResult, out: Path | None = None) -> Path:
    """Write a study's page; returns the page's path.

    The page is written to ``out``, by default the directory of the study. Raises ``ValueError``
    when ``study.toml`` names a section that it does not declare, and ``report.py`` does not have.
    """
    page = Page(out or study.directory)
    declared, known = study.study.declared, study.study.sections
    page.show(_builders(study, declared.opening), study)
    page.show([failures, overview], study)
    page.show(_builders(study, declared.sections or tuple(known)), study)
    page.show([assumptions, runs, fabrics], study)
    return page.write(_front(study), _appendix(study))


def _builders(study: StudyResult, names: Sequence[str]) -> list[Builder[StudyResult]]:
    """List the builders of sections, which are declared or functions of ``report.py``."""
    known = study.study.sections
    module = study.study.module("report") if study.study.has_module("report") else None
    builders: list[Builder[StudyResult]] = []
    for name in names:
        build: Builder[StudyResult] | None = getattr(module, name, None)
        if name not in known and build is None:
            raise ValueError(
                f"{study.study.home}: no section {name!r}; expected a chart or questions of "
                "study.toml, or a function of report.py"
            )
        drawn = section_builder(known[name]) if name in known else build
        builders.append(_checked(name, drawn))  # type: ignore[arg-type]
    return builders


def section_builder(declared: BarChart | LineChart | QuestionTable) -> Builder[StudyResult]:
    """Give the function that makes a declared section."""
    if isinstance(declared, QuestionTable):
        return partial(answers, declared)
    if isinstance(declared, BarChart):
        return partial(bars_section, declared)
    return partial(lines_section, declared)


def _checked(name: str, build: Builder[StudyResult]) -> Callable[[StudyResult], Section | None]:
    """Add the checks that a section illustrates to its tables; name it if results are missing."""

    def checked(study: StudyResult) -> Section | None:
        try:
            section = build(study)
        except MissingResultError as error:
            raise MissingResultError(f"{name}: no {error}") from None
        if section is None:
            return None
        tables = check_tables(study, study.matching(section.checks))
        return replace(section, tables=[*section.tables, *tables])

    return checked


def _front(study: StudyResult) -> Front:
    lead = f"{study.verdict}. {study.error_text}".rstrip()
    return Front(study.study.declared.title, lead, facts=_facts(study), warnings=_warnings(study))


def _facts(study: StudyResult) -> list[tuple[str, str]]:
    declared = study.study.declared
    named = [("published by", declared.authors), ("at", declared.venue)]
    return [
        *((name, text) for name, text in named if text),
        *(_facts_of_runs(study) if study.summaries else ()),
        *(_facts_of_designs(study) if study.designs else ()),
        *(_facts_of_curves(study) if study.curves else ()),
    ]


def _facts_of_runs(study: StudyResult) -> list[tuple[str, str]]:
    summaries = study.summaries.values()
    wall = sum(summary["wall_s"] for summary in summaries)
    machines = [_words(result.machine.items()) for result in study.runs.values()]
    return [
        ("experiments", f"{len(summaries):,}"),
        ("seeds", _each(str(summary["seed"]) for summary in summaries)),
        ("Etherweave", _each(summary["version"] for summary in summaries)),
        ("packet-hops", f"{sum(summary['packet_hops'] for summary in summaries):,}"),
        ("simulated in", f"{wall:,.1f} s of one thread each"),
        ("machine", _each(machines)),
    ]


def _facts_of_designs(study: StudyResult) -> list[tuple[str, str]]:
    facts = [result.facts for result in study.designs.values()]
    built = [result.design for result in study.designs.values() if result.design]
    pairs = sum(design["tables"]["compacted"]["pairs_proved"] for design in built)
    return [
        ("fabrics", f"{len(facts):,}, {len(built):,} of them built"),
        ("Etherweave", _each(fact["version"] for fact in facts)),
        ("tables proved", f"for {pairs:,} pairs of a switch and a host"),
        ("designed in", f"{sum(fact['wall_s'] for fact in facts):,.1f} s of one thread each"),
        ("machine", _each(_words(fact["machine"].items()) for fact in facts)),
    ]


def _facts_of_curves(study: StudyResult) -> list[tuple[str, str]]:
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
    return "; ".join(sorted(set(values)))


def _warnings(study: StudyResult) -> Sequence[str]:
    return [
        f"{name}: {warning}"
        for name, summary in study.summaries.items()
        for warning in (*_partial(summary["finished"]), *summary["warnings"])
    ]


def _partial(finished: str) -> Sequence[str]:
    return ["its results are partial"] if finished in ("interrupted", "stuck", "fault") else []


def _appendix(study: StudyResult) -> list[tuple[str, str]]:
    resolved = {name: run.resolved for name, run in study.runs.items()}
    for kind in (study.designs, study.curves):
        resolved |= {name: result.resolved for name, result in kind.items()}
    shown = [name for name in study.study.declared.scenarios_shown if name in resolved]
    return [(f"Resolved scenario of {name}", resolved[name]) for name in shown]
