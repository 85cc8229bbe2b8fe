"""The verb ``study``."""

import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etherweave.cli.exits import FAILED, notice, refuse, told
from etherweave.cli.parameters import AsJson, directory
from etherweave.cli.progress import study_progress

if TYPE_CHECKING:
    from etherweave.study import Check, StudyResult

EXAMPLES = """Examples:

etherweave study sandia-2020

etherweave study sandia-2020 --only 'p2p.*'

etherweave study sandia-2020 --full -o results/full

etherweave study sandia-2020 --json > checks.json

etherweave study exascale-2017 --strict"""


def study(
    name: Annotated[str, typer.Argument(help="Of the study: exascale-2017, sandia-2020.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Directory; unless given results/NAME, with --full results/NAME-full.",
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="All that was published; may take hours.")
    ] = False,
    only: Annotated[
        str,
        typer.Option(
            metavar="GLOB",
            help="Run the experiments of these names, such as 'p2p.*', and check what they feed.",
        ),
    ] = "*",
    fresh: Annotated[bool, typer.Option("--fresh", help="Run again what has a result.")] = False,
    processes: Annotated[
        int | None, typer.Option(min=1, help="Experiments side by side; default: one per CPU.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail when a figure does not hold.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Reproduce a published evaluation: ours against published, and a report.

    Experiments that have a result are not run again. Ends with 2 after a mistake.
    """
    from etherweave.report import write_study
    from etherweave.study import run_study

    home = directory(output or Path("results") / (f"{name}-full" if full else name))
    try:
        with study_progress(name) as tell:
            done = run_study(
                name,
                home,
                full=full,
                only=only,
                fresh=fresh,
                processes=processes,
                on_progress=tell,
            )
    except KeyError as error:
        refuse(error.args[0])
    except OSError as error:
        refuse(told(error))
    page = None if done.not_run else write_study(done)
    if as_json:
        print(done.to_json())
    else:
        _print(done)
        about = f"Report: {page}" if page else f"No report of a part. Results: {home}"
        notice(about)
    if strict and not all(check.holds for check in done.checks):
        raise typer.Exit(FAILED)


def _print(done: "StudyResult") -> None:
    from rich.console import Console
    from rich.table import Table

    from etherweave.study import plan_of

    plan = plan_of(done.name)
    if plan.shortened and not done.full:
        print(f"Shortened: {plan.shortened}.")
    table = Table("check", "published", "holds within", plan.found, "")
    for check in done.checks:
        table.add_row(*_cells(check))
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    held = sum(check.holds for check in done.checks)
    print(f"{held} of {len(done.checks)} figures hold.")
    if done.not_run:
        print(f"Not run: {', '.join(done.not_run)}.")
    for about, reason in done.unavailable.items():
        print(f"Not possible here: {about}: {reason}.")
    _print_tried(done.checks)
    _print_assumptions(plan.assumptions())


def _print_assumptions(rows: "list[dict[str, str]]") -> None:
    """Say how the publication is read where it leaves something open."""
    if rows:
        print("\nAssumed where the publication leaves it open:")
    for row in rows:
        text = f"{row['subject']}: {row['open']}. Read as: {row['reading']}."
        print(textwrap.fill(text, 100, initial_indent="  ", subsequent_indent="    "))


def _print_tried(checks: "list[Check]") -> None:
    """Say of each figure that does not hold what was tried; a text once, for all its figures."""
    missed: dict[str, list[str]] = {}
    for check in checks:
        if not check.holds and check.tried:
            missed.setdefault(check.tried, []).append(check.id)
    for tried, names in missed.items():
        text = textwrap.fill(tried, 100, initial_indent="  ", subsequent_indent="  ")
        print(f"\n{', '.join(names)}:\n{text}")


def _cells(check: "Check") -> tuple[str, ...]:
    low, high = ("" if bound is None else f"{bound:g}" for bound in check.tolerance)
    published = "" if check.expected is None else f"{check.expected:g} {check.unit}"
    verdict = "[green]pass[/]" if check.holds else "[bold red]FAIL[/]"
    return check.id, published, f"{low} … {high}", check.text, verdict
