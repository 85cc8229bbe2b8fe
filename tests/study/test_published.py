"""Shipped studies against their publications: rows, their roles, and figures that runs give."""

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import etherweave
from etherweave.api.simulation import figures
from etherweave.api.units import rate_of, size_of, time_of
from etherweave.study import StudyCheck, StudyResult, calibration, load_study, run_study, shipped
from etherweave.study.results import check_of

pytestmark = pytest.mark.usefixtures("workers_of_this_process")
PROFILES = Path(__file__).parents[2] / "profiles/interconnect"


def checks(study: str, tmp_path: Path, only: str) -> dict[str, StudyCheck]:
    return {check.id: check for check in run_study(study, tmp_path, only=only).checks}


@pytest.mark.parametrize("name", shipped())
def test_every_row_has_a_metric_and_none_is_left_over(name: str) -> None:
    study = load_study(name)
    assert {row["id"] for row in study.expected()} == set(study.metrics)


EQUAL = {"dctcp.queue.max.10", "fig6.grows_with_pairs", "qos.pauses.roce_priorities", "S7.flow"}
"""Rows whose figures a run gives exactly: whole packets, truths, and times of an equal model."""


@pytest.mark.parametrize("name", shipped())
def test_a_figure_that_is_published_exactly_is_no_prediction(name: str) -> None:
    """A definition of a profile says nothing of a model's error, and is marked as calibration."""
    study = load_study(name)
    computed = json.loads((study.home / "record.json").read_text())["computed"]
    figures = {name: value for name, value in computed.items() if value is not None}
    done = [check_of(row, figures[row["id"]]) for row in study.expected() if row["id"] in figures]
    equal = {
        own.id
        for own in StudyResult(study, done, study.home).predictions
        if own.has_error and own.published and math.isclose(own.value, own.published, rel_tol=1e-6)
    }
    assert equal <= EQUAL


def roles(study: str) -> dict[str, str]:
    """Return whether each row is fitted to or predicted, of those whose source says it."""
    sources = {row["id"]: row["source"].rpartition("; ") for row in load_study(study).expected()}
    return {name: role for name, (_, parted, role) in sources.items() if parted}


@pytest.mark.parametrize(
    "case",
    [
        "S1",
        "C3",
        "S3",
        "S7",
        "R1",
        "R3",
        "B6",
        "credits.permutation",
        "credits.leaves",
        "both.incast",
    ],
)
def test_a_case_of_uet_htsim_is_within_its_bounds(case: str, tmp_path: Path) -> None:
    done = checks("uec-2025", tmp_path, case)
    assert done
    assert [name for name, check in done.items() if not check.is_passed] == []


def test_credits_keep_an_incast_of_64_within_three_percent_and_queues_below_a_round_trip() -> None:
    incast = {"incast": {"sources": 64, "message": "2MB", "messages": 1}}
    keys = {"topology.k_ary_fat_tree.k": 8, "job.0.workload": incast}
    result = etherweave.run(load_study("uec-2025").home / "credits.toml", keys)
    frames = 2_000_000 + -(-2_000_000 // 4086) * 64
    # 12.5 B a nanosecond.
    ideal = 64 * frames / 12.5
    assert ideal < max(result.to_polars("flows")["acknowledged_ns"].to_list()) < 1.03 * ideal
    switches = ~pl.col("node").str.starts_with("host") & (pl.col("priority") == 0)
    queues = result.to_polars("ports").filter(switches)["occupancy_bytes_max"]
    assert max(queues.to_list()) < 14_022.72 * 12.5


@pytest.mark.slow
def test_the_profile_meets_the_row_of_pico_that_it_is_fitted_to(tmp_path: Path) -> None:
    row = "lumi.default_mpich.262144"
    assert [name for name, role in roles("pico").items() if role == "calibration"] == [row]
    check = checks("pico", tmp_path, row)[row]
    assert check.value == pytest.approx(check.expected, rel=0.01)


def test_a_family_of_mlperf_has_a_calibration_and_two_nodes_follow_from_one(tmp_path: Path) -> None:
    rows = {name: role for name, role in roles("mlperf-2025").items() if name != "median"}
    own = {"calibration": 10, "prediction": 5, "weaker prediction": 8}
    assert Counter(rows.values()) == own
    done = checks("mlperf-2025", tmp_path, "nebius.*")
    names = [name for name in done if name.startswith("nebius")]
    fitted, predicted = sorted(names, key=lambda name: int(name.split(".")[-1]))
    assert abs(done[fitted].value / 0.4558 - 1) < 1e-6
    assert done[predicted].is_passed


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(PROFILES.glob("*.toml")), ids=lambda path: path.stem)
def test_no_profile_is_fitted_to_the_survey_or_to_more_than_three_figures(path: Path) -> None:
    figures = etherweave.figures({"interconnect": {"file": str(path)}})
    own = [figure["source"] for figure in figures if figure["basis"] == "fitted"]
    published = {source for source in own if "SONiC" not in source}
    assert not any("Li et al" in source for source in published)
    assert len(published) <= 3


@pytest.mark.slow
def test_latencies_of_a_message_of_8_bytes_are_those_of_table_1(tmp_path: Path) -> None:
    """But for Slingshot-11, whose documents have 1.6 to 3.5 us."""
    done = checks("hot-interconnects-2022", tmp_path, "*_latency.*.8.1")
    latencies = {name: check for name, check in done.items() if name.startswith("table1.latency")}
    assert len(latencies) == 9
    failed = {name for name, check in latencies.items() if not check.is_passed}
    assert failed == {"table1.latency.slingshot"}


def test_figures_of_osu_have_a_role_and_at_most_three_of_a_system_are_fitted_to() -> None:
    rows = roles("osu-references")
    assert rows.keys() == {row["id"] for row in load_study("osu-references").expected()}
    assert set(rows.values()) == {"calibration", "prediction"}
    fitted = Counter(name.split(".")[0] for name, role in rows.items() if role == "calibration")
    assert max(fitted.values()) <= 3


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["infiniband-edr", "aries"])
def test_a_profile_meets_what_it_is_fitted_to(profile: str, tmp_path: Path) -> None:
    done = checks("osu-references", tmp_path, f"{profile}.*.8.1")
    own = [check for check in done.values() if check.source.endswith("calibration")]
    assert len(own) == 2
    assert all(check.is_passed for check in own)


@pytest.mark.parametrize(
    ("profile", "eager_max"),
    [
        # A mailbox of uGNI, less the headers of its messages and of ob1.
        ("aries", 8192 - 4 - 64),
        # What libfabric's cxi sends with the request, and the least that a get fetches.
        ("slingshot-11", 2048 + 2049),
    ],
)
def test_rendezvous_begins_beyond_the_limit_that_the_source_of_a_library_has(
    profile: str, eager_max: int
) -> None:
    rows = figures({"interconnect": {"profile": profile}})
    (limit,) = [row for row in rows if row["key"] == "host.mpi_roce.eager_max"]
    assert (size_of(str(limit["value"])), limit["basis"]) == (eager_max, "derived")


@pytest.mark.slow
def test_the_shipped_constants_are_those_that_are_fitted() -> None:
    """But for the last digit: each is searched beside the rounded values of the others."""

    def amount(text: str) -> float:
        return rate_of(text) if text.endswith("b/s") else time_of(text)

    for key, check, _, stated, fitted, _ in calibration.calibrate(load_study("osu-references")):
        assert amount(stated) == pytest.approx(amount(fitted), rel=0.05), (key, check)


def test_constants_are_nearest_steps_of_their_scenario(monkeypatch: pytest.MonkeyPatch) -> None:
    held: dict[str, tuple[str, ...]] = {}

    def measure(study: Any, constant: Any, fitted: dict[str, object], value: int) -> float:
        held[constant.check] = tuple(fitted)
        middle = (constant.low + constant.high) / 2
        return float(constant.target + middle + 0.6 - value)

    monkeypatch.setattr(calibration, "_measure", measure)
    rows = {(row[0], row[1]): row[4] for row in calibration.calibrate(load_study("stackhpc-2019"))}
    # From 2 to 32 the figure is the target at 17.6: 18 is nearer than 17.
    assert rows["host.receive.queues", "hpcc.ring.latency.tcp10"] == "18"
    # From 25 to 200 at 113.1.
    assert rows["nic.context_switch", "hpcc.ring.latency.roce25"] == "113ns"
    assert held["hpcc.ring.bandwidth.tcp10"] == ("host.receive.queues",)
    assert held["hpcc.ring.latency.tcp25"] == ()
    assert held["hpcc.ring.bandwidth.roce25"] == ("nic.context_switch",)
