"""The incast of a scenario by iperf3 and ib_write_bw, and simulated from the same file."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import etherweave
from etherweave.api import toml
from etherweave.bench.launchers.launcher import Ending, LaunchJob, LaunchOutcome
from etherweave.bench.launchers.site_launcher import SiteLauncher
from etherweave.bench.measure import MeasureError, MeasureLaunchError, incast
from etherweave.bench.measure.common_time import CommonTime, common_time
from etherweave.bench.measure.incast import measure_incast
from etherweave.bench.measure.launch import IncastProgram
from etherweave.bench.site import reading
from etherweave.bench.site.values import ClusterSite
from support import command_line

RATE = 1e8  # Rate of each link [b/s].
PAYLOAD = RATE / 1e9 * 1448 / 1514
"""Payload of a link: 1448 B of 1500 B and Ethernet's header of 14 B, which tbf counts [Gb/s]."""
SITE = """
launcher = { kind = "netns", rate = "100Mb/s", burst = "128KiB" }
hosts = { n1 = {}, n2 = {}, n3 = {} }
fabrics.tcp = { kind = "tcp", stack = "ucx", rate = "100Mb/s", interface = "h0" }
fabrics.roce = { kind = "roce", stack = "ucx", rate = "100Mb/s", device = "mlx5_0:1" }
"""


def site() -> ClusterSite:
    return reading.site(SITE, "site.toml")


def scenario(priority: int = 0, **incast: Any) -> dict[str, Any]:
    job = {"sources": 2, "streams_per_source": 2, "message": "64KiB", "outstanding": 1}
    return {
        "topology": {"single_switch": {"hosts": 4, "rate": "100Mb/s"}},
        "flow_control": {"none": {}},
        "transport": {"tcp": {}},
        "run": {"end": "400ms", "warm_up": "200ms"},
        "job": [{"name": "incast", "priority": priority, "workload": {"incast": job | incast}}],
    }


def measured(home: Path) -> pl.DataFrame:
    """Measure the streams of the scenario by iperf3 between namespaces."""
    file, place = home / "incast.toml", home / "site.toml"
    file.write_text(toml.document(scenario()))
    place.write_text(SITE)
    words = ("--site", place, "--fabric", "tcp", "--program", "iperf3", "--duration", "3s")
    done = command_line.invoke("measure", file, "-o", home / "measured", *words, code=0)
    assert "clocks" not in done.stdout
    return etherweave.Result.load(home / "measured").to_polars("streams")


@pytest.mark.needs("namespaces", "iperf3")
def test_streams_of_iperf3_are_those_of_the_scenario_on_one_link(tmp_path: Path) -> None:
    streams = measured(tmp_path)
    assert streams["source_host"].to_list() == ["n2", "n2", "n3", "n3"]
    assert set(streams["destination_host"]) == {"n1"}
    assert (streams["goodput_gbps"] > 0).all()
    # An interval has whole blocks of 64 KiB: up to one more of each stream.
    assert streams["goodput_gbps"].sum() < PAYLOAD * 1.002 + 4 * 65536 * 8 / 3 / 1e9


@pytest.mark.alone
@pytest.mark.needs("namespaces", "iperf3")
def test_streams_of_iperf3_fill_the_link_as_simulated_streams_do(tmp_path: Path) -> None:
    """Senders that wait for a processor of a busy machine fill no link."""
    streams = measured(tmp_path)
    simulated = etherweave.run(scenario())
    assert streams["goodput_gbps"].sum() == pytest.approx(PAYLOAD, rel=0.1)
    assert sum(simulated.values("streams", "goodput_gbps")) == pytest.approx(
        streams["goodput_gbps"].sum(), rel=0.15
    )


def replace_launches(
    patch: pytest.MonkeyPatch, outcome: LaunchOutcome, act: Callable[[LaunchJob], object] = id
) -> None:
    """Let launches of sites end with an outcome, after an act."""

    def launch(self: SiteLauncher, job: LaunchJob) -> LaunchOutcome:
        act(job)
        return outcome

    patch.setattr(SiteLauncher, "launch", launch)
    patch.setattr(SiteLauncher, "missing", lambda self: "")


DONE = LaunchOutcome(Ending.DONE, "nothing", "", ("x",), 0, 1)


def commands(monkeypatch: pytest.MonkeyPatch, **more: Any) -> LaunchJob:
    """Measure with a launcher that prints nothing; return what it would have started."""
    jobs: list[LaunchJob] = []
    replace_launches(monkeypatch, DONE, jobs.append)
    fabric = more.pop("fabric", "tcp")
    program = IncastProgram(more.pop("program", "iperf3"))
    place = site()
    with pytest.raises(MeasureLaunchError, match=r"iperf3|ib_write_bw"):
        measure_incast(
            scenario(**more), program=program, site=place, link=place.link(fabric), duration_s=3
        )
    return jobs[0]


def test_a_stream_has_a_client_with_the_scenario_s_message(monkeypatch: pytest.MonkeyPatch) -> None:
    job = commands(monkeypatch, priority=3)
    assert job.hosts == ("n1", "n2", "n3") and job.ranks_per_node == 2
    words = " ".join(job.command.arguments)
    assert "-t 5" in words and "-l 65536" in words, "3 s and 2 s in which others may still run"
    assert words.endswith("-O 4 --get-server-output -S 106"), "code point 26 with ECT(0)"
    assert words.count("-O") == 1 and job.command.server[-1] == "-J"


def printed(start_s: int, rates: list[int], omitted: int = 1) -> str:
    """Print what a client of iperf3 does of its server: an interval of 1 s for each rate [B/s]."""
    intervals = [
        {"sum": {"bytes": rate, "seconds": 1.0, "omitted": at < omitted}}
        for at, rate in enumerate(rates)
    ]
    start = {"timestamp": {"timesecs": start_s}}
    return json.dumps({"server_output_json": {"start": start, "intervals": intervals}}, indent=1)


def test_streams_are_counted_while_all_of_them_run() -> None:
    text = "\n".join([printed(7, [9, 4, 6, 9, 9]), printed(8, [9, 5, 5, 9, 9])])
    assert common_time(text, 2) == CommonTime([5.0, 5.0], 1)
    assert not common_time(text, 2).warnings
    late = common_time("\n".join([text, printed(9, [9, 5, 5])]), 2)
    assert "the starts of the streams are 2 s apart" in late.warnings[0]


def test_streams_without_intervals_of_the_server_are_refused() -> None:
    with pytest.raises(MeasureLaunchError, match="2 intervals of a stream; expected 3 of 1 s"):
        common_time(printed(7, [9, 4, 6]), 3)
    with pytest.raises(MeasureLaunchError, match="the server's intervals are missing"):
        common_time('{"start": {}}', 3)


def test_streams_that_do_not_end_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(job: LaunchJob) -> None:
        for name in ("server0", "server1", "client0"):
            (job.directory / f"{name}.out").write_text("{}" if name == "client0" else "")

    stuck = LaunchOutcome(Ending.TIMED_OUT, "", "", ("x",), 0, 9_000_000_000)
    replace_launches(monkeypatch, stuck, start)
    with pytest.raises(MeasureLaunchError) as refused:
        measure_incast(scenario(), program=IncastProgram.IPERF3, site=site())
    assert str(refused.value) == (
        "no end after 9 s; of 4 servers of iperf3 2 were started, of as many clients 1, and 1 "
        "ended; expected fewer streams_per_source or sources"
    )


def test_sources_share_hosts_where_there_are_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert commands(monkeypatch, sources=3).hosts == ("n1", "n2", "n3", "n2")


def test_rdma_has_the_window_and_the_service_level(monkeypatch: pytest.MonkeyPatch) -> None:
    more = {"fabric": "roce", "program": "ib_write_bw"}
    job = commands(monkeypatch, **more, outstanding=128, priority=3)
    words = " ".join(job.command.arguments)
    assert "-d mlx5_0 -s 65536" in words and "-D 3" in words
    assert words.endswith("-t 128 -S 3 --tclass 106")


def test_streams_beyond_the_link_give_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_launches(monkeypatch, DONE)
    place = site()
    for rate, warnings in ((3e6, 0), (4e6, 1)):  # Each of four streams [B/s].
        together = CommonTime([rate] * 4, 0)
        monkeypatch.setattr(incast, "_rates", lambda *words, together=together: together)
        result = measure_incast(
            scenario(), program=IncastProgram.IPERF3, site=place, link=place.link("tcp")
        )
        assert len(result.summary["warnings"]) == warnings
    assert "0.128 Gb/s arrived by a link of 0.1 Gb/s" in result.summary["warnings"][0]


@pytest.mark.parametrize(
    ("priority", "dscps", "listed"),
    [
        (3, {}, ["incast: priority 3, code point 26"]),
        (3, {3: 46}, ["incast: priority 3, code point 46"]),
        (0, {}, None),
    ],
)
def test_the_result_lists_the_priority_that_packets_carry(
    monkeypatch: pytest.MonkeyPatch, priority: int, dscps: dict[int, int], listed: list[str] | None
) -> None:
    replace_launches(monkeypatch, DONE)
    monkeypatch.setattr(incast, "_rates", lambda *words: CommonTime([3e6] * 4, 0))
    run = measure_incast(scenario(priority), program=IncastProgram.IPERF3, site=site(), dscps=dscps)
    assert run.summary["measured"].get("priorities") == listed


def test_wrong_code_points_are_refused() -> None:
    with pytest.raises(MeasureError, match="DSCP 64: expected 0 to 63"):
        measure_incast(scenario(3), program=IncastProgram.IPERF3, site=site(), dscps={3: 64})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"messages": 4}, r"job\.0\.workload\.incast\.messages: 4; iperf3 sends for a time"),
        ({"message": "2MiB"}, r"incast\.message: 2MiB; iperf3 sends at most 1MiB"),
    ],
)
def test_an_incast_that_no_program_sends_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(MeasureError, match=message):
        measure_incast(scenario(**change), program=IncastProgram.IPERF3, site=site())


def test_other_workloads_and_a_single_host_are_refused() -> None:
    other = scenario() | {"run": {}}
    other["job"][0]["workload"] = {"osu_latency": {"bytes": "8B"}}
    with pytest.raises(MeasureError, match=r"job\.0\.workload: osu_latency among 1 jobs"):
        measure_incast(other, program=IncastProgram.IPERF3, site=site())
    with pytest.raises(MeasureError, match="an incast needs a second host"):
        measure_incast(scenario(), program=IncastProgram.IPERF3, site=site(), hosts=("n1",))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--duration", "3s"],
            "--duration 3s: a schedule over MPI has its own end; expected --pro",
        ),
        (["--program", "iperf3", "--verify"], "--verify: of schedules over MPI, which --program"),
        (
            ["--program", "iperf3", "--ranks", "4", "--warm-up", "2", "--compiler", "cc"],
            "--ranks and --warm-up and --compiler: of schedules over MPI",
        ),
    ],
)
def test_options_without_effect_are_refused(tmp_path: Path, words: list[str], message: str) -> None:
    file, place = tmp_path / "incast.toml", tmp_path / "site.toml"
    file.write_text(toml.document(scenario()))
    place.write_text(SITE)
    words = ["--site", str(place), "--fabric", "tcp", *words]
    assert message in command_line.invoke("measure", file, *words, code=2).output


def test_a_program_needs_a_site(tmp_path: Path) -> None:
    file = tmp_path / "incast.toml"
    file.write_text(toml.document(scenario()))
    done = command_line.invoke("measure", file, "--program", "iperf3", code=2)
    assert "expected --site FILE" in done.output
