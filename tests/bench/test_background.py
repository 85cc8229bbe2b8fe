"""Programs that load the network beside the launches of a benchmark."""

import json
import re
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from etherweave.bench.campaigns.campaign import CampaignOptions, Network, experiments
from etherweave.bench.campaigns.comparisons import numbers_of
from etherweave.bench.campaigns.points import point_of
from etherweave.bench.campaigns.store import Store
from etherweave.bench.launchers.launcher import Ending, LaunchJob, LaunchOutcome
from etherweave.bench.launchers.registry import launcher
from etherweave.bench.programs.plans import BenchmarkCommand, BenchmarkPlanError, Start
from etherweave.bench.site.values import this_machine
from etherweave.bench.statistics.launches import StoppingRule
from etherweave.bench.texts.document import parse
from etherweave.measurements.files import RESULTS
from etherweave.pages import write_report
from support import command_line
from support.launches import FakeLauncher, campaign, latencies, stored_campaign

SITE = """
launcher = { kind = "netns", rate = "100Mb/s", burst = "128KiB" }
hosts = { n1 = {}, n2 = {} }
fabrics.tcp = { kind = "tcp", stack = "ucx", rate = "100Mb/s", interface = "h0" }
"""
LIMIT = 12.5e6 * 1448 / 1514
"""Payload of a link [bytes/s]: a frame of 1514 B, which tbf counts, carries 1448 B."""


@pytest.mark.needs("namespaces", "iperf3")
def test_a_benchmark_gets_a_part_of_the_link_beside_the_background(tmp_path: Path) -> None:
    site = tmp_path / "site.toml"
    site.write_text(SITE)
    words = ("--site", site, "--duration", "2s", "--launches", "1", "--json")
    more = ("--background", "iperf3", "--time-limit", "20s", "--no-telemetry")
    done = command_line.invoke(
        "bench", "run", "iperf3", "-o", tmp_path / "out", *words, *more, code=0
    )
    points = json.loads(done.stdout)["points"]
    (rate,) = [
        point["median"]
        for point in points
        if point["metric"] == "bandwidth" and "side=receiver" in point["labels"]
    ]
    # The background has filled the queue first: a new connection gets half of the link only later.
    assert 0 < rate < 0.85 * LIMIT


def planned(*background: str) -> BenchmarkCommand:
    options = CampaignOptions(("n1", "n2"), seconds=3, background=background, launch_s=20.0)
    (experiment,) = experiments(["iperf3"], [Network("tcp")], options)
    (program,) = experiment.background
    return program.command


def test_the_background_lasts_longer_than_a_launch_may() -> None:
    assert " -t 21 " in " ".join(planned("iperf3").arguments)
    assert "-D 21" in " ".join(planned("ib_write_bw").arguments)


@pytest.mark.parametrize("program", ["sleep", "sweep3d"])
def test_a_background_that_cannot_be_planned_is_refused_with_one_that_can(program: str) -> None:
    words = ("bench", "run", "iperf3", "-o", "unused", "--background", program)
    done = command_line.invoke(*words, code=2)
    assert re.match(rf"background: .*{program}.*; expected a program that runs for", done.stderr)


def test_a_program_that_ends_by_itself_is_refused_with_its_time() -> None:
    with pytest.raises(
        BenchmarkPlanError, match=r"background osu_bw: ends after .* such as iperf3"
    ):
        planned("osu_bw")


def test_an_experiment_without_background_is_the_same_as_before() -> None:
    options = CampaignOptions(("n1", "n2"), seconds=3)
    loaded = CampaignOptions(("n1", "n2"), seconds=3, background=("iperf3",))
    names = [experiments(["iperf3"], [Network("tcp")], kind)[0].name for kind in (options, loaded)]
    assert names[0] != names[1]


SIX = StoppingRule(0.5, launches_min=6, launches_max=6)
BOTH = ("alone", "beside")


def _text(text: str, launch: int) -> str:
    return text


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Latencies of an idle network, and ten times as long ones beside iperf3."""
    home = tmp_path_factory.mktemp("results")
    for name, us, background in (("alone", 20.0, ()), ("beside", 200.0, ("iperf3",))):
        wanted, text = campaign(rule=SIX, background=background), latencies(us)
        stored_campaign(home / name, wanted, FakeLauncher(partial(_text, text)))
    return home


def test_points_of_a_loaded_network_are_named_by_the_load(results: Path) -> None:
    names = [{point.labels for point in numbers_of(Store.open(results / name))} for name in BOTH]
    assert names == [{""}, {"background=iperf3"}]


def test_several_programs_of_a_load_are_all_named() -> None:
    (experiment,) = campaign(background=("iperf3", "ib_write_bw")).experiments
    sample = parse(latencies(20.0)).reports[0].measurements[0]
    assert point_of(experiment, sample).labels == "background=iperf3,ib_write_bw"


def test_an_idle_network_is_compared_with_a_loaded_one_on_request_alone(results: Path) -> None:
    words = ("bench", "compare", results / "alone", results / "beside")
    done = command_line.invoke(*words, code=2)
    assert "they differ in background; expected --ignore background" in done.output
    done = command_line.invoke(*words, "--ignore", "background", code=0)
    assert "background=iperf3" in done.output and "3 worse" in done.output


def test_published_figures_do_not_stand_beside_a_loaded_network(results: Path) -> None:
    facts = [json.loads((results / name / RESULTS).read_text()) for name in BOTH]
    bands = [[point["reference"] for point in own["points"]] for own in facts]
    assert any(bands[0]) and not any(bands[1])


@pytest.mark.usefixtures("undrawn_figures")
def test_the_page_says_what_loaded_the_network(tmp_path: Path, results: Path) -> None:
    sentence = "The network was loaded by iperf3 in the background."
    pages = [write_report(results / name, tmp_path / name).read_text() for name in BOTH]
    assert [sentence in page for page in pages] == [False, True]


def beside(directory: Path, background: BenchmarkCommand) -> LaunchOutcome:
    home = directory / "launch"
    home.mkdir()
    command = BenchmarkCommand(Start.ALONE, ("sleep", "0.2"))
    job = LaunchJob(command, ("localhost",), 1, home, 60.0, background=(background,))
    return launcher(this_machine()).launch(job)


def served(*client: str) -> BenchmarkCommand:
    server = (sys.executable, "-m", "http.server", "{port}")
    return BenchmarkCommand(Start.CLIENT_SERVER, client, server)


def test_the_background_begins_before_the_benchmark_and_ends_with_it(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    started = time.monotonic()
    outcome = beside(tmp_path, served("sh", "-c", f"touch {mark}; sleep 3600"))
    assert outcome.ending is Ending.DONE and mark.exists()
    assert outcome.words == ("sleep", "0.2")
    assert time.monotonic() - started < 60


def test_a_background_that_ends_early_fails_the_launch_by_name(tmp_path: Path) -> None:
    outcome = beside(tmp_path, served("sh", "-c", "exit 3"))
    assert outcome.ending is Ending.FAILED
    assert "background sh: ended with 3 before the benchmark did" in outcome.errors


def test_a_background_of_a_single_process_is_refused(tmp_path: Path) -> None:
    outcome = beside(tmp_path, BenchmarkCommand(Start.ALONE, ("sleep", "60")))
    assert "background sleep: started as alone; expected a client with a server" in outcome.errors
