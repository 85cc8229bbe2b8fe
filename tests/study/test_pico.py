"""All-reduces of PICO's campaigns: which rows are fitted to, and one that is."""

from pathlib import Path

import pytest

from etherweave.study import load_study, run_study

pytestmark = pytest.mark.slow
STUDY = load_study("pico")


def test_every_row_has_a_metric_and_one_is_fitted_to() -> None:
    rows = STUDY.expected()
    assert {row["id"] for row in rows} == set(STUDY.metrics)
    fitted = [row["id"] for row in rows if row["source"].endswith("; calibration")]
    assert fitted == ["lumi.default_mpich.262144"]


def test_the_profile_meets_the_row_that_it_is_fitted_to(tmp_path: Path) -> None:
    done = run_study("pico", tmp_path, only="lumi.default_mpich.262144")
    (check,) = (check for check in done.checks if check.id == "lumi.default_mpich.262144")
    assert check.value == pytest.approx(check.expected, rel=0.01)
