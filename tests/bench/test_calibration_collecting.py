"""Measurements of a calibration on a site: planned before, launched in rounds, resumed."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow
import pytest
from typer.testing import Result as Ended

import etherweave
from etherweave.api.results import Result
from etherweave.bench.calibration import CalibrationError, collecting, inference, plans, population
from etherweave.bench.calibration.collecting import WORKLOADS_FILE, collect
from etherweave.bench.calibration.micro_benchmarks import MicroBenchmark
from etherweave.bench.calibration.plans import MeasuringHosts, PlannedWorkload, amount, plan
from etherweave.bench.measure import MeasureError, MeasureLimits
from etherweave.bench.site.values import ClusterSite, SiteHost
from etherweave.bench.statistics.launches import shuffled
from etherweave.cli import progress
from support import command_line
from support.measured_results import measurement

FFT = {"fft": {"pex": 2, "pey": 2, "pez": 1, "iterations": 3}}


@pytest.fixture(autouse=True)
def on_any_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seat ranks without any launcher, on hosts with links of 1 Gb/s."""
    rank_placement = SimpleNamespace(processors=None, rate_bps=1e9)
    monkeypatch.setattr(plans, "of_site", lambda *words: rank_placement)


def hosts(
    count: int = 4, limits: MeasureLimits | None = None, address: str = "10.0.0.1"
) -> MeasuringHosts:
    names = tuple(f"n{number}" for number in range(count))
    site = ClusterSite("pretended", "ssh", tuple(SiteHost(name, address) for name in names))
    return MeasuringHosts(site, None, names, limits or MeasureLimits())


def base(*jobs: Mapping[str, object], **more: object) -> dict[str, Any]:
    return {
        "topology": {"single_switch": {"hosts": 8}},
        "transport": {"tcp": {}},
        "job": [dict(job) for job in jobs],
        **more,
    }


def job(name: str = "fft", **more: object) -> dict[str, object]:
    return {"name": name, "workload": FFT, **more}


def planned(*jobs: Mapping[str, object], count: int = 4, **more: object) -> list[PlannedWorkload]:
    return list(plan(base(*jobs, **more), hosts(count)))


def one(workloads: list[PlannedWorkload], name: str) -> PlannedWorkload:
    (result,) = (workload for workload in workloads if workload.name == name)
    return result


def test_a_job_is_measured_alone_whatever_else_the_scenario_has() -> None:
    asked = one(planned(job(background=True), job("b"), run={"end": "1us"}), "fft")
    assert asked.scenario["job"] == [{"name": "fft", "workload": FFT}]
    assert "run" not in asked.scenario
    assert asked.hosts == ("n0", "n1", "n2", "n3")


def test_ranks_run_on_the_hosts_that_replace_those_of_the_scenario() -> None:
    asked = one(planned(job(placement={"hosts": [3, 1, 0, 2]})), "fft")
    assert asked.hosts == ("n3", "n1", "n0", "n2")
    with pytest.raises(CalibrationError, match="fft: rank 3 is on host7; expected one of host0"):
        planned(job(placement={"hosts": [3, 1, 0, 7]}))


def test_micro_benchmarks_have_the_priority_of_the_first_job() -> None:
    jobs: Any = one(planned(job(priority=3)), "osu_latency-8").scenario["job"]
    assert [benchmark["priority"] for benchmark in jobs] == [3]


def test_a_workload_that_cannot_be_measured_is_rejected_before_the_first_launch() -> None:
    def refused(what: str, *jobs: Mapping[str, object], count: int = 4) -> None:
        with pytest.raises(CalibrationError, match=what):
            planned(*jobs, count=count)

    refused("1 host takes part; expected at least 2", job(), count=1)
    refused("fft: rank 3 is on host3; expected one of host0, host1, host2", job(), count=3)
    sixteen = {"fft": {"pex": 4, "pey": 4, "pez": 1}}
    refused(
        "b, alone and without run.end.*16 ranks; expected at most 8", job("b", workload=sixteen)
    )
    endless = {"incast": {"sources": 3}}
    refused("b, alone and without run.end.*the streams of incast have none",
            job(), job("b", workload=endless))  # fmt: skip
    refused("job osu_bw-64: a micro-benchmark has that name", job("osu_bw-64"))
    refused("incast-8-65536, alone.*9 ranks; expected at most 8", job(), count=9)


def test_the_sum_of_all_launches_is_compared_with_the_limits() -> None:
    asked = plan(base(job()), hosts())
    total = amount(asked, 6, MeasureLimits())
    assert total.seconds == pytest.approx(6 * sum(scenario.expected.seconds for scenario in asked))
    # Alone an incast of three sources sends 3 times 16 MiB.
    assert one(list(asked), "incast-3-65536").expected.gigabytes == pytest.approx(3 * 2**24 / 1e9)
    with pytest.raises(MeasureError, match=r"6 launches send about .*at most 0\.1 GB"):
        amount(asked, 6, MeasureLimits(gigabytes=0.1))
    with pytest.raises(MeasureError, match=r"^fft: a launch takes about .*at most 2\.5 s"):
        slow = {"fft": {**FFT["fft"], "x_bytes": "50MB"}}
        plan(base(job(workload=slow)), hosts(limits=MeasureLimits(seconds=2.5)))


@pytest.mark.parametrize("name", ["..a b", "a b", "...", "x" * 199, "\N{SNOWMAN}"])
def test_no_name_of_a_job_leaves_the_directory(name: str) -> None:
    asked = one(planned(job(name)), name)
    assert len(Path(asked.directory).parts) == 1 and len(asked.directory) < 80
    assert asked.directory != one(planned(job(f"{name}!")), f"{name}!").directory


class Cluster:
    """Simulate instead of measuring, and stop after a given number of launches."""

    def __init__(self, *, stop_after: int | None = None) -> None:
        self.launched: list[str] = []
        self.stop_after = stop_after

    def __call__(self, scenario: Mapping[str, Any], **words: object) -> Result:
        if len(self.launched) == self.stop_after:
            raise KeyboardInterrupt
        self.launched.append(str(scenario["job"][0]["name"]))
        result = etherweave.run(scenario)
        tables = {name: _numbered(result.tables[name]) for name in ("iterations", "streams")}
        summary: Any = {**result.summary, "measured": measurement(launches=1)}
        return replace(result, tables=tables, summary=summary)


def _numbered(table: pyarrow.Table) -> pyarrow.Table:
    """Add the number of the launch, as a measurement has it."""
    return table.append_column("launch", pyarrow.array([0] * len(table), pyarrow.uint64()))


Pretend = Callable[[Cluster], Cluster]


@pytest.fixture
def pretend(monkeypatch: pytest.MonkeyPatch) -> Pretend:
    def to_measure(cluster: Cluster) -> Cluster:
        monkeypatch.setattr(collecting, "measure", cluster)
        return cluster

    return to_measure


def few() -> list[PlannedWorkload]:
    """Three workloads that are simulated at once."""
    asked = planned(job(), job("a b"))
    return [one(asked, name) for name in ("osu_latency-8", "fft", "a b")]


def silent(done: int, count: int, last: str) -> None:
    """Report nobody."""


def test_a_collection_goes_on_with_the_missing_launches(pretend: Pretend, tmp_path: Path) -> None:
    names = [workload.name for workload in few()]
    experiment = [launch.experiment for launch in shuffled(names, 3, seed=0)]
    first = pretend(Cluster(stop_after=4))
    with pytest.raises(KeyboardInterrupt):
        collect(few(), 3, hosts(), tmp_path, silent)
    second = pretend(Cluster())
    own = collect(few(), 3, hosts(), tmp_path, silent)
    assert first.launched == experiment[:4]
    assert second.launched == experiment[4:]
    assert [(job.name, len(job.launches)) for job in own] == [(name, 3) for name in names]
    # More launches of the same: rounds that are there stand.
    third = pretend(Cluster())
    collect(few(), 4, hosts(), tmp_path, silent)
    assert sorted(third.launched) == sorted(names)


def test_launches_of_other_workloads_are_rejected(pretend: Pretend, tmp_path: Path) -> None:
    pretend(Cluster())
    collect(few(), 1, hosts(), tmp_path, silent)
    for other in (few()[:2], plan(base(job(priority=1)), hosts())):
        with pytest.raises(CalibrationError, match="contains launches of other workloads"):
            collect(other, 1, hosts(), tmp_path, silent)
    with pytest.raises(CalibrationError, match="contains launches of other workloads"):
        collect(few(), 1, hosts(address="10.0.0.2"), tmp_path, silent)
    (tmp_path / WORKLOADS_FILE).write_text('"torn')
    with pytest.raises(CalibrationError, match="expected a new directory"):
        collect(few(), 1, hosts(), tmp_path, silent)


def test_a_damaged_launch_is_an_error(pretend: Pretend, tmp_path: Path) -> None:
    pretend(Cluster())
    collect(few(), 1, hosts(), tmp_path, silent)
    table = tmp_path / "fft.0" / "iterations.parquet"
    table.write_bytes(table.read_bytes()[:100])
    with pytest.raises(CalibrationError, match=r"fft\.0.*expected a whole result"):
        collect(few(), 1, hosts(), tmp_path, silent)


SITE = """
name = "pretended"
launcher = { kind = "ssh" }
hosts = { n1 = {}, n2 = {}, n3 = {}, n4 = {} }
"""
SCENARIO = """
[topology.single_switch]
hosts = 4
[transport.tcp]
[[job]]
name = "[bold]..fft"
workload.fft = { pex = 2, pey = 2, pez = 1, iterations = 3, x_bytes = "1kB", y_bytes = "1kB" }
"""


def invoke(place: Path, *words: str, columns: int = 120, code: int = 0) -> Ended:
    (place / "site.toml").write_text(SITE)
    (place / "base.toml").write_text(SCENARIO)
    files = (place / "base.toml", "--site", place / "site.toml", "-o", place / "out")
    words = ("--launches", "1", *words)
    return command_line.invoke("calibrate", *files, *words, columns=columns, code=code)


def test_a_scenario_that_is_missing_or_empty_is_named(tmp_path: Path) -> None:
    file = tmp_path / "fabric.toml"
    for expected in ("No such file", "empty; expected a scenario of the fabric"):
        done = command_line.invoke("calibrate", str(file), code=2)
        (line,) = done.stderr.splitlines()
        assert line.startswith(str(file)) and expected in line
        file.write_text("\n")


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the usual micro-benchmarks by some that are simulated at once."""
    sizes = [
        MicroBenchmark(
            f"osu_latency-{size}", {"osu_latency": {"bytes": f"{size}B", "iterations": 5}}
        )
        for size in (8, 1024, 8192)
    ]
    incast = {"sources": 3, "message": "64KiB", "outstanding": 1, "messages": 4}
    usual = (*sizes, MicroBenchmark("incast-3", {"incast": incast}))
    monkeypatch.setattr(inference, "WAVES_MAX", 1)
    monkeypatch.setattr(population, "PER_DIMENSION", 100)
    monkeypatch.setattr(plans, "micro_benchmarks", lambda hosts, transport: usual)


COMPARED = {
    "name", "is_held_out", "launches", "measured_s", "measured_low_s", "measured_high_s",
    "predicted_s", "predicted_low_s", "predicted_high_s", "measured_median_s", "predicted_median_s",
    "error", "error_of_median", "is_covered",
    "launches_s", "predicted_iterations_s", "test", "size_bytes", "window",
}  # fmt: skip
INFERRED = {
    "key", "meaning", "unit", "before", "prior_low", "prior_high", "value", "low", "high", "width",
    "is_determined", "together_with",
}  # fmt: skip


@pytest.mark.usefixtures("short")
def test_standard_output_is_json_with_the_keys_of_scripts(pretend: Pretend, tmp_path: Path) -> None:
    pretend(Cluster())
    done = invoke(tmp_path, "--json")
    document = json.loads(done.stdout)
    assert set(document) == {
        "constants",
        "choices",
        "directions",
        "misfit",
        "simulations",
        "effective",
        "emulator_error",
        "warnings",
        "micro_benchmarks",
        "held_out",
        "typical_error",
        "typical_error_of_mean",
        "worst_error",
        "covered",
    }
    assert all(set(row) == INFERRED for row in document["constants"])
    assert all(set(row) == COMPARED for row in document["micro_benchmarks"] + document["held_out"])
    # What was "measured" is what the shipped constants predict, which lie in their intervals. The
    # interrupt is most of what they have in common: its value is at the end of its interval, on
    # either side by how a processor rounds.
    before = [row for row in document["constants"] if row["before"] is not None]
    assert [row["key"] for row in document["constants"] if row not in before] == [
        "host.mpi_tcp.poll"
    ], "of no profile"
    outside = {row["key"] for row in before if not row["low"] <= row["before"] <= row["high"]}
    assert len(before) == 8 and outside <= {"host.cpu.interrupt"}
    assert document["covered"] == len(document["held_out"]) == 1
    assert json.loads((tmp_path / "out" / "calibration.json").read_text()) == document
    assert done.stderr.startswith("launches: 5 (1 of each of 5 workloads), about ")
    assert "inferring" in done.stderr and "inferring" not in done.stdout


@pytest.mark.usefixtures("short")
def test_tables_in_a_pipe_have_no_box_and_names_as_they_are(
    pretend: Pretend, tmp_path: Path
) -> None:
    pretend(Cluster())
    out = invoke(tmp_path, columns=80).stdout
    assert "held out [us]" in out and "posterior" in out
    assert "[bold]..fft" in out
    assert "90 % interval" in out and "…" not in out
    assert not set("┃│─") & set(out)
    (poll,) = (line for line in out.splitlines() if "host.mpi_tcp.poll" in line and " to " in line)
    assert poll.endswith("not known"), "a constant has one line"
    assert not list(tmp_path.glob("fft*")), "a name leaves its directory"


@pytest.mark.usefixtures("short")
def test_inference_reports_its_progress_where_errors_are_redirected(
    pretend: Pretend, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pretend(Cluster())
    monkeypatch.setattr(progress, "LINE_EVERY_S", 0.05)
    done = invoke(tmp_path)
    assert "calibrate: wave 1 of at most 5: " in done.stderr
    assert "calibrate: simulating workloads at 32 draws" in done.stderr
    assert "wave" not in done.stdout


@pytest.mark.usefixtures("short")
def test_ctrl_c_ends_with_130_and_keeps_complete_launches(pretend: Pretend, tmp_path: Path) -> None:
    pretend(Cluster(stop_after=2))
    done = invoke(tmp_path, code=130)
    assert done.stdout == ""
    assert "complete launches are kept" in done.stderr
    assert len(list((tmp_path / "out" / "launches").glob("*/summary.json"))) == 2


def test_limits_are_checked_before_the_first_launch(pretend: Pretend, tmp_path: Path) -> None:
    cluster = pretend(Cluster())
    done = invoke(tmp_path, "--traffic-limit", "1MB", code=2)
    assert (done.stdout, cluster.launched) == ("", [])
    assert "expected at most 0.001 GB (--traffic-limit)" in done.stderr
    assert not (tmp_path / "out" / "launches").exists()
