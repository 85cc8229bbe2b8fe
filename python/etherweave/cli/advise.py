"""The verb ``advise``."""

import json
import math
import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from etherweave.api.outputs import write_text
from etherweave.cli.design_page import WIDTH, print_table
from etherweave.cli.exits import kept_in, mistakes
from etherweave.cli.extras import require
from etherweave.cli.parameters import AsJson, DryRun, ExecutorName, Workers, directory, output_file
from etherweave.cli.progress import work_progress
from etherweave.cli.sweep import print_expectation
from etherweave.cli.verbs import FileGroup, nested

if TYPE_CHECKING:
    from etherweave.advise import Answer


advise = nested(
    "Rank fabrics by a simulated mix of jobs and their prices, and print what decides.", FileGroup
)


@advise.command("run")
def run_verb(
    file: Path,
    *,
    output: Path | None = None,
    where: ExecutorName = "local",
    workers: Workers = None,
    dry_run: DryRun = False,
    html: Path | None = None,
    as_json: AsJson = False,
) -> None:
    """Rank the fabrics of a file by its jobs and prices, and print what decides.

    `etherweave advise FILE` is short for `etherweave advise run FILE`. Each job runs on each fabric
    in samples that differ in placements, seeds and uncertain figures; intervals are those of nine
    samples of ten. Runs that have a result are not repeated. Exits with 2 after a mistake.

    Parameters
    ----------
    file : FILE
        File with fabrics, jobs, weights and prices, TOML.
    output : -o DIRECTORY
        Directory of the runs; default: results/NAME.
    html : DIRECTORY
        Write a page with figures and every source here.
    """
    require("advise", *(("report",) if html else ()))
    from etherweave import ScenarioError
    from etherweave.advise import AdviseError, answer, load_question, prepare, trajectory_runs
    from etherweave.sweeps import ExecutorError, SweepError, executor, expect

    home = directory(output or Path("results") / file.stem)
    with mistakes(ScenarioError, AdviseError, SweepError, ExecutorError, ValueError):
        prepared, on = prepare(load_question(file)), executor(where, workers)
        if dry_run:
            print_expectation(expect(prepared.sweep(prepared.fabrics), home, on), as_json)
            if (more := trajectory_runs(prepared)) and not as_json:
                print(f"  then, for what moves the lead of the first two: about {more:,} runs")
            return None
        with kept_in(home), work_progress(file.stem, "runs") as on_progress:
            result = answer(prepared, home, on, on_progress)
    if as_json:
        print(json.dumps(asdict(result), indent=2))
    else:
        _print(result)
    if html:
        from etherweave.pages.advise import write_advice

        print(write_advice(result, html))
    return None


@advise.command("quotes")
def quotes_verb(
    file: Path,
    *,
    output: Path | None = None,
    currency: str | None = None,
    exchange: list[str] | None = None,
) -> None:
    """Write a price book of a table of quotes, each with its date and source.

    The book is for `prices` of a question, and for `design.prices_file` of a scenario. A line that
    is no quote, or names no part that books have, is an error with its number.

    Parameters
    ----------
    file : FILE.csv
        Table of quotes: kind, part, price, currency, date, source, and perhaps per_metre and basis.
    output : -o FILE
        File for the price book; default: standard output.
    currency : CODE
        Currency of the book; default: that of all quotes.
    exchange : CODE=AMOUNT
        Amount of the book's currency for one of another, as in USD=0.92; repeatable.
    """
    from etherweave.advise.question import AdviseError
    from etherweave.advise.quotes import price_book

    output_file("--output", output)
    with mistakes(AdviseError, ValueError):
        text = price_book(file, currency, dict(map(_exchange, exchange or [])))
        if output:
            write_text(output, text)
    print(output or text, end="\n" if output else "")


def _exchange(text: str) -> tuple[str, float]:
    code, equals, amount = text.partition("=")
    try:
        rate = float(amount)
    except ValueError:
        rate = 0.0
    if not equals or not 0 < rate < math.inf:
        raise ValueError(f"--exchange {text}: expected CODE=AMOUNT, as in USD=0.92")
    return code, rate


def _print(answer: "Answer") -> None:
    from etherweave.advise.table import (
        head,
        job_head,
        job_row,
        model_error,
        order,
        rows,
        together_head,
        together_row,
    )

    print(f"{answer.name}: {len(answer.standings)} fabrics, {answer.runs:,} runs")
    print_table(_right(head(answer), 2), rows(answer))
    print(f"  {order(answer)}")
    print()
    print_table(_right(job_head(answer), 1), map(job_row, answer.standings))
    print()
    print_table(_right(together_head(answer), 1), map(together_row, answer.standings))
    print(textwrap.fill(model_error(answer), WIDTH, initial_indent="  ", subsequent_indent="  "))
    print()
    print(textwrap.fill(answer.decides, WIDTH))
    for title, lines in (
        (f"Against {answer.baseline}", answer.against),
        ("Transport, paths and placement", answer.contrasts),
        ("What differs", answer.differs),
        ("Warnings of runs", answer.warnings),
        ("Left out", answer.left_out),
        (
            "Hosts hide the network (`etherweave explain --what-if` has what each remedy saves)",
            answer.hidden,
        ),
        ("Hosts take most of the path", answer.overlapped),
        ("In flow-level mode, error not measured", answer.flow_level),
        ("Not modelled", answer.not_modelled),
    ):
        if lines:
            print(f"{title}:")
        for line in lines:
            print(textwrap.fill(line, WIDTH, initial_indent="  ", subsequent_indent="    "))
    if answer.fixed:
        print(
            f"  {len(answer.fixed)} uncertain figures are names, sizes or switches, and do not "
            "vary; --html lists them."
        )


def _right(titles: list[str], left: int) -> list[str]:
    """Put all columns but the first ones on the right."""
    return [*titles[:left], *(f">{title}" for title in titles[left:])]
