"""Steps of MLPerf: rows, their roles, and a family of one node and two."""

from pathlib import Path

from etherweave.study import load_study, run_study

STUDY = load_study("mlperf-2025")


def test_every_row_has_a_metric_and_each_family_a_calibration() -> None:
    rows = [row for row in STUDY.expected() if row["id"] != "median"]
    assert {row["id"] for row in rows} | {"median"} == set(STUDY.metrics)
    roles = [row["source"].rsplit("; ", 1)[1] for row in rows]
    assert (roles.count("calibration"), roles.count("prediction")) == (10, 13)


def test_two_nodes_follow_from_one(tmp_path: Path) -> None:
    done = run_study("mlperf-2025", tmp_path, only="nebius.*")
    fitted, predicted = sorted(
        (check for check in done.checks if check.id.startswith("nebius")),
        key=lambda check: int(check.id.split(".")[-1]),
    )
    assert abs(fitted.value / 0.4558 - 1) < 1e-6
    assert predicted.is_passed
