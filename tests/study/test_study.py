"""The study: its bookkeeping, its checks, and its page in a browser."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from etherweave.pages import write_report
from etherweave.report import write_study
from etherweave.study import StudyCheck, StudyResult, load_study, run_study, running
from etherweave.study.experiments import RunExperiment
from etherweave.study.results import load_result
from etherweave.study.running import check as check_study
from etherweave.study.running import known_times, run_experiment
from support import figures

pytestmark = pytest.mark.slow

STUDY = load_study("sandia-2020")


def check(value: float, low: float | None, high: float | None) -> StudyCheck:
    return StudyCheck("x", "nowhere", 1.0, (low, high), "s", value)


def test_a_figure_passes_within_its_bounds_and_only_there() -> None:
    assert check(1.0, 0.9, 1.1).is_passed
    assert check(0.9, 0.9, None).is_passed
    assert not check(0.8, 0.9, None).is_passed
    assert not check(1.2, None, 1.1).is_passed
    assert not check(float("nan"), 0.0, 1.0).is_passed


def test_the_median_error_is_of_predicted_numbers_with_a_figure_each_once(tmp_path: Path) -> None:
    def result(*checks: StudyCheck) -> StudyResult:
        return StudyResult(STUDY, checks, tmp_path)

    own = [check(1.1, 0.5, 1.5), check(0.7, 0.5, 1.5), check(1.2, 0.5, 1.5)]
    others = [
        check(float("nan"), 0.5, 1.5),
        check(1.0, 1.0, 1.0),  # A count.
        check(3.0, 0.5, None),
        replace(own[0], source="Table 1; repeats x"),
        replace(own[0], source="Table 1; calibration"),
        replace(own[0], basis="a simulator"),
        replace(own[0], expected=0.0),
    ]
    assert result(*others).error_text == ""
    both = result(*others, *own)
    assert both.error == pytest.approx(0.2)
    assert both.error_text == "Predicted figures are off by 20.0% in the median of 3."


def test_counts_are_written_in_full_and_other_figures_with_four_digits() -> None:
    assert check(303264.0, None, None).text == check(303264, None, None).text == "303264"
    assert check(53.8249, None, None).text == "53.82"
    assert check(float("nan"), None, None).text == "–"


def test_full_experiments_take_as_many_times_as_long_as_they_have_packets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where repetitions may be skipped, a record of a few says nothing about the time of all."""
    recorded = known_times(STUDY, STUDY.experiments(True), True)
    assert recorded.keys() == {experiment.name for experiment in STUDY.experiments(True)}
    monkeypatch.setattr(running, "full_times", lambda home, experiments: {})
    short, full = (known_times(STUDY, STUDY.experiments(full), full) for full in (False, True))
    assert {"halo3d.roce_v2", "qos.tcp.loaded.1"} < short.keys()
    assert {"halo3d.roce_v2", "qos.tcp.loaded.1"}.isdisjoint(full)
    assert full["p2p.roce_v2.latency"] == short["p2p.roce_v2.latency"]
    # 13 samples of panels instead of 5, and the first panels.
    assert 13 / 5 <= full["hpl.tcp"] / short["hpl.tcp"] < 3


def test_experiments_have_one_name_each_and_full_ones_all_iterations() -> None:
    for full in (False, True):
        named = [experiment.name for experiment in STUDY.experiments(full)]
        assert len(named) == len(set(named))
    assert not any(
        "iterations" in key
        for item in STUDY.experiments(True)
        if isinstance(item, RunExperiment)
        for key in item.overrides
        if item.name.startswith(("halo3d", "fft"))
    )


def test_an_interrupted_study_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = RunExperiment("p2p", "p2p", {"job.0.workload.osu_latency.iterations": 10})
    run_experiment(STUDY.home, experiment, tmp_path, fresh=False)
    written = (tmp_path / "summary.json").stat().st_mtime_ns
    run_experiment(STUDY.home, experiment, tmp_path, fresh=False)
    assert (tmp_path / "summary.json").stat().st_mtime_ns == written
    run_experiment(STUDY.home, experiment, tmp_path, fresh=True)
    assert (tmp_path / "summary.json").stat().st_mtime_ns > written


def test_an_unknown_study_is_named_beside_the_known() -> None:
    with pytest.raises(
        KeyError, match="no study 'x'; known: datacenter-transports, exascale-2017, experts, "
    ):
        run_study("x", Path("nowhere"))


def test_a_part_of_a_study_checks_what_it_feeds_and_lists_the_rest(tmp_path: Path) -> None:
    part = run_study("sandia-2020", tmp_path, only="p2p.*.latency", processes=2)
    assert {check.id for check in part.checks} == {
        f"p2p.{transport}.latency" for transport in ("roce_v1", "roce_v2", "tcp", "tcp_pfc")
    }
    assert {check.id for check in part.checks} | set(part.not_run) == set(STUDY.metrics)
    assert not (tmp_path / "checks.json").exists()
    with pytest.raises(KeyError, match=r"no experiment 'x'; known: p2p\.\*, incast\.\*, halo3d"):
        run_study("sandia-2020", tmp_path, only="x")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    """The study with few iterations and two sizes of incast."""
    output = tmp_path_factory.mktemp("study")
    short = {"halo3d": 2, "fft": 3}
    shortened = []
    for item in STUDY.experiments(False):
        assert isinstance(item, RunExperiment)
        overrides = dict(item.overrides)
        for proxy, few in short.items():
            key = f"job.0.workload.{proxy}.iterations"
            if key in overrides:
                overrides[key] = few
        if item.scenario == "incast":
            # A fresh receive queue waits with its interrupt for 64 frames, a send call of 2 us
            # each.
            overrides |= {"run.end": "400us", "run.warm_up": "200us"}
        if "bandwidth" in item.name:
            overrides |= {
                "job.0.workload": {"osu_bw": {"bytes": "64KiB", "iterations": 1, "warm_up": 0}}
            }
        shortened.append(RunExperiment(item.name, item.scenario, overrides))
    for item in shortened:
        run_experiment(STUDY.home, item, output / item.name, False)
    results = {item.name: load_result(output / item.name) for item in shortened}
    return StudyResult(STUDY, check_study(STUDY, results)[0], output)


@pytest.fixture(scope="module")
def page(small: StudyResult) -> Path:
    with figures.quick():
        return write_study(small)


@pytest.mark.long
@pytest.mark.needs("chromium")
def test_a_browser_shows_every_figure(small: StudyResult, page: Path, tmp_path: Path) -> None:
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    flags += ["--disable-component-update", "--disable-sync", "--no-first-run"]
    words = ["chromium", *flags, f"--user-data-dir={tmp_path}", "--dump-dom", page.as_uri()]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
    drawn = list(small.directory.glob("*.svg"))
    assert done.stdout.count('src="data:image/svg+xml') == len(drawn)
    assert {path.stem for path in drawn} >= {f"figure_{number:02}" for number in range(2, 11)}
    for table in ("Table I:", "Table II:", "Table III:"):
        assert table in done.stdout
    assert "Simulated against published" in done.stdout
    assert 'src="http' not in done.stdout


@pytest.mark.long
def test_a_directory_draws_the_same_page(small: StudyResult, page: Path, tmp_path: Path) -> None:
    (small.directory / "checks.json").write_text(small.to_json(), encoding="utf-8")
    with figures.quick():
        again = write_report(small.directory, tmp_path)
    assert again.read_bytes() == page.read_bytes()
    for name in ("figure_04", "figure_05", "halo3d_fabric"):
        assert (tmp_path / f"{name}.svg").read_bytes().startswith(b"<?xml")
