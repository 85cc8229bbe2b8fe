"""The verb ``bmwg``."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any

import typer

from etherweave.api.outputs import below
from etherweave.cli.design_page import WIDTH, print_table
from etherweave.cli.exits import FAILED, mistakes, notice, reject
from etherweave.cli.extras import require
from etherweave.cli.parameters import AsJson, ExecutorName, Positive, Uncertain, Workers, directory
from etherweave.cli.progress import work_progress

if TYPE_CHECKING:
    from etherweave.bmwg import Entry, TestResult
    from etherweave.bmwg.model import Cell, ReportTable


def bmwg(
    file: Annotated[Path | None, typer.Argument(metavar="FABRIC", show_default=False)] = None,
    *,
    tests: Annotated[str | None, typer.Option(show_default=False)] = None,
    draft: str = "training",
    full: bool = False,
    seeds: Positive = 1,
    samples: Annotated[int | None, typer.Option(show_default=False)] = None,
    uncertain: Uncertain = None,
    output: Path | None = None,
    every: bool = False,
    where: ExecutorName = "local",
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Run the IETF's tests for AI fabrics on a fabric, and print the tables of their reports.

    Topology, switches, flow control and transport are those of the file; jobs are those of the
    tests, by draft-calabria-bmwg-ai-fabric-training-bench or -inference-bench. Every column says
    where its value is observed. Writes a page with the draft's ten sections and each table as CSV;
    runs that have a result are not repeated. Exits with 1 if no trial of a test counts, with
    2 after a mistake.

    Parameters
    ----------
    file : FABRIC
        Scenario file, TOML, whose jobs are left out.
    tests : SECTIONS
        Run only the tests of these sections, such as 5.1,8.2; default: all that run.
    draft : training|inference
        Draft whose tests are run.
    full
        Sweep as the draft does; may take days.
    seeds : N
        Run every case with N seeds; tables are of the first, the page has the coefficient of
        variation of each test's primary metric.
    samples : N
        Draw N samples, 8 to 65,536, of all that is not known of the fabric, and print each value
        as median with the ends of intervals of 50 and 90 %.
    output : -o DIRECTORY
        Directory for the page, the tables and the runs; default: results/bmwg-NAME.
    every : --list
        Print all tests of the draft with what is less than it asks for, or why one does not run.
    """
    from etherweave.bmwg import DRAFTS, SelectionError, load_fabric, run_tests, selected

    if draft not in DRAFTS:
        reject(f"--draft {draft}; expected {' or '.join(DRAFTS)}")
    if every:
        return _print_list(draft, as_json)
    if file is None:
        reject("FABRIC: missing; expected a scenario file, or --list")
    if seeds > 1 and samples is not None:
        reject("--seeds: every sample has a seed of its own; expected --samples alone")
    if uncertain and samples is None:
        reject("--uncertain: draws in samples; expected --samples beside it")
    sections = [word.strip() for word in (tests or "").split(",") if word.strip()]
    if tests is not None and not sections:
        reject(f"--tests {tests!r}: no section; expected such as 5.1,8.2")
    require("report")
    from etherweave import ScenarioError
    from etherweave.cli.bmwg_sampled import Samples, with_intervals
    from etherweave.pages.bmwg import write_bmwg, write_csv
    from etherweave.sweeps import SweepError, WorkerError, executor
    from etherweave.uncertainty import UncertaintyError, declared

    home = directory(output or below(Path("results"), f"bmwg-{file.stem}"))
    known = (ScenarioError, SelectionError, SweepError, UncertaintyError, WorkerError, ValueError)
    with mistakes(*known):
        chosen = selected(draft, sections)
        fabric, on = load_fabric(file), executor(where, workers)
        drawn = declared(uncertain or ())
        repeat = None if samples is None else Samples(fabric, samples, drawn)
        with work_progress("bmwg", "runs") as progress:
            results = run_tests(
                *(fabric, draft, chosen, home, on, progress), full=full, seeds=seeds, repeat=repeat
            )
        results = results if samples is None else list(map(with_intervals, results))
        write_csv(results, draft, home)
        page = write_bmwg(fabric, draft, results, home, full=full)
    if as_json:
        print(json.dumps(_facts(results, draft, fabric.name), indent=2))
    else:
        for result in results:
            _print_test(result)
        print(_LEGEND)
    notice(f"Report: {page}")
    if any(result.attempted and not result.included for result in results):
        raise typer.Exit(FAILED)
    return None


ROWS_MAX = 60  # Largest number of rows of a table that is printed.
GAP = 2  # Blanks between two columns.
LINE_MAX = WIDTH - GAP  # Longest line of a table, without its indent.
_MARKS = {"DUT boundary": "b", "DUT-reported": "r", "software": "s", "setting": ""}
_LEGEND = """\
  (b) observed at the DUT boundary, (r) DUT-reported, (s) software; others are settings
  – not known, or a percentile of fewer than ten samples or of none beyond it"""


def _print_list(draft: str, as_json: bool) -> None:
    from etherweave.bmwg import entries

    known = entries(draft).values()
    if as_json:
        facts = [{**vars(entry), "state": entry.state} for entry in known]
        return print(json.dumps(facts, indent=2))
    rows = [(entry.section, entry.title, entry.state, _difference(entry)) for entry in known]
    print_table(("test", "title", "state", "what is less, or why not"), rows)
    runs = sum(entry.is_run for entry in known)
    print(f"  {len(known)} tests of the draft for {draft}, of which {runs} run")
    return None


def _difference(entry: "Entry") -> str:
    """Say what is less than the draft asks for, or why a test does not run and what runs it."""
    if not entry.reason:
        return entry.reduction
    return f"{entry.reason}; on hosts: {entry.hosts}" if entry.hosts else entry.reason


def _print_test(result: "TestResult") -> None:
    entry = result.entry
    count = f"{len(result.included)} of {len(result.trials)} trials"
    print(f"{entry.section} {entry.title}: {count}")
    if entry.reduction:
        print(f"  Less than the draft: {entry.reduction}")
    for table in result.tables:
        print()
        print(f"  {table.title}")
        if len(table.rows) > ROWS_MAX:
            print(f"  {len(table.rows)} rows, which the page and {table.name}.csv have")
        else:
            _print_blocks(table)
            _print_note(table)
    reasons: dict[str, int] = {}
    for trial in result.trials:
        if trial.problem:
            reasons[trial.problem] = reasons.get(trial.problem, 0) + 1
    for reason, number in reasons.items():
        print(f"  Excluded, {number}: {reason}")
    print()


def _print_note(table: "ReportTable") -> None:
    for line in wrap(table.note, WIDTH - GAP):
        print(f"  {line}")


def _print_blocks(table: "ReportTable") -> None:
    """Print a table in blocks of columns that fit in a line, each with the axes."""
    from etherweave.bmwg.model import text_of

    columns = []
    for at, column in enumerate(table.columns):
        cells = [row[at] for row in table.rows]
        mark = _MARKS[column.point]
        is_text = any(isinstance(cell, str) for cell in cells)
        title = f"{'' if is_text else '>'}{column.title}{f' ({mark})' if mark else ''}"
        columns.append([title, *map(text_of, cells)])
    count = next((at for at, column in enumerate(table.columns) if _MARKS[column.point]), 0)
    axes, block = columns[:count], list[list[str]]()
    for cells_ in columns[count:]:
        if block and sum(map(_width, [*axes, *block, cells_])) > LINE_MAX:
            _print_columns([*axes, *block])
            block = []
        block.append(cells_)
    _print_columns([*axes, *block])


def _width(column: Sequence[str]) -> int:
    return max(len(cell.lstrip(">")) for cell in column) + GAP


def _print_columns(columns: Sequence[Sequence[str]]) -> None:
    heads = [column[0] for column in columns]
    print_table(heads, list(zip(*(column[1:] for column in columns), strict=True)))


def _facts(results: "Sequence[TestResult]", draft: str, fabric: str) -> dict[str, Any]:
    """Collect tables and trials for JSON, which has no number that is not known."""

    def plain(cell: "Cell") -> "Cell":
        return None if isinstance(cell, float) and not math.isfinite(cell) else cell

    def test(result: "TestResult") -> dict[str, Any]:
        tables = [
            {
                "name": table.name,
                "title": table.title,
                "columns": [{"title": row.title, "observed": row.point} for row in table.columns],
                "rows": [[plain(cell) for cell in row] for row in table.rows],
                "note": table.note,
            }
            for table in result.tables
        ]
        excluded = [
            {"case": dict(trial.case.labels), "reason": trial.problem}
            for trial in result.trials
            if trial.problem
        ]
        trials = {
            "attempted": len(result.attempted),
            "included": len(result.included),
            "excluded": excluded,
        }
        return {**vars(result.entry), "tables": tables, "trials": trials}

    return {"fabric": fabric, "draft": draft, "tests": [test(result) for result in results]}
