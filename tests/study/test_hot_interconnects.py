"""The survey of interconnects: its rows, and profiles that are not fitted to them."""

from pathlib import Path

import pytest

import etherweave
from etherweave.study import load_study, run_study

pytestmark = pytest.mark.slow
STUDY = load_study("hot-interconnects-2022")
PROFILES = Path(__file__).parents[2] / "profiles/interconnect"


def test_every_row_has_a_metric_and_none_is_left_over() -> None:
    assert {row["id"] for row in STUDY.expected()} == set(STUDY.metrics)


@pytest.mark.parametrize("path", sorted(PROFILES.glob("*.toml")), ids=lambda path: path.stem)
def test_no_profile_is_fitted_to_the_survey_or_to_more_than_three_figures(path: Path) -> None:
    figures = etherweave.figures({"interconnect": {"file": str(path)}})
    own = [figure["source"] for figure in figures if figure["basis"] == "fitted"]
    published = {source for source in own if "SONiC" not in source}
    assert not any("Li et al" in source for source in published)
    assert len(published) <= 3


def test_latencies_of_a_message_of_8_bytes_are_those_of_table_1(tmp_path: Path) -> None:
    """But for Slingshot-11, whose profile is fitted to a measurement that Table 1 contradicts."""
    part = run_study("hot-interconnects-2022", tmp_path, only="*_latency.*.8.1")
    found = {check.id: check for check in part.checks if check.id.startswith("table1.latency")}
    assert len(found) == 9
    failed = {name for name, check in found.items() if not check.is_passed}
    assert failed == {"table1.latency.slingshot"}
