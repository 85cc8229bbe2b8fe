"""Cases of uet-htsim: those without contention to every digit, the others within their bounds."""

from pathlib import Path

import pytest

from etherweave.study import load_study, run_study

STUDY = load_study("uec-2025")


def test_every_row_has_a_metric() -> None:
    assert {row["id"] for row in STUDY.expected()} == set(STUDY.metrics)


@pytest.mark.parametrize("case", ["S1", "C3", "S3", "S7", "R1", "R3"])
def test_a_case_is_within_its_bounds(case: str, tmp_path: Path) -> None:
    done = run_study("uec-2025", tmp_path, only=case)
    assert done.checks
    assert [check.id for check in done.checks if not check.is_passed] == []
