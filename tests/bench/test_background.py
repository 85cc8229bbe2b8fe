"""Programs that load the network beside the launches of a benchmark."""

import json
import sys
import time
from pathlib import Path

import pytest

from etherweave.bench.campaign import CampaignOptions, Network, experiments
from etherweave.bench.launchers.launcher import Ending, LaunchJob, LaunchOutcome
from etherweave.bench.launchers.registry import launcher
from etherweave.bench.plans import BenchmarkCommand, BenchmarkPlanError, Start
from etherweave.bench.site.values import this_machine
from support import command_line

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
    done = command_line.run("bench", "run", "iperf3", "-o", tmp_path / "out", *words, *more, code=0)
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


def test_a_program_that_ends_by_itself_is_refused_with_its_time() -> None:
    with pytest.raises(
        BenchmarkPlanError, match=r"background osu_bw: ends after .* such as iperf3"
    ):
        planned("osu_bw")


def test_an_experiment_without_background_is_the_same_as_before() -> None:
    options = CampaignOptions(("n1", "n2"), seconds=3)
    loaded = CampaignOptions(("n1", "n2"), seconds=3, background=("iperf3",))
    names = [
        experiments(["iperf3"], [Network("tcp")], variant)[0].name for variant in (options, loaded)
    ]
    assert names[0] != names[1]


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
