"""The page of benchmarks."""

import json
import random
import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import polars
import pytest
from matplotlib.figure import Figure

import etherweave
from etherweave.api.results import Result
from etherweave.bench.campaigns import session
from etherweave.bench.campaigns.campaign import Campaign, CampaignOptions, experiments
from etherweave.bench.campaigns.cluster import cluster_of
from etherweave.bench.campaigns.store import SWITCHES, keep_switches
from etherweave.bench.campaigns.summary import among
from etherweave.bench.launchers import Ending
from etherweave.bench.site.reading import read
from etherweave.bench.statistics.launches import StoppingRule
from etherweave.pages import write_report
from etherweave.pages.benchmarks import pairs
from etherweave.pages.benchmarks.data import Place, load_benchmarks, places
from etherweave.pages.benchmarks.points import rates
from etherweave.pages.benchmarks.predictions import predictions
from etherweave.pages.benchmarks.stability import relative
from etherweave.pages.benchmarks.sweeps import (
    RATE_SWEEP,
    TIME_SWEEP,
    Sweep,
    SweepSetting,
    bandwidth,
    latency,
)
from support import command_line
from support.captured_texts import DATA
from support.launches import NETWORK, FakeLauncher, bandwidths, campaign, latencies, stored_campaign

FEW = StoppingRule(0.5, launches_min=6, launches_max=6)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two fabrics, three hosts, both programs; distances grow with the hosts' numbers."""
    networks = (NETWORK, replace(NETWORK, name="roce", kind="RoCE", rate=12.5e9, latency=2e-6))
    options = CampaignOptions(("n0", "n1", "n2"), sizes=((1, 4),), is_all_pairs=True)
    planned = experiments(["osu_latency", "osu_bw"], networks, options)
    chance = random.Random(1)

    def answer(number: int) -> str:
        job = launcher.jobs[number]
        far = sum(int(host[1]) for host in job.hosts)
        noise = chance.uniform(0.99, 1.01)
        if job.command.arguments[0] == "osu_latency":
            return latencies(10.0 * far * noise)
        return bandwidths(noise / far)

    launcher = FakeLauncher(answer)
    return stored_campaign(
        tmp_path_factory.mktemp("three") / "out",
        Campaign("three", networks, planned, FEW, 1),
        launcher,
    )


@pytest.mark.slow
def test_a_page_shows_curves_maps_distributions_and_stability(tmp_path: Path, three: Path) -> None:
    out = copytree(three, tmp_path / "out")
    page = write_report(out, tmp_path / "page").read_text()
    names = re.findall(r'<section id="(\w+)">', page)
    assert names == [
        "bandwidth",
        "latency",
        "pairs_bandwidth",
        "pairs_latency",
        "distributions",
        "stability",
        "points",
        "about",
    ]
    assert "12 of 12 experiments on three gave numbers, in 84 launches." in page
    assert (tmp_path / "page/latency.svg").exists()
    assert page == write_report(out, tmp_path / "again").read_text()


def test_maps_stand_in_the_order_of_the_site_and_are_symmetric(tmp_path: Path, three: Path) -> None:
    benchmarks = load_benchmarks(copytree(three, tmp_path / "out"))
    matrix = pairs.maps(benchmarks, "s", 1e6, "us")[0].matrix
    assert (matrix.hosts, matrix.is_higher_better) == (["n0", "n1", "n2"], False)
    for first, second in combinations(range(3), 2):
        far = first + second
        assert matrix.values[first, second] == pytest.approx(10 * far, rel=0.02)
        assert matrix.values[second, first] == matrix.values[first, second]
    assert np.isnan(np.diag(matrix.values)).all()


def test_hosts_of_a_switch_stand_together_in_a_map(tmp_path: Path, three: Path) -> None:
    out = copytree(three, tmp_path / "out")
    keep_switches(out, {"n0": "leaf0", "n1": "leaf1", "n2": "leaf0"})
    section = pairs.latencies(load_benchmarks(out))
    assert section is not None and section.figure is not None
    axes = section.figure.axes[0]
    assert [yticklabel.get_text() for yticklabel in axes.get_yticklabels()] == ["n0", "n2", "n1"]
    # A line between the second host and the third.
    assert [line.get_ydata()[0] for line in axes.lines[:1]] == [1.5]  # type: ignore[index]
    summary = [row[1:4] for row in section.tables[0].rows if "roce" in row[0]]
    # n0 and n2 share a switch: 10 · (0 + 2) us; the others are 10 · 1 and 10 · 3 us apart.
    assert [row[:2] for row in summary] == [("on one switch", "1"), ("between", "2")]
    assert [float(row[2]) for row in summary] == pytest.approx([20, 20], rel=0.02)


def test_labels_have_maps_of_their_own_and_may_name_the_hosts() -> None:
    row = {"hosts": "a,b,c", "labels": "from=a test=x to=b"}
    points = polars.DataFrame([row, {"hosts": "a,c", "labels": "side=sender"}])
    assert pairs._between(points).select("one", "other").rows() == [("a", "b"), ("a", "c")]
    assert pairs._between(points)["rest"].to_list()[1] == "side=sender"


def limits(out: Path, metric: str, sweep: Sweep) -> dict[str, list[float]]:
    """The limits that are drawn for a metric on fabric lan, at its sizes, by their first words."""
    benchmarks = load_benchmarks(out)
    rows = benchmarks.points.filter(metric=metric, fabric="lan")
    setting = SweepSetting("lan", benchmarks.medium("lan"), rows, benchmarks.alpha("lan"))
    sizes = np.array([1448.0])
    return {bound.name: bound.values.tolist() for bound in sweep.bounds(setting, sizes)}


def test_times_are_held_against_link_and_smallest_message(tmp_path: Path, three: Path) -> None:
    """A frame of 1538 octets carries 1448: 12.3 us at 1 Gb/s, 1.25e8 B/s, its payload 11.6 us."""
    bounds = limits(copytree(three, tmp_path / "out"), "latency", TIME_SWEEP)
    (first, line), (name, values) = bounds.items()
    assert first == "size / line rate, 1 Gb/s"
    assert line == pytest.approx([1448 / 1.25e8])
    assert name.startswith("lan: ") and "MTU 1500 B assumed" in name
    # The nearest hosts took about 10 us for the smallest message.
    assert values == pytest.approx([10e-6 + 1538 / 1.25e8], rel=0.02)


def test_rates_are_held_against_the_link_and_full_frames(tmp_path: Path, three: Path) -> None:
    bounds = limits(copytree(three, tmp_path / "out"), "bandwidth", RATE_SWEEP)
    assert list(bounds.values()) == [[1.25e8], pytest.approx([1.25e8 * 1448 / 1538])]


def test_an_mtu_that_was_seen_counts(tmp_path: Path) -> None:
    """Snapshots may stand anywhere in the file of a session."""
    network = replace(NETWORK, interface="eth7")
    planned = experiments(["osu_latency"], (network,), CampaignOptions(("a", "b"), sizes=((1, 4),)))
    launcher = FakeLauncher(lambda number: latencies(10.0))
    out = stored_campaign(tmp_path / "out", Campaign("test", (network,), planned, FEW, 1), launcher)
    (out / "environment").mkdir()
    seen = {"hosts": {"a": {"before": {"interfaces": {"eth7": {"mtu": 9000}, "lo": {"mtu": 1}}}}}}
    (out / "environment/0001.json").write_text(json.dumps(seen))
    (out / "environment/0002.json").write_text("[" * 100_000)
    assert load_benchmarks(out).medium("lan").note == "TCP, MTU 9000 B"


def test_calls_of_a_collective_are_held_against_its_least_time(tmp_path: Path) -> None:
    """Four ranks on four hosts: each must hear 3 / 4 of a vector twice."""
    head = "# OSU MPI Allreduce Latency Test v7.4\n# Size       Avg Latency(us)\n"
    text = head + "".join(f"{size:<10d}{99.0:>15.2f}\n" for size in (4, 8, 16))
    launcher = FakeLauncher(lambda number: text)
    out = stored(tmp_path, "osu_allreduce", launcher, ("a", "b", "c", "d"), sizes=((4, 16),))
    ((name, values),) = limits(out, "call_time", TIME_SWEEP).items()
    assert name == "lan: least time of 4 ranks on 4 hosts"
    assert values == pytest.approx([2 * 3 / 4 * 1538 / 1.25e8])


def test_spreads_are_about_the_median_of_their_point(tmp_path: Path) -> None:
    values = [8.0, 9.0, 10.0, 10.0, 11.0, 12.0]
    launcher = FakeLauncher(lambda number: latencies(99.0 if number == 0 else values[number - 1]))
    benchmarks = load_benchmarks(stored_campaign(tmp_path / "out", campaign(rule=FEW), launcher))
    spread = relative(benchmarks).filter(size_bytes=1)["spread"].to_list()
    assert spread == pytest.approx([-0.2, -0.1, 0.0, 0.0, 0.1, 0.2])


@pytest.mark.usefixtures("undrawn_figures")
def test_warnings_stand_on_top(tmp_path: Path) -> None:
    answers = {0: Ending.FAILED, 1: "<script>alert(1)</script>\n"}
    launcher = FakeLauncher(lambda number: answers.get(number, latencies(10.0 + number)))
    out = stored_campaign(
        tmp_path / "out", campaign(rule=StoppingRule(0.01, launches_max=10)), launcher
    )
    page = write_report(out, out).read_text()
    top = page[: page.index("<section")]
    assert "failed: no route to host" in top
    assert "unstable: 3 of 3 points" in top
    assert "<script>alert" not in page


@pytest.mark.usefixtures("undrawn_figures")
def test_a_run_without_numbers_has_a_page_that_says_so(tmp_path: Path) -> None:
    launcher = FakeLauncher(lambda number: Ending.FAILED)
    out = stored_campaign(tmp_path / "out", campaign(), launcher)
    page = write_report(out, out).read_text()
    assert "0 of 1 experiments on test gave numbers" in page
    assert "given up" in page


def stored(
    home: Path,
    program: str,
    launcher: FakeLauncher,
    hosts: tuple[str, ...] = ("a", "b"),
    **options: Any,
) -> Path:
    """Carry out launches of a program on the usual network."""
    planned = experiments([program], (NETWORK,), CampaignOptions(hosts, **options))
    return stored_campaign(home / "out", Campaign("test", (NETWORK,), planned, FEW, 1), launcher)


def legend(figure: Figure) -> list[str]:
    return [str(line.get_label()) for line in figure.axes[0].lines]


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn_figures")
def test_a_table_stands_beside_what_was_measured(tmp_path: Path, three: Path) -> None:
    out = copytree(three, tmp_path / "out")
    predictions = tmp_path / "predictions.csv"
    predictions.write_text("metric,unit,size_bytes,median_s\nlatency,s,1,9e-6\nlatency,s,4,2e-5\n")
    command_line.invoke("report", out, "--simulation", predictions, code=0)
    benchmarks = load_benchmarks(out, [predictions])
    assert benchmarks.simulation is not None
    assert benchmarks.simulation["median"].to_list() == [9e-6, 2e-5]
    section = latency(benchmarks)
    assert section is not None and section.figure is not None
    assert "simulated" in legend(section.figure)


def simulated(home: Path, size: str, workload: str = "osu_latency") -> Path:
    topology = {"single_switch": {"hosts": 2, "rate": "1Gb/s"}}
    job = {"name": "test", "workload": {workload: {"bytes": size, "iterations": 3}}}
    result = etherweave.run({"topology": topology, "transport": {"tcp": {}}, "job": [job]})
    return result.save(home / f"{workload}-{size}")


def test_results_of_a_simulation_stand_beside_benchmarks(tmp_path: Path, three: Path) -> None:
    """One result a size, each by itself or all in a directory, make one curve."""
    out, home = copytree(three, tmp_path / "out"), tmp_path / "simulated"
    home.mkdir()
    results = [simulated(home, size) for size in ("1B", "4B")]
    for section in [latency(load_benchmarks(out, paths)) for paths in (results, [home])]:
        assert section is not None and section.figure is not None
        (line,) = [
            line
            for line in section.figure.axes[0].lines
            if str(line.get_label()).startswith("simulated")
        ]
        assert line.get_label() == "simulated: osu_latency,\nTCP+PFC, 1 Gb/s"
        halves = [
            Result.load(result).to_polars("iterations")["duration_ns"].to_numpy().mean() / 2e3
            for result in results
        ]
        assert list(np.asarray(line.get_ydata())) == pytest.approx(halves)


def test_two_simulations_of_one_size_are_kept_apart(tmp_path: Path) -> None:
    cubic = simulated(tmp_path / "one", "1B").rename(tmp_path / "cubic")
    other = simulated(tmp_path / "other", "1B").rename(tmp_path / "reno")
    names = predictions([cubic, other])["name"].to_list()
    assert [name.rpartition(" ")[2] for name in names] == ["(cubic)", "(reno)"]


def test_a_simulation_without_such_tests_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no result here; expected what `etherweave run -o` wrote"):
        predictions([tmp_path])
    topology = {"single_switch": {"hosts": 3}}
    job = {"name": "incast", "workload": {"incast": {"sources": 2}}}
    etherweave.run({"topology": topology, "run": {"end": "1ms"}, "job": [job]}).save(tmp_path)
    with pytest.raises(ValueError, match="no job like a benchmark; expected osu_latency"):
        predictions([tmp_path])


def test_streams_without_a_size_are_held_against_their_link(tmp_path: Path, three: Path) -> None:
    """Captured from iperf3 on loopback; at 1 Gb/s full frames leave 1448 of 1538 octets."""
    text = (DATA / "iperf3/tcp-1stream-omit1.json").read_text()
    out = stored(tmp_path, "iperf3", FakeLauncher(lambda number: text), seconds=1.0)
    section = rates(load_benchmarks(out))
    assert section is not None and section.figure is not None
    lines = {str(line.get_label()): list(line.get_xdata()) for line in section.figure.axes[0].lines}  # type: ignore[arg-type]
    assert lines["line rate, 1 Gb/s"] == pytest.approx([1, 1])
    full = 1448 / 1538
    assert lines["full frames\n(TCP, MTU 1500 B assumed)"] == pytest.approx([full, full])
    received = json.loads(text)["end"]["sum_received"]["bits_per_second"] / 1e9
    assert lines["measured"] == pytest.approx([received])
    assert rates(load_benchmarks(three)) is None


@pytest.mark.usefixtures("undrawn_figures")
def test_a_page_begins_with_the_figures_of_a_few_benchmarks(tmp_path: Path) -> None:
    """4 B are the largest message; 1 Gb/s carry 125 MB/s."""
    planned = experiments(
        ["osu_latency", "osu_bw"], (NETWORK,), CampaignOptions(("a", "b"), sizes=((1, 4),))
    )
    launcher = FakeLauncher(
        lambda number: (
            latencies(11.0)
            if launcher.jobs[number].command.arguments[0] == "osu_latency"
            else bandwidths(0.96)
        )
    )
    out = stored_campaign(tmp_path / "out", Campaign("x", (NETWORK,), planned, FEW, 1), launcher)
    lead = write_report(out, out).read_text().partition('class="lead">')[2].partition("</p>")[0]
    assert "osu_latency on lan: 11 us at 1 B." in lead
    assert "osu_bw on lan: 3.84 MB/s at 4 B, 3% of 1 Gb/s." in lead
    assert "2 of 2 experiments on x gave numbers" in lead


def test_captions_explain_the_lines_that_are_drawn(tmp_path: Path, three: Path) -> None:
    section = latency(load_benchmarks(three))
    assert section is not None and "dotted line adds" in section.caption
    assert "A collective takes" not in section.caption
    other = replace(NETWORK, kind="")
    planned = experiments(["osu_bw"], (other,), CampaignOptions(("a", "b"), sizes=((1, 4),)))
    launcher = FakeLauncher(lambda number: bandwidths(0.9))
    out = stored_campaign(tmp_path / "out", Campaign("x", (other,), planned, FEW, 1), launcher)
    rate = bandwidth(load_benchmarks(out))
    assert rate is not None and "dashed line" in rate.caption and "dotted" not in rate.caption


@pytest.mark.usefixtures("undrawn_figures")
def test_more_than_a_link_carries_is_reported_first(tmp_path: Path) -> None:
    """1771 Mb/s of the loopback, said to be a link of 1 Gb/s."""
    text = (DATA / "iperf3/tcp-1stream-omit1.json").read_text()
    out = stored(tmp_path, "iperf3", FakeLauncher(lambda number: text), seconds=1.0)
    top = write_report(out, out).read_text().partition("<section")[0]
    assert "iperf3 on lan: 1.77 Gb/s between a,b where links carry 1 Gb/s" in top


def test_bandwidths_published_of_other_rates_are_no_reference() -> None:
    """There are figures of TCP at 1 and 10 Gb/s, and none at 3.21 Gb/s."""
    own = {reference.unit for reference in among(NETWORK)}
    other = {reference.unit for reference in among(replace(NETWORK, rate=3.21e9 / 8))}
    assert own - other == {"B/s"} and "s" in other


def test_a_run_stores_the_site_s_switches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "site.toml"
    file.write_text('launcher.kind = "local"\n[hosts]\na.switch = "s1"\nb = {}\nc.switch = "s2"\n')
    cluster = cluster_of(read(file), hosts=["a", "b"])
    assert cluster.switches == {"a": "s1"}
    launchers = {"native": FakeLauncher(lambda number: latencies(10.0))}
    faked = replace(cluster, launchers=launchers, runs_from_path=False)
    monkeypatch.setattr(session, "cluster_of", lambda *_: faked)
    words = ["osu_latency", "--launches", "6", "--size", "1B:4B"]
    command_line.invoke("bench", "run", *words, "-o", tmp_path / "out", code=0)
    assert load_benchmarks(tmp_path / "out").places == {"a": ("s1", "")}


def test_a_topology_comes_from_a_site_or_a_scenario(tmp_path: Path) -> None:
    site, scenario = tmp_path / "site.toml", tmp_path / "scenario.toml"
    site.write_text('launcher.kind = "local"\n[hosts]\nn0 = {}\nn1.switch = "leaf7"\n')
    scenario.write_text("topology.dragonfly = { p = 1, a = 2, h = 1 }\n")
    hosts = ["n0", "n1", "n2"]
    assert places(site, hosts, {}) == {"n1": ("leaf7", "")}
    # A host on each switch, two switches in a group; what the site names goes first.
    reported = {"n1": Place("leaf7")}
    assert places(scenario, hosts, reported) == {
        "n0": ("group0.switch0", "group 0"),
        "n1": ("leaf7", ""),
        "n2": ("group1.switch0", "group 1"),
    }
    assert places(scenario, ["host3"], {}) == {"host3": ("group1.switch1", "group 1")}
    with pytest.raises(ValueError, match="a fabric of 6 hosts; expected at least 7"):
        places(scenario, [f"n{number}" for number in range(7)], {})


@pytest.mark.parametrize(
    "text", ["a =", "[topology]\nring = 1\n", "[hosts.n1]\nswich = 1\n", "\udcff"]
)
def test_a_file_that_is_no_topology_is_rejected(tmp_path: Path, three: Path, text: str) -> None:
    out, file = copytree(three, tmp_path / "out"), tmp_path / "odd.toml"
    file.write_text(text, errors="surrogateescape")
    assert "odd.toml" in command_line.invoke("report", out, "--topology", file, code=2).stderr


@pytest.mark.usefixtures("undrawn_figures")
def test_slow_hosts_are_reported_first(tmp_path: Path) -> None:
    hosts = tuple(f"n{number}" for number in range(5))
    launcher = FakeLauncher(
        lambda number: latencies(20.0 if "n3" in launcher.jobs[number].hosts else 10.0)
    )
    out = stored(tmp_path, "osu_latency", launcher, hosts, sizes=((1, 4),), is_all_pairs=True)
    page = write_report(out, out).read_text()
    top = page[: page.index("<section")]
    assert "n3: all its pairs are slow" in top and "2.00 times worse than usual" in top


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "metric,unit,size_bytes\nlatency,s,1\n"])
def test_a_table_that_is_no_simulation_is_rejected(tmp_path: Path, three: Path, text: str) -> None:
    out = copytree(three, tmp_path / "out")
    (tmp_path / "odd.csv").write_text(text)
    done = command_line.invoke("report", out, "--simulation", tmp_path / "odd.csv", code=2)
    assert "odd.csv" in done.stderr


def test_results_that_are_damaged_are_rejected(tmp_path: Path, three: Path) -> None:
    out = copytree(three, tmp_path / "out")
    (out / "points.parquet").write_bytes(b"PAR1")
    assert "points.parquet" in command_line.invoke("report", out, code=2).stderr
    (out / SWITCHES).write_text('{"n0": 1}')
    assert SWITCHES in command_line.invoke("report", out).stderr
    (out / "benchmarks.json").write_text("[]")
    assert command_line.invoke("report", out).exit_code == 2
    assert polars.read_csv(out / "points.csv").height > 0
