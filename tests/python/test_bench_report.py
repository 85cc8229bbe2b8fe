"""The page of benchmarks."""

import random
import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import polars
import pytest
from bench_launches import NETWORK, FakeLauncher, campaign, latencies
from typer.testing import CliRunner

from etherweave.bench.campaign import Campaign, Wish, experiments
from etherweave.bench.launchers import Ending
from etherweave.bench.points import launched
from etherweave.bench.runner import run
from etherweave.bench.statistics.stopping import Rule
from etherweave.bench.store import Store
from etherweave.bench.summary import summary
from etherweave.bench.tables import save
from etherweave.cli import app
from etherweave.report import write_report
from etherweave.report.benchmarks import load_benchmarks
from etherweave.report.figures.benchmarks import distributions, latency, pairs

FEW = Rule(0.5, launches_min=6, launches_max=6)


def kept(path: Path, wanted: Campaign, launcher: FakeLauncher) -> Path:
    store = Store.create(path, wanted)
    run(store, {one.name: launcher for one in wanted.networks}, 1)
    launches = launched(store.campaign, store.records())
    save(store, summary(store.campaign, launches))
    return path


def several(path: Path) -> Path:
    """Two fabrics, three hosts, both programs; distances grow with the hosts' numbers."""
    networks = (NETWORK, replace(NETWORK, name="roce", kind="RoCE", rate=12.5e9, latency=2e-6))
    wish = Wish(("n0", "n1", "n2"), sizes=((1, 4),), is_all_pairs=True)
    planned = experiments(["osu_latency", "osu_bw"], networks, wish)
    chance = random.Random(1)

    def answer(number: int) -> str:
        job = launcher.jobs[number]
        far = sum(int(host[1]) for host in job.hosts)
        noise = chance.uniform(0.99, 1.01)
        if job.command.arguments[0] == "osu_latency":
            return latencies(10.0 * far * noise)
        rows = [f"{size:<10d}{size / far * noise:>15.2f}" for size in (1, 2, 4)]
        head = "# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)"
        return "\n".join([head, *rows, ""])

    launcher = FakeLauncher(answer)
    return kept(path, Campaign("three", networks, planned, FEW, 1), launcher)


def test_a_page_shows_curves_maps_distributions_and_stability(tmp_path: Path) -> None:
    out = several(tmp_path / "out")
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
    ]
    assert "12 of 12 experiments on three gave numbers, in 84 launches." in page
    assert (tmp_path / "page/latency.svg").exists()
    again = write_report(out, tmp_path / "again").read_text()
    assert page == again


def test_maps_stand_in_the_order_of_the_site_and_are_symmetric(tmp_path: Path) -> None:
    found = load_benchmarks(several(tmp_path / "out"))
    one = pairs._maps(found, "s", 1e6, "us")[0]
    assert one.hosts == ["n0", "n1", "n2"]
    for first, second in combinations(range(3), 2):
        far = first + second
        assert one.values[first, second] == pytest.approx(10 * far, rel=0.02)
        assert one.values[second, first] == one.values[first, second]
    assert np.isnan(np.diag(one.values)).all()


def test_labels_have_maps_of_their_own_and_may_name_the_hosts() -> None:
    row = {"hosts": "a,b,c", "labels": "from=a test=x to=b"}
    points = polars.DataFrame([row, {"hosts": "a,c", "labels": "side=sender"}])
    found = pairs._between(points).select("one", "other").rows()
    assert found == [("a", "b"), ("a", "c")]
    assert pairs._between(points)["rest"].to_list()[1] == "side=sender"


def test_no_time_is_drawn_below_what_its_bytes_take_on_the_link() -> None:
    """1250 bytes at 10 Gb/s, 1.25e9 B/s, take 1 us; a latency of 2 us comes on top."""
    network = {"rate": 1.25e9, "latency": 2e-6}
    sizes = np.array([1250.0])
    assert latency.SWEEP.bound(sizes, network) == pytest.approx([1e-6])
    assert latency.SWEEP.belief is not None
    assert latency.SWEEP.belief(sizes, network) == pytest.approx([3e-6])


def test_spreads_are_about_the_median_of_their_point(tmp_path: Path) -> None:
    values = [8.0, 9.0, 10.0, 10.0, 11.0, 12.0]
    launcher = FakeLauncher(lambda number: latencies(99.0 if number == 0 else values[number - 1]))
    found = load_benchmarks(kept(tmp_path / "out", campaign(rule=FEW), launcher))
    spread = distributions.relative(found).filter(size_bytes=1)["spread"].to_list()
    assert spread == pytest.approx([-0.2, -0.1, 0.0, 0.0, 0.1, 0.2])


def test_warnings_stand_on_top(tmp_path: Path) -> None:
    answers = {0: Ending.FAILED, 1: "<script>alert(1)</script>\n"}
    launcher = FakeLauncher(lambda number: answers.get(number, latencies(10.0 + number)))
    out = kept(tmp_path / "out", campaign(rule=Rule(0.01, launches_max=10)), launcher)
    page = write_report(out, out).read_text()
    top = page[: page.index("<section")]
    assert "failed: no route to host" in top
    assert "unstable: 3 of 3 points" in top
    assert "<script>" not in page


def test_a_run_without_numbers_has_a_page_that_says_so(tmp_path: Path) -> None:
    launcher = FakeLauncher(lambda number: Ending.FAILED)
    out = kept(tmp_path / "out", campaign(), launcher)
    page = write_report(out, out).read_text()
    assert "0 of 1 experiments on test gave numbers" in page
    assert "given up" in page


def test_a_simulation_stands_beside_what_was_measured(tmp_path: Path) -> None:
    out = several(tmp_path / "out")
    foretold = tmp_path / "foretold.csv"
    foretold.write_text("metric,unit,size_bytes,median_s\nlatency,s,1,9e-6\nlatency,s,4,2e-5\n")
    done = CliRunner().invoke(app, ["report", str(out), "--simulation", str(foretold)])
    assert done.exit_code == 0, done.output
    found = load_benchmarks(out, foretold)
    assert found.simulation is not None
    assert found.simulation["median"].to_list() == [9e-6, 2e-5]
    figure = latency.exhibit(found)
    assert figure is not None and figure.figure is not None
    labels = [one.get_label() for one in figure.figure.axes[0].lines]
    assert "simulated" in labels


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "metric,unit,size_bytes\nlatency,s,1\n"])
def test_a_table_that_is_no_simulation_is_refused(tmp_path: Path, text: str) -> None:
    out = several(tmp_path / "out")
    (tmp_path / "odd.csv").write_text(text)
    done = CliRunner().invoke(app, ["report", str(out), "--simulation", str(tmp_path / "odd.csv")])
    assert (done.exit_code, "odd.csv" in done.stderr) == (2, True)


def test_results_that_are_damaged_are_refused(tmp_path: Path) -> None:
    out = several(tmp_path / "out")
    (out / "points.parquet").write_bytes(b"PAR1")
    done = CliRunner().invoke(app, ["report", str(out)])
    assert (done.exit_code, "points.parquet" in done.stderr) == (2, True)
    (out / "benchmarks.json").write_text("[]")
    assert CliRunner().invoke(app, ["report", str(out)]).exit_code == 2
    assert polars.read_csv(out / "points.csv").height > 0
