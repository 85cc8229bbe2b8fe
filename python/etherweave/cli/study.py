"""The verb ``study``."""

import json
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from etherweave.cli.design_page import print_table
from etherweave.cli.exits import FAILED, notice, os_error, print_error, reject
from etherweave.cli.extras import require
from etherweave.cli.parameters import (
    ALL_PROCESSORS,
    AsJson,
    ExecutorName,
    Threads,
    directory,
)
from etherweave.cli.progress import study_progress
from etherweave.cli.uncertainty import (
    INTERVAL_HEAD,
    interval_facts,
    interval_row,
    print_coverage,
)

if TYPE_CHECKING:
    from etherweave.study import StudyCheck, StudyResult
    from etherweave.uncertainty import SampledStudy

EXAMPLES = """Examples:
etherweave study
etherweave study sandia-2020
etherweave study sandia-2020 --only 'p2p.*'
etherweave study sandia-2020 --full -o results/full
etherweave study osu-references --samples 32
etherweave study ./my-study --json > checks.json
etherweave study exascale-2017 --strict --all"""


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
    strict: bool = False,
    every: bool = False,
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
        Carry out all that was published; may take hours.
    only : GLOB
        Run only the experiments of these names, such as 'p2p.*', and check what they suffice for.
    fresh
        Run experiments again that have a result.
    samples : N
        Draw N samples of all that is not known, and print the interval of 90 % of each check, with
        whether the published figure lies in it.
    strict
        Exit with 1 if a figure is outside its bounds.
    every : --all
        Print every check, not only those that fail.
    """
    require("bench", "control", "report")
    from etherweave.report import write_study
    from etherweave.study import run_study
    from etherweave.sweeps import WorkerError, executor
    from etherweave.uncertainty import sample_study

    if not name:
        return _print_studies()
    stem = Path(name).resolve().name
    home = directory(output or Path("results") / (f"{stem}-full" if full else stem))
    try:
        with study_progress(stem) as on_progress:
            done = run_study(
                name,
                home,
                full=full,
                only=only,
                fresh=fresh,
                processes=threads,
                where=where,
                on_progress=on_progress,
            )
        sampled = None
        if samples is not None:
            with study_progress(stem, "samples") as on_progress:
                sampled = sample_study(done, samples, executor(where, threads), on_progress)
        page = None if done.not_run else write_study(done)
    except WorkerError as error:
        print_error(error)
        raise typer.Exit(FAILED) from None
    except KeyError as error:
        reject(error.args[0])
    except ValueError as error:
        reject(error)
    except OSError as error:
        reject(os_error(error))
    if as_json:
        print(json.dumps(_facts(done, sampled), indent=2) if sampled else done.to_json())
    else:
        _print(done, every)
        if sampled:
            _print_intervals(done, sampled, every)
        about = f"Report: {page}" if page else f"No report of a part. Results: {home}"
        notice(about)
    if strict and done.failed:
        raise typer.Exit(FAILED)


def _print_studies() -> None:
    from rich.console import Console
    from rich.table import Table

    from etherweave.study.declared import FILE, read_declaration
    from etherweave.study.folder import shipped

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name, folder in sorted(shipped().items()):
        table.add_row(name, read_declaration(folder / FILE).title)
    Console(width=None if sys.stdout.isatty() else 120).print(table, markup=False)


def _print(done: "StudyResult", every: bool) -> None:
    declared = done.study.declared
    if declared.shortened and not done.full:
        print(f"Shortened: {declared.shortened}.")
    shown = [*done.failed, *(done.passed if every else ())]
    if shown:
        _print_checks(shown, declared.value_name)
    _print_tried(done.failed)
    print(f"{done.verdict}.")
    if done.not_run:
        print(f"Not run: {', '.join(done.not_run)}.")
    for about, reason in done.unavailable.items():
        print(f"Not possible here: {about}: {reason}.")
    _print_assumptions(done.study.assumptions())


def _print_checks(checks: "list[StudyCheck]", value_name: str) -> None:
    from rich.console import Console
    from rich.table import Table

    has_other = any(check.basis for check in checks)
    table = Table("check", "", value_name, "published", "bounds", *["basis"] * has_other)
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
    known = {one.check.id: interval_facts(one) for one in sampled.intervals(done)}
    rows = [{**row, **known.get(row["id"], {})} for row in facts["checks"]]
    counts = {"samples": sampled.samples, "unknowns": sampled.unknowns}
    return {**facts, "checks": rows, **counts, "failures": dict(sampled.failures)}


def _print_intervals(done: "StudyResult", sampled: "SampledStudy", every: bool) -> None:
    """Print the intervals of checks, and whether they have what was published."""
    rows = sampled.intervals(done)
    shown = [one for one in rows if every or not one.check.is_passed]
    print(
        f"\n{sampled.samples} samples of {sampled.unknowns} unknowns in {sampled.experiments} "
        "experiments; intervals of 90 %:"
    )
    print_table(INTERVAL_HEAD, map(interval_row, shown))
    for reason, count in sampled.failures.items():
        print(f"  {count} figures are missing: {reason}")
    print_coverage(rows)
