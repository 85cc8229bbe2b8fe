"""The runner: every launch is kept before the next begins, and none is lost or made twice."""

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import polars
import pytest

from etherweave.bench.campaigns.campaign import CampaignExperiment, CampaignOptions, experiments
from etherweave.bench.campaigns.points import judge, judged_launches
from etherweave.bench.campaigns.runner import ExperimentState, RunObserver, launch_until_decided
from etherweave.bench.campaigns.session import CampaignLimits, predicted_cost, session
from etherweave.bench.campaigns.store import LaunchRecord, Store, StoreError
from etherweave.bench.campaigns.summary import CampaignSummary, summary
from etherweave.bench.campaigns.tables import save
from etherweave.bench.environment.inspections import HostInspection
from etherweave.bench.environment.snapshot import FORMAT, Snapshot
from etherweave.bench.launchers import Ending
from etherweave.bench.programs.plans import BenchmarkPlanError
from etherweave.bench.statistics.launches import StoppingRule, shuffled
from support.captured_texts import captured
from support.launches import (
    NETWORK,
    RULE,
    FakeLauncher,
    ScriptLauncher,
    bandwidths,
    campaign,
    latencies,
)
from support.often_killed_campaign import WHOLE

TESTS = Path(__file__).parents[1]


def summarised(store: Store) -> CampaignSummary:
    launches = judged_launches(store.campaign, store.records())
    return summary(store.campaign, launches, store.environments())


def test_a_steady_benchmark_is_launched_until_its_median_has_an_interval(tmp_path: Path) -> None:
    """Six launches are the least whose median has an interval at 95 %; the warm-up is not one."""
    store = Store.create(tmp_path / "out", campaign())
    launcher = FakeLauncher(lambda number: latencies(90.0 if number == 0 else 10.0))
    assert launch_until_decided(store, {"lan": launcher}, 1)
    campaign_summary = summarised(store)
    assert (len(launcher.jobs), campaign_summary.is_finished) == (7, True)
    assert set(campaign_summary.states.values()) == {ExperimentState.PRECISE}
    point = campaign_summary.points[0].facts()
    assert (point["median"], point["low"], point["high"], point["n"]) == (10e-6, 10e-6, 10e-6, 6)
    assert point["p99"] is None, "six values determine no a 99th percentile"


def test_a_noisy_benchmark_is_launched_up_to_the_cap_and_called_unstable(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "out", campaign())
    launcher = FakeLauncher(lambda number: latencies(10.0 + 5 * (number % 2)))
    launch_until_decided(store, {"lan": launcher}, 1)
    campaign_summary = summarised(store)
    assert len(launcher.jobs) == RULE.launches_max + 1
    assert set(campaign_summary.states.values()) == {ExperimentState.CAPPED}
    assert any("unstable: 3 of 3 points" in warning for warning in campaign_summary.warnings)


def test_retransmits_do_not_keep_a_steady_bandwidth_from_being_precise(tmp_path: Path) -> None:
    """Each launch is the captured run, with another number of segments that were sent again."""
    text = captured("iperf3/tcp-4streams.json")
    (plan,) = experiments(["iperf3"], [NETWORK], CampaignOptions(("a", "b")))
    store = Store.create(tmp_path / "out", replace(campaign(), experiments=(plan,)))
    sent = re.compile(r'"retransmits":\s*\d+')
    launcher = FakeLauncher(lambda number: sent.sub(f'"retransmits": {number * number}', text))
    launch_until_decided(store, {"lan": launcher}, 1)
    campaign_summary = summarised(store)
    assert set(campaign_summary.states.values()) == {ExperimentState.PRECISE}
    counts = [point for point in campaign_summary.points if point.point.metric == "retransmits"]
    assert counts and not any(count.statistics.is_stable for count in counts)


def test_launches_follow_the_shuffled_order(tmp_path: Path) -> None:
    networks = (NETWORK, replace(NETWORK, name="roce"))
    wanted = campaign(
        "osu_latency", "osu_bw", networks=networks, rule=StoppingRule(0.05, 0.95, 2, 2)
    )
    store = Store.create(tmp_path / "out", wanted)
    launcher = FakeLauncher(lambda number: latencies(10.0))
    launch_until_decided(store, {"lan": launcher, "roce": launcher}, 1)
    kept = [(record.round, record.experiment) for record in store.records()]
    assert kept == shuffled([experiment.name for experiment in wanted.experiments], 3, 7)


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_where_it_stood(tmp_path: Path) -> None:
    """Killed by SIGKILL within a launch: launches that ended stay, the others follow once."""
    words = [sys.executable, "-m", "support.killed_campaign", str(tmp_path / "out")]
    killed = subprocess.run([*words, "4"], cwd=TESTS, capture_output=True, timeout=60)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    before = {path.name: path.read_bytes() for path in (tmp_path / "out/launches").iterdir()}
    assert len(before) == 4
    done = subprocess.run([*words, "-1"], cwd=TESTS, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    after = {path.name: path.read_bytes() for path in (tmp_path / "out/launches").iterdir()}
    assert before.items() <= after.items()
    calls = (tmp_path / "out.calls").read_text().split()
    assert len(calls) == len(after) + 1, "only the launch that was killed is made again"
    assert list((tmp_path / "out/work").iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_run_killed_at_any_moment_ends_as_if_it_had_not_been(tmp_path: Path, seed: int) -> None:
    """The script itself checks after each death that nothing is lost, changed or made again."""
    out = tmp_path / "out"
    words = [sys.executable, "-m", "support.often_killed_campaign", str(out), "25", str(seed)]
    done = subprocess.run(words, cwd=TESTS, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["deaths"] >= 3
    undisturbed = Store.create(tmp_path / "undisturbed", WHOLE)
    launch_until_decided(undisturbed, {"lan": FakeLauncher(lambda number: latencies(10.0))}, 1)
    assert _order(Store.open(out)) == _order(undisturbed)
    assert not list((out / "work").iterdir())


def _order(store: Store) -> list[tuple[int, str, str]]:
    return [(record.round, record.experiment, record.text) for record in store.records()]


def test_an_interrupted_launch_is_made_again(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "out", campaign())
    endings = FakeLauncher(lambda number: latencies(10.0) if number < 3 else Ending.INTERRUPTED)
    assert not launch_until_decided(store, {"lan": endings}, 1)
    assert [record.round for record in store.records()] == [0, 1, 2]
    later = FakeLauncher(lambda number: latencies(10.0))
    assert launch_until_decided(store, {"lan": later}, 2)
    assert len(later.jobs) == 4
    assert [record.session for record in store.records()] == [1] * 3 + [2] * 4


def test_control_c_within_a_launch_ends_cleanly(tmp_path: Path) -> None:
    def interrupted(number: int) -> str:
        if number == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return latencies(10.0)

    store = Store.create(tmp_path / "out", campaign())
    assert not launch_until_decided(store, {"lan": FakeLauncher(interrupted)}, 1)
    assert len(store.records()) == 2
    assert not summarised(store).is_finished


def test_launches_that_fail_are_kept_and_do_not_count(tmp_path: Path) -> None:
    answers = {1: Ending.FAILED, 2: Ending.TIMED_OUT, 3: latencies(10.0, (1, 2)), 4: "Killed\n"}
    store = Store.create(tmp_path / "out", campaign(rule=StoppingRule(0.05, 0.95, 6, 10)))
    launch_until_decided(
        store, {"lan": FakeLauncher(lambda number: answers.get(number, latencies(10.0)))}, 1
    )
    campaign_summary = summarised(store)
    problems = {run.record.round: run.verdict.problems for run in campaign_summary.launches}
    assert problems[1][0] == "failed: no route to host"
    assert problems[2][0] == "timed out: no route to host"
    assert problems[3] == ("no result for 4 B",)
    assert "no benchmark that is known" in problems[4][0]
    assert {point.statistics.median for point in campaign_summary.points} == {10e-6, 20e-6, 30e-6}
    assert [len(point.statistics.launches) for point in campaign_summary.points] == [6, 6, 6]
    assert (tmp_path / "out/work" / campaign_summary.launches[1].record.name / "log").exists()


def test_an_experiment_that_only_fails_is_given_up(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "out", campaign())
    launcher = FakeLauncher(lambda number: Ending.FAILED)
    launch_until_decided(store, {"lan": launcher}, 1)
    summary = summarised(store)
    assert (len(launcher.jobs), summary.has_failed, summary.is_finished) == (3, True, True)
    assert summary.warnings[0] == "osu_latency on lan, a,b: given up, launches fail"
    save(store, summary)
    assert polars.read_csv(store.directory / "launches.csv").height == 3


def test_a_launch_is_ended_after_ten_forecasts_but_not_within_a_minute(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "out", campaign(size_max=4_194_304))
    launcher = FakeLauncher(lambda number: Ending.FAILED)
    launch_until_decided(store, {"lan": launcher}, 1)
    (experiment,) = store.campaign.experiments
    assert launcher.jobs[0].limit_s == max(60.0, 10 * experiment.seconds)
    assert launcher.jobs[0].hosts == ("a", "b")


def test_a_script_that_hangs_is_ended_at_its_limit(tmp_path: Path) -> None:
    (experiment,) = campaign().experiments
    hanging = replace(experiment, arguments=("sleep", "60"))
    store = Store.create(tmp_path / "out", replace(campaign(), experiments=(hanging,)))
    launch_until_decided(store, {"lan": ScriptLauncher()}, 1, limit=0.1)
    assert {record.ending for record in store.records()} == {"timed_out"}


def test_a_directory_holds_one_campaign(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "out", campaign())
    assert Store.create(tmp_path / "out", campaign()).campaign == store.campaign
    with pytest.raises(StoreError, match="another campaign \\(seed differ\\)"):
        Store.create(tmp_path / "out", replace(campaign(), seed=8))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.tex").write_text("")
    with pytest.raises(StoreError, match="is not empty"):
        Store.create(tmp_path / "mine", campaign())
    with pytest.raises(StoreError, match="no such file"):
        Store.open(tmp_path / "mine")


def test_a_run_killed_before_anything_was_kept_leaves_a_usable_directory(tmp_path: Path) -> None:
    """The campaign is written beside its place first."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out/.campaign.json.part").write_text("{")
    Store.create(tmp_path / "out", campaign())
    assert Store.open(tmp_path / "out").campaign == campaign()


def test_only_one_run_works_in_a_directory(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "out", campaign())
    with (
        store.alone(),
        pytest.raises(StoreError, match="another session uses this directory"),
        Store.open(tmp_path / "out").alone(),
    ):
        pass


@pytest.mark.parametrize(
    "damage",
    [
        b"", b"{", b"[]", b"[" * 100_000, b'{"experiment": 3}', b"\xff\xfe", b"{}",
    ],
)  # fmt: skip
def test_a_damaged_launch_is_named(tmp_path: Path, damage: bytes) -> None:
    store = Store.create(tmp_path / "out", campaign())
    (store.directory / "launches").mkdir()
    (store.directory / "launches/one.json").write_bytes(damage)
    with pytest.raises(StoreError, match=r"launches/one\.json"):
        store.records()


def test_a_launch_of_another_campaign_is_rejected(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "out", campaign())
    name = store.campaign.experiments[0].name
    store.add(LaunchRecord(name, 1, "done", "", "", (), 1, 2, "fake", 1, "0", "0" * 64))
    with pytest.raises(StoreError, match="another campaign"):
        store.records()


def test_tables_keep_every_number_in_its_unit(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "out", campaign("osu_latency", "osu_bw"))
    text = {"osu_latency": latencies(10.0), "osu_bw": bandwidths(1.5)}
    launcher = FakeLauncher(lambda number: text[launcher.jobs[number].command.arguments[0]])
    launch_until_decided(store, {"lan": launcher}, 1)
    save(store, summarised(store))
    points = polars.read_parquet(store.directory / "points.parquet")
    latency = points.row(
        by_predicate=(polars.col("metric") == "latency") & (polars.col("size_bytes") == 4),
        named=True,
    )
    assert (latency["median_s"], latency["median_bytes_per_s"]) == (30e-6, None)
    rate = points.row(
        by_predicate=(polars.col("metric") == "bandwidth") & (polars.col("size_bytes") == 1),
        named=True,
    )
    assert (rate["median_bytes_per_s"], rate["median_s"]) == (1.5e6, None)
    rows = polars.read_csv(store.directory / "measurements.csv")
    assert rows["is_warm_up"].sum() == 6
    assert rows.height == 3 * 14


def test_a_number_is_shown_beside_published_ones(tmp_path: Path) -> None:
    """97 Gb/s are 12.125e9 B/s: what Kenny et al. saw above for 4 MiB on RoCE v1 at 100 Gb/s."""
    network = replace(NETWORK, kind="RoCE v1", rate=12.5e9)
    (experiment,) = experiments(
        ["osu_bw"], [network], CampaignOptions(("a", "b"), sizes=((4_194_304,) * 2,))
    )
    wanted = replace(campaign(), networks=(network,), experiments=(experiment,))
    store = Store.create(tmp_path / "out", wanted)
    text = "# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n4194304        6062.50\n"
    launch_until_decided(store, {"lan": FakeLauncher(lambda number: text)}, 1)
    (point,) = summarised(store).points
    assert point.band is not None
    assert any("Kenny et al. 2020" in source for source in point.band.sources)
    assert point.band.low <= 12.125e9 <= point.band.high
    assert 6.0625e9 / point.band.high <= point.band.ratio <= 6.0625e9 / point.band.low


def test_the_environment_is_kept_before_and_after(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "out", campaign())
    looks = iter([[seen_at("a", 1.0), seen_at("b", 2.0)], [seen_at("a", 9.0)]])
    with pytest.raises(RuntimeError), session(store, lambda: next(looks)) as (number, _):
        (kept,) = store.environments()
        assert (number, [host["after"] for host in kept["hosts"]]) == (1, [None, None])
        raise RuntimeError
    (kept,) = store.environments()
    first, second = kept["hosts"]
    assert (first["before"]["taken_s"], first["after"]["taken_s"]) == (1.0, 9.0)
    assert (second["before"]["taken_s"], second["after"]) == (2.0, None)
    assert store.new_session() == 2


def seen_at(host: str, time_s: float) -> HostInspection:
    return HostInspection(host, "lan", "", Snapshot(FORMAT, host, "boot", time_s), "")


def test_progress_is_reported_after_every_launch(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "out", campaign())
    reported: list[tuple[int, int]] = []
    observer = RunObserver(lambda launch, done, most: reported.append((done, most)))
    launch_until_decided(store, {"lan": FakeLauncher(lambda number: latencies(10.0))}, 1, observer)
    assert reported == [(number, RULE.launches_max + 1) for number in range(1, 8)]
    assert all(first < other for first, other in pairwise(reported))


def test_limits_count_every_launch_that_there_may_be() -> None:
    wanted = campaign("osu_latency", "osu_bw")
    cost = predicted_cost(wanted)
    each = RULE.launches_max + 1
    assert cost.launches == 2 * each
    assert cost.bytes == each * sum(experiment.bytes for experiment in wanted.experiments)
    exact = CampaignLimits(total_s=cost.seconds, traffic_bytes=cost.bytes)
    assert cost.exceeded(exact) == ()
    assert cost.exceeded(replace(exact, traffic_bytes=cost.bytes - 1)) == ("traffic",)
    assert cost.exceeded(CampaignLimits(None, 0, 0)) == ("traffic", "total time")


def test_pairs_collectives_and_single_hosts_are_placed() -> None:
    def hosts(program: str, names: tuple[str, ...], is_all: bool = False) -> list[tuple[str, ...]]:
        result = experiments([program], [NETWORK], CampaignOptions(names, is_all_pairs=is_all))
        return [launch.hosts for launch in result]

    abc = ("a", "b", "c")
    assert hosts("osu_latency", abc) == [("a", "b")]
    assert hosts("osu_latency", abc, True) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert hosts("osu_alltoall", abc, True) == [abc]
    assert hosts("osu_latency", ("a",)) == [("a",)]
    assert hosts("iperf3", ("a",)) == [("a", "a")]
    with pytest.raises(BenchmarkPlanError, match="at least 10"):
        hosts("network_load_test", abc)
    with pytest.raises(BenchmarkPlanError, match="unknown program mystery"):
        hosts("mystery", abc)


def test_equal_experiments_have_equal_names_and_others_have_others() -> None:
    (one,), (same,) = campaign().experiments, campaign().experiments
    (other,) = campaign(size_max=8).experiments
    assert one.name == same.name != other.name
    strange: CampaignExperiment = replace(one, fabric="../../etc")
    assert "/" not in strange.name
    assert "." not in strange.name


def test_the_frames_of_open_mpi_are_not_its_last_words() -> None:
    rule = "-" * 74
    said = f"{rule}\nmpirun was unable to find the specified executable file\n{rule}\n"
    (problem,) = judge(campaign().experiments[0], "failed", "", said).problems
    assert problem == "failed: mpirun was unable to find the specified executable file"


def test_the_text_of_another_benchmark_does_not_count() -> None:
    (experiment,) = campaign().experiments
    verdict = judge(experiment, "done", captured("iperf3/tcp-1stream.txt"), "")
    assert verdict.problems == ("text of iperf3; expected one of osu",)
