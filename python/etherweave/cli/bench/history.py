"""The verb ``bench history``."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import typer

from etherweave.bench.campaigns import comparisons
from etherweave.bench.campaigns.store import StoreError
from etherweave.cli.bench.compare import numbers, shift_cells
from etherweave.cli.bench.printing import moment
from etherweave.cli.design_page import print_table
from etherweave.cli.exits import FAILED, mistakes, reject
from etherweave.cli.parameters import AsJson


def history(
    results: Path,
    *,
    site: str | None = None,
    against: str | None = None,
    strict: bool = False,
    as_json: AsJson = False,
) -> None:
    """Compare each result of a cluster with the one before it.

    Changes that are too small to be significant add up: --against finds them. Exits with 2 after a
    mistake.

    Parameters
    ----------
    results
        Directory above those of `bench run -o`.
    site : NAME
        Show this cluster only.
    against : RESULT
        Compare all results with this one, or with a baseline as FILE:NAME.
    strict
        Exit with 1 when the last result of a cluster is worse.
    """
    with mistakes(StoreError):
        history_entries = _found(results, site)
        made = comparisons.steps(history_entries, (against, numbers(against)) if against else None)
    print(json.dumps([_facts(record) for record in made], indent=2)) if as_json else _print(
        history_entries, made
    )
    last = {record.entry.site: record for record in made}
    if strict and any(campaign.regressions for campaign in last.values()):
        raise typer.Exit(FAILED)


def _found(results: Path, site: str | None) -> list[comparisons.HistoryEntry]:
    if results.exists() and not results.is_dir():
        reject(f"{results}: Is a file; expected a directory with what `bench run -o` wrote")
    if campaigns := comparisons.entries(results, site):
        return campaigns
    known = ", ".join(sorted({entry.site for entry in comparisons.entries(results)}))
    if known:
        reject(f"--site {site}: no results of it below {results}; expected {known}")
    reject(f"{results}: no results below; expected what `bench run -o` wrote")


def _facts(step: comparisons.HistoryStep) -> dict[str, Any]:
    entry = step.entry
    return {
        "directory": str(entry.directory),
        "site": entry.site,
        "start_ns": entry.start_ns,
        "before": step.before,
        "differences": [difference.facts() for difference in step.differences],
    }


def _print(
    history_entries: list[comparisons.HistoryEntry], made: list[comparisons.HistoryStep]
) -> None:
    changes = {str(step.entry.directory): step for step in made}
    rows = [_row(entry, changes.get(str(entry.directory))) for entry in history_entries]
    print_table(("measured", "cluster", "result", ">better", ">worse", ">undecided"), rows)
    for step in made:
        if step.regressions:
            print(f"{step.entry.directory}: worse than {step.before}")
            titles = ("", ">size", ">before", ">shift", "")
            print_table(titles, map(shift_cells, step.regressions))


def _row(entry: comparisons.HistoryEntry, step: comparisons.HistoryStep | None) -> tuple[str, ...]:
    counts = Counter(difference.verdict for difference in step.differences) if step else None
    words = [str(counts[verdict]) if counts else "" for verdict in comparisons.DifferenceVerdict]
    return moment(entry.start_ns), entry.site, str(entry.directory), *words
