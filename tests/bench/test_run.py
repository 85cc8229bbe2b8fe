"""The verb ``bench run`` as its user meets it, on fake clusters and on this machine."""

import json
import os
import re
import shutil
import signal
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from etherweave import bench
from etherweave.bench.campaigns import session
from etherweave.bench.campaigns.cluster import Cluster, cluster_of
from etherweave.bench.launchers import Ending
from etherweave.bench.site.reading import read
from etherweave.bench.site.values import this_machine
from etherweave.bench.statistics.launches import StoppingRule
from support import command_line
from support.launches import NETWORK, FakeLauncher, latencies

FEW = ("--launches", "6:8", "--size", "1B:4B")


etherweave = partial(command_line.invoke, "bench")


@pytest.fixture
def launcher(monkeypatch: pytest.MonkeyPatch) -> FakeLauncher:
    """The cluster of all verbs in this test."""
    fake = FakeLauncher(lambda number: latencies(10.0))
    cluster = Cluster("fake", ("a", "b"), (NETWORK,), {NETWORK.name: fake})
    monkeypatch.setattr(session, "cluster_of", lambda *_: cluster)
    return fake


def test_a_run_prints_medians_and_keeps_tables(tmp_path: Path, launcher: FakeLauncher) -> None:
    done = etherweave("run", "osu_latency", "-o", tmp_path / "out", *FEW, code=0)
    row = next(line for line in done.stdout.splitlines() if " 4 B " in line)
    assert row.split()[:10] == ["latency", "4", "B", *["30", "us"] * 3, "6"]
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {
        "benchmarks.json",
        "launches.csv",
        "launches.parquet",
        "measurements.csv",
        "points.csv",
        "points.parquet",
    }
    assert "9 launches at most" in done.stderr


def test_a_program_that_is_not_installed_is_refused_before_it_is_launched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("sh", "timeout"):  # Needs of the launcher.
        (tmp_path / name).symlink_to(shutil.which(name) or "")
    monkeypatch.setenv("PATH", str(tmp_path))
    done = etherweave("run", "iperf3", "-o", tmp_path / "out")
    assert (done.exit_code, (tmp_path / "out").exists()) == (2, False)
    assert "iperf3: not found; expected it in PATH; iperf3 is in Spack: iperf3" in done.stderr
    place = this_machine()
    assert cluster_of(place).runs_from_path
    assert not cluster_of(replace(place, modules=("gcc",))).runs_from_path
    assert not cluster_of(replace(place, environment=(("PATH", "/opt"),))).runs_from_path


def test_json_holds_what_the_store_holds(tmp_path: Path, launcher: FakeLauncher) -> None:
    done = etherweave("run", "osu_latency", "-o", tmp_path / "out", "--json", *FEW)
    facts = json.loads(done.stdout)
    assert facts == json.loads((tmp_path / "out/benchmarks.json").read_text())
    assert [point["median"] for point in facts["points"]] == [10e-6, 20e-6, 30e-6]


def test_a_run_beyond_its_limits_starts_nothing(tmp_path: Path, launcher: FakeLauncher) -> None:
    out = ("-o", tmp_path / "out", *FEW)
    done = etherweave("run", "osu_latency", *out, "--traffic-limit", "1kB")
    assert (done.exit_code, launcher.jobs, (tmp_path / "out").exists()) == (2, [], False)
    assert "expected within --traffic-limit, or fewer --launches" in done.stderr
    done = etherweave(
        "run", "osu_latency", *out, "--total-time-limit", "1ms", "--traffic-limit", "1B"
    )
    assert "--traffic-limit and --total-time-limit" in done.stderr


def test_interrupted_runs_end_with_130_and_go_on(tmp_path: Path, launcher: FakeLauncher) -> None:
    launcher.answer = lambda number: latencies(10.0) if number < 3 else Ending.INTERRUPTED
    words = ("run", "osu_latency", "-o", tmp_path / "out", *FEW)
    assert "the same command continues" in etherweave(*words, code=130).stderr
    assert (tmp_path / "out/benchmarks.json").exists()
    launcher.answer = lambda number: latencies(10.0)
    assert etherweave(*words).exit_code == 0
    assert len(launcher.jobs) == 4 + 4
    assert etherweave(*words).exit_code == 0
    assert len(launcher.jobs) == 8, "nothing is left to be done"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_a_run(tmp_path: Path, launcher: FakeLauncher, number: signal.Signals) -> None:
    def deadly(launch: int) -> str:
        if launch == 2:
            os.kill(os.getpid(), number)
        return latencies(10.0)

    launcher.answer = deadly
    assert etherweave("run", "osu_latency", "-o", tmp_path / "out", *FEW).exit_code == 130
    assert len(list((tmp_path / "out/launches").glob("*.json"))) == 2


def test_a_benchmark_that_fails_ends_with_1(tmp_path: Path, launcher: FakeLauncher) -> None:
    launcher.answer = lambda number: Ending.FAILED
    done = etherweave("run", "osu_latency", "-o", tmp_path / "out", *FEW, code=1)
    assert "given up, launches fail" in done.stdout


@pytest.mark.parametrize("succeeds", [(), (0,)], ids=["none", "warm-up"])
def test_few_launches_none_of_which_counts_end_with_1(
    tmp_path: Path, launcher: FakeLauncher, succeeds: tuple[int, ...]
) -> None:
    """A warm-up and one launch: fewer than after which an experiment is given up."""
    launcher.answer = lambda number: latencies(10.0) if number in succeeds else Ending.FAILED
    once = ("--launches", "1", "--size", "1B:4B")
    done = etherweave("run", "osu_latency", "-o", tmp_path / "out", *once)
    assert len(launcher.jobs) == 2
    assert (done.exit_code, "given up, launches fail" in done.stdout) == (1, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["mystery"], "unknown program mystery; nearest: ember; `etherweave bench list` has all"),
        (["osu_latenci"], "unknown program osu_latenci; nearest: osu_latency, "),
        (["osu_nonsense"], "unknown program osu_nonsense; nearest: "),
        (["osu_latency", "--size", "4"], "expected a size"),
        (["osu_latency", "--half-width", "2"], "half-width 2"),
        (["osu_latency", "--launches", "9:8"], "the smaller number first"),
        (["osu_latency", "--launches", "some"], "expected numbers such as 5 or 10:30"),
        (["osu_latency", "--ranks", "2"], "exactly two ranks"),
        (["osu_latency", "--total-time-limit", "soon"], "expected a time"),
        (["iperf3", "--duration", "500ms"], "expected whole seconds"),
        (["iperf3", "--duration", "10"], "expected a time such as"),
    ],
)
def test_mistakes_end_with_2(
    tmp_path: Path, launcher: FakeLauncher, words: list[str], message: str
) -> None:
    assert message in etherweave("run", *words, "-o", tmp_path / "out", code=2).stderr
    assert not (tmp_path / "out").exists()


def test_another_campaign_enters_no_directory(tmp_path: Path, launcher: FakeLauncher) -> None:
    assert etherweave("run", "osu_latency", "-o", tmp_path / "out", *FEW).exit_code == 0
    done = etherweave("run", "osu_bw", "-o", tmp_path / "out", *FEW, code=2)
    assert "holds another campaign" in done.stderr


def test_hosts_that_are_not_inspected_are_reported(tmp_path: Path, launcher: FakeLauncher) -> None:
    done = etherweave("run", "osu_latency", "-o", tmp_path / "out", *FEW)
    for host in ("a", "b"):
        assert f"{host}: could not be inspected: no route to host\n" in done.stderr
    kept = json.loads((tmp_path / "out/environment/0001.json").read_text())
    assert [(host["host"], host["before"]) for host in kept["hosts"]] == [("a", None), ("b", None)]
    assert {finding["severity"] for finding in kept["findings"]} == {"gap"}
    assert not (tmp_path / "out/work/inspection").exists()


def test_a_site_names_hosts_and_fabrics() -> None:
    cluster = cluster_of(this_machine())
    assert (cluster.name, cluster.hosts) == ("this machine", ("localhost",))
    (network,) = cluster.networks
    assert cluster.launchers[network.name].name == "local"


def test_links_that_a_launcher_makes_have_its_rate(tmp_path: Path) -> None:
    file = tmp_path / "site.toml"
    rates = []
    for rate in ("", ', rate = "500Mb/s"'):
        file.write_text(
            f'launcher = {{ kind = "netns"{rate} }}\nhosts = {{ a = {{}}, b = {{}} }}\n'
        )
        (network,) = cluster_of(read(file)).networks
        rates.append(network.rate)
    assert rates == [1e9 / 8, 500e6 / 8]


def test_a_host_or_fabric_that_a_site_has_not_is_a_mistake(tmp_path: Path) -> None:
    out = ("-o", tmp_path / "out")
    twice = etherweave("run", "iperf3", *out, "--hosts", "localhost,localhost", code=2)
    assert "names a host twice" in twice.stderr
    hasty = etherweave("run", "iperf3", *out, "--time-limit", "0s", code=2)
    assert "--time-limit 0s: expected more" in hasty.stderr
    done = etherweave("run", "iperf3", *out, "--hosts", "elsewhere", code=2)
    assert "host elsewhere" in done.stderr
    done = etherweave("run", "iperf3", *out, "--fabric", "slingshot", code=2)
    assert "fabric slingshot" in done.stderr
    done = etherweave("run", "iperf3", *out, "--site", tmp_path / "none.toml", code=2)
    assert "none.toml" in done.stderr


@pytest.mark.slow
@pytest.mark.needs("iperf3")
def test_iperf3_runs_on_this_machine(tmp_path: Path) -> None:
    """Two launches of 1 s over the loopback, with counters of its interface."""
    few = ("--launches", "1", "--duration", "1s")
    done = etherweave("run", "iperf3", "-o", tmp_path / "out", *few, "--json", code=0)
    assert re.search(
        r"^Telemetry took at most \d+\.\d\d% of a processor, on localhost", done.stderr, re.M
    )
    facts = json.loads(done.stdout)
    (rate,) = [point for point in facts["points"] if point["metric"] == "bandwidth"][:1]
    assert rate["median"] > 1e6
    assert facts["launches"] == 2
    assert len(list((tmp_path / "out/telemetry").glob("*/localhost/*_interface.parquet"))) == 2
    (inspected,) = json.loads((tmp_path / "out/environment/0001.json").read_text())["hosts"]
    assert inspected["before"]["host"] == inspected["after"]["host"] == "localhost"
    assert not [warning for warning in facts["warnings"] if "bytes crossed" in warning]


def test_a_function_carries_out_the_verb_s_campaign(tmp_path: Path, launcher: FakeLauncher) -> None:
    """A warm-up, and two launches that count."""
    names: list[str] = []
    observer = bench.SessionObserver(launched=lambda done, most, name: names.append(name))
    done = bench.run(
        ["osu_latency"],
        tmp_path / "out",
        sizes=[(1, 4)],
        rule=StoppingRule(launches_min=2, launches_max=2),
        telemetry=False,
        observer=observer,
    )
    assert (done.is_complete, done.directory, len(names)) == (True, tmp_path / "out", 3)
    assert [point.statistics.median for point in done.summary.points] == [10e-6, 20e-6, 30e-6]
    kept = json.loads((tmp_path / "out/benchmarks.json").read_text())
    assert kept == json.loads(json.dumps(done.summary.facts()))
    words = ("osu_latency", "-o", tmp_path / "out", *FEW[2:], "--launches", "2")
    etherweave("run", *words, code=0)
    assert len(launcher.jobs) == 3, "the same campaign: nothing is left"


def test_the_function_starts_nothing_beyond_limits(tmp_path: Path, launcher: FakeLauncher) -> None:
    limits = bench.CampaignLimits(total_s=1e9, traffic_bytes=1.0)
    with pytest.raises(bench.LimitError, match="within the limit of traffic") as caught:
        bench.run(["osu_latency"], tmp_path / "out", limits=limits)
    assert (caught.value.exceeded, launcher.jobs) == (("traffic",), [])
    assert not (tmp_path / "out").exists()
