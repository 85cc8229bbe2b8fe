"""Percentiles of all tests of both drafts: none stands where the samples do not hold it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from etherweave.bmwg import (
    DRAFTS,
    TestResult,
    collectives,
    entries,
    failures,
    formulas,
    kv_latency,
    load_fabric,
    run_tests,
    selected,
)
from etherweave.bmwg.family import bench_test
from etherweave.bmwg.inference import chapter_5, chapter_6, chapter_7, chapter_10
from etherweave.bmwg.model import Cell, Included, ReportTable
from etherweave.bmwg.running import REPETITION
from etherweave.bmwg.settings import KIB
from etherweave.sweeps import executor, executors
from support.small_fabric import SMALL
from support.workers import completed_here

FABRIC = SMALL.replace("leaves = 4", "leaves = 8").replace("2MB", "4MB")
PERCENTILE = re.compile(r"\bP\d")
RUN = [(draft, part) for draft in DRAFTS for part, entry in entries(draft).items() if entry.is_run]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Mapping[tuple[str, str], TestResult]:
    """All tests of both drafts on a fabric of 16 hosts, whose equal cases run once.

    Windows of latency, messages and batches are small and loads few: whatever samples they leave,
    the rule decides.
    """
    home = tmp_path_factory.mktemp("percentiles")
    (home / "small.toml").write_text(FABRIC)
    fabric, on = load_fabric(home / "small.toml"), executor("local", 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(executors.Executor, "completed", completed_here)
        patch.setattr(kv_latency, "WINDOW_US", 100)
        patch.setattr(kv_latency, "MARGIN", 1)
        patch.setattr(chapter_5, "LOADS", (0, 50))
        patch.setattr(chapter_6, "RATIOS", (2.0,))
        patch.setattr(chapter_6, "TOKENS", 64)
        patch.setattr(chapter_7, "LOADS", (10,))
        patch.setattr(chapter_7, "BATCH", 8)
        patch.setattr(chapter_10, "END_MS", 2)
        patch.setattr(chapter_10, "BATCH", 4)
        patch.setattr(collectives, "SIZES", (10**5, 5 * 10**5))
        patch.setattr(failures, "MIB", KIB * 128)
        return {
            (draft, result.entry.section): result
            for draft in DRAFTS
            for result in run_tests(fabric, draft, selected(draft, []), home, on)
        }


def cells_of(table: ReportTable) -> Iterator[tuple[str, Cell]]:
    """Give the cells with percentiles, each with its title."""
    titles = [column.title for column in table.columns]
    is_by_row = "percentile" in titles
    for row in table.rows:
        for title, cell in zip(titles, row, strict=True):
            if PERCENTILE.search(title) or (is_by_row and title.endswith("[ms]")):
                yield title, cell


@pytest.mark.slow
@pytest.mark.parametrize(("draft", "section"), RUN)
def test_percentiles_stand_only_where_samples_hold_them(
    results: Mapping[tuple[str, str], TestResult],
    draft: str,
    section: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The rule is the only source of percentiles: where it holds none, no table has one."""
    (tmp_path / "small.toml").write_text(FABRIC)
    fabric, test = load_fabric(tmp_path / "small.toml"), bench_test(draft, section)
    included: Included = [
        (trial.case, trial.result)
        for trial in results[draft, section].included
        if trial.result is not None
    ]
    assert included
    again = [(replace(case, labels={**case.labels, REPETITION: 2}), run) for case, run in included]
    first, repeated = (
        [(table.name, *table.rows) for table in test.tables(fabric, of)] for of in (included, again)
    )
    assert str(repeated) == str(first), "repetitions with another seed have rows of their own"
    monkeypatch.setattr(formulas, "is_held", lambda count, percent: False)
    known = [
        cell
        for table in test.tables(fabric, included)
        for cell in cells_of(table)
        if cell[1] is not None
    ]
    assert known == []
