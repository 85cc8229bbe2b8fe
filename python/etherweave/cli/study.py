"""The verb ``study``."""

import json
import math
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from etherweave.cli.design_page import print_table
from etherweave.cli.exits import FAILED, kept_in, mistakes, notice, reject
from etherweave.cli.extras import require
from etherweave.cli.parameters import ALL_PROCESSORS, AsJson, ExecutorName, Threads, directory
from etherweave.cli.progress import work_progress
from etherweave.cli.uncertainty import INTERVAL_HEAD, interval_facts, interval_row, print_coverage

if TYPE_CHECKING:
    from etherweave.api.work import Work
    from etherweave.study import StudyCheck, StudyRecord, StudyResult
    from etherweave.uncertainty import SampledStudy


def study(
    name: Annotated[str, typer.Argument(show_default=False)] = "",
    *,
    output: Path | None = None,
    full: bool = False,
    only: str = "*",
    fresh: bool = False,
    threads: Threads = ALL_PROCESSORS,
    where: ExecutorName = "local",
    samples: Annotated[int | None, typer.Option(show_default=False)] = None,
    record: bool = False,
    strict: bool = False,
    every: bool = False,
    about: bool = False,
    as_json: AsJson = False,
) -> None:
    """Repeat a published evaluation, and check computed figures against published ones.

    Experiments that have a result are not run again. Exits with 2 after a mistake.

    Parameters
    ----------
    name
        Name of a study that comes with Etherweave, or path of a folder with a study.toml, such as
        ./my-study, whose Python files are executed; without it, studies are listed.
    output : -o
        Directory of the results; default: results/NAME, with --full results/NAME-full.
    full
        Run every published experiment; may take hours.
    only : GLOB,...
        Run only the experiments of these names, such as 'p2p.*,fft.*', and check what they
        suffice for.
    fresh
        Run experiments again that have a result.
    samples : N
        Draw N samples, 8 to 65,536, of all that is not known, and print the interval of 90 % of
        each check, with whether the published figure lies in it.
    record
        Record the computed figures in the study's folder for the list of `etherweave study`, or
        with --full the times of experiments; expects --fresh.
    strict
        Exit with 1 if a figure is outside its bounds.
    every : --all
        Print every check, not only those that fail.
    about
        Print what the experiments and rows of the study are, and run nothing.
    """
    if not name:
        return _print_studies(as_json)
    require("bench", "control", "report")
    if about:
        return _print_about(name)
    from etherweave.report import write_study
    from etherweave.study import processor_s, run_study, write_record
    from etherweave.study.records import has_record, page_s
    from etherweave.sweeps import WorkerError, executor
    from etherweave.uncertainty import sample_study
    from etherweave.uncertainty.sampling import check_count

    if record and (only != "*" or not fresh):
        reject("--record: expected with --fresh, without --only")
    if record and full and not has_record(name):
        reject(f"--record: {name} has no record; expected one of a run without --full first")
    stem = Path(name).resolve().name
    home = directory(output or Path("results") / (f"{stem}-full" if full else stem))
    with mistakes(KeyError, ValueError, failures=(WorkerError,)):
        if samples is not None:
            check_count(samples)
        before = processor_s()
        phase = stem if samples is None else f"{stem}, before samples"
        with kept_in(home, is_fresh=fresh), work_progress(phase) as on_progress:

            def show(work: "Work") -> None:
                if only == "*" and samples is None:
                    work.expect_step("page", page_s(work.count))
                on_progress(work)

            done = run_study(
                name,
                home,
                full=full,
                only=only,
                fresh=fresh,
                processes=threads,
                where=where,
                on_progress=show,
            )
            if record:
                write_record(done, processor_s() - before)
            page = None if done.not_run or samples is not None else write_study(done)
        sampled = None
        if samples is not None:
            with kept_in(home), work_progress(stem, "samples") as on_progress:

                def show_samples(work: "Work") -> None:
                    work.expect_step("page", 0.0 if done.not_run else page_s(len(done.taken_s)))
                    on_progress(work)

                sampled = sample_study(done, samples, executor(where, threads), show_samples)
                page = None if done.not_run else write_study(done)
    if as_json:
        print(json.dumps(_facts(done, sampled), indent=2) if sampled else done.to_json())
    else:
        _print(done, every)
        if sampled:
            _print_intervals(done, sampled, every)
        notice(f"Report: {page}" if page else f"No report of a part. Results: {home}")
    if strict and done.failed:
        raise typer.Exit(FAILED)


def _print_about(name: str) -> None:
    """Print what the experiments and rows of a study are."""
    from rich.console import Console
    from rich.markdown import Markdown

    from etherweave.study import load_study

    with mistakes(KeyError, ValueError):
        declared = load_study(name).declared
    console = Console(width=None if sys.stdout.isatty() else 120)
    with console.capture() as page:
        console.print(Markdown(declared.about or declared.title))
    print("\n".join(line.rstrip() for line in page.get().splitlines()))


def _print_studies(as_json: bool) -> None:
    """Print the studies that come with Etherweave, and what their records say."""
    from etherweave.study import records
    from etherweave.study.declared import FILE, read_declaration
    from etherweave.study.folder import shipped

    titles = {name: read_declaration(home / FILE).title for name, home in sorted(shipped().items())}
    known = records()
    if as_json:
        print(json.dumps([_record_facts(name, titles[name], known[name]) for name in titles]))
        return
    print_table(_RECORD_HEAD, [_record_row(name, record) for name, record in known.items()])
    print(_RECORD_NOTE)
    for name, title in titles.items():
        print(f"  {name}: {title}")


_RECORD_HEAD = ("study", ">published figures", ">further checks", ">median error", ">minutes")
_RECORD_NOTE = """\
  Checks within their bounds, by the last complete run. Median error: of predictions, not of counts.
  Minutes: on two processors.
"""


def _record_row(name: str, record: "StudyRecord | None") -> tuple[str, ...]:
    """Write a row of the list: checks that pass, their error, the time on two processors."""
    if record is None:
        return (name, *["–"] * (len(_RECORD_HEAD) - 1))
    counts = (_passed(record.result.published_checks), _passed(record.result.further_checks))
    error = f"{record.result.error:.1%}" if math.isfinite(record.result.error) else "–"
    minutes = f"{record.processor_s / 120:.1f}" if record.processor_s else "–"
    return (name, *counts, error, minutes)


def _passed(checks: "list[StudyCheck]") -> str:
    return f"{sum(check.is_passed for check in checks)} of {len(checks)}" if checks else ""


def _record_facts(name: str, title: str, record: "StudyRecord | None") -> dict[str, Any]:
    facts: dict[str, Any] = {"study": name, "title": title}
    if record is None:
        return facts
    own, other = record.result.published_checks, record.result.further_checks
    return facts | {
        "figures": len(own),
        "passed": sum(check.is_passed for check in own),
        "further_figures": len(other),
        "further_passed": sum(check.is_passed for check in other),
        "error": record.result.error if math.isfinite(record.result.error) else None,
        "processor_s": record.processor_s,
    }


def _print(done: "StudyResult", every: bool) -> None:
    declared = done.study.declared
    if declared.shortened and not done.full:
        print(f"Shortened: {declared.shortened}.")
    shown = [*done.failed, *(done.passed if every else ())]
    if shown:
        _print_checks(shown, declared.value_name)
    _print_tried(done.failed)
    print(f"{done.verdict}. {done.error_text}".rstrip())
    _print_unlike_recorded(done)
    _print_not_run(done)
    for about, reason in done.unavailable.items():
        print(f"Not possible here: {about}: {reason}.")
    if not done.not_run:
        _print_assumptions(done.study.assumptions())


def _print_unlike_recorded(done: "StudyResult") -> None:
    """Name the figures that differ from those of the record, by which studies are listed."""
    from etherweave.study.records import recorded_values

    recorded = {} if done.full else recorded_values(done.study.home)
    others = [
        check.id
        for check in done.checks
        if not math.isclose(check.value, recorded.get(check.id, check.value), rel_tol=1e-9)
    ]
    if others:
        text = "These figures differ from the record, which another version computed or measured: "
        print(textwrap.fill(text + ", ".join(others) + ".", 100, subsequent_indent="  "))


def _print_not_run(done: "StudyResult") -> None:
    """Print the checks that a part does not suffice for, by an experiment that each lacks."""
    lacking: dict[str, list[str]] = {}
    for check, experiment in done.not_run.items():
        lacking.setdefault(experiment, []).append(check)
    if lacking:
        print("Not checked, for an experiment that --only leaves out:")
    for experiment, checks in lacking.items():
        text = f"{experiment}: {', '.join(checks)}."
        print(textwrap.fill(text, 100, initial_indent="  ", subsequent_indent="    "))


def _print_checks(checks: "list[StudyCheck]", value_name: str) -> None:
    from rich.console import Console
    from rich.table import Column, Table

    has_other = any(check.basis for check in checks)
    check_column = Column("check", overflow="fold")
    table = Table(check_column, "", value_name, "published", "bounds", *["basis"] * has_other)
    for check in checks:
        table.add_row(*_cells(check), *[check.reference] * has_other)
    Console(width=None if sys.stdout.isatty() else 120).print(table)


def _print_tried(failed: "list[StudyCheck]") -> None:
    """Print what was tried of figures that fail; a text once, for all its figures."""
    names: dict[str, list[str]] = {}
    for check in failed:
        if check.tried:
            names.setdefault(check.tried, []).append(check.id)
    for tried, ids in names.items():
        text = textwrap.fill(tried, 100, initial_indent="  ", subsequent_indent="  ")
        print(f"{', '.join(ids)}:\n{text}\n")


def _print_assumptions(rows: "list[dict[str, str]]") -> None:
    """Print how the publication is read where it leaves something open."""
    if rows:
        print("\nAssumed where the publication leaves it open:")
    for row in rows:
        text = f"{row['subject']}: {row['open']}. Read as: {row['reading']}."
        print(textwrap.fill(text, 100, initial_indent="  ", subsequent_indent="    "))


def _cells(check: "StudyCheck") -> tuple[str, ...]:
    low, high = ("" if bound is None else f"{bound:g}" for bound in check.tolerance)
    published = "" if check.published is None else f"{check.published:g} {check.unit}"
    verdict = "[green]pass[/]" if check.is_passed else "[bold red]FAIL[/]"
    return check.id, verdict, check.text, published, f"{low} … {high}"


def _facts(done: "StudyResult", sampled: "SampledStudy") -> dict[str, Any]:
    """Return checks as JSON has them, each with its intervals."""
    facts: dict[str, Any] = json.loads(done.to_json())
    known = {interval.check.id: interval_facts(interval) for interval in sampled.intervals(done)}
    rows = [{**row, **known.get(row["id"], {})} for row in facts["checks"]]
    counts = {"samples": sampled.samples, "unknowns": sampled.unknowns}
    return {**facts, "checks": rows, **counts, "failures": dict(sampled.failures)}


def _print_intervals(done: "StudyResult", sampled: "SampledStudy", every: bool) -> None:
    """Print the intervals of checks, and whether they have what was published."""
    rows = sampled.intervals(done)
    shown = [row for row in rows if every or not row.check.is_passed]
    print(
        f"\n{sampled.samples} samples of {sampled.unknowns} unknowns in {sampled.experiments} "
        "experiments; intervals of 90 %:"
    )
    print_table(INTERVAL_HEAD, map(interval_row, shown))
    for reason, count in sampled.failures.items():
        print(f"  {count} figures are missing: {reason}")
    print_coverage(rows)
