"""Snapshots and telemetry of every host of a run: in namespaces, behind ssh, and where it fails."""

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import polars
import pytest

from etherweave.bench.campaigns.campaign import Campaign, CampaignOptions, Network, experiments
from etherweave.bench.campaigns.points import JudgedLaunch, judged_launches
from etherweave.bench.campaigns.runner import RunObserver, launch_until_decided
from etherweave.bench.campaigns.store import Store, StoreError
from etherweave.bench.environment.findings import Severity
from etherweave.bench.environment.inspections import (
    HostInspection,
    captured,
    inspect_hosts,
    inspection_findings,
)
from etherweave.bench.environment.readers import take
from etherweave.bench.environment.snapshot import FORMAT, NetworkInterface, Snapshot
from etherweave.bench.launchers import Ending, LaunchJob, monitors, processes
from etherweave.bench.launchers.launcher import LaunchOutcome, Monitor
from etherweave.bench.launchers.monitors import MonitorOutput, MonitorTimes, monitor_outputs
from etherweave.bench.launchers.registry import launcher
from etherweave.bench.programs.plans import BenchmarkCommand, Start
from etherweave.bench.site.reading import site as read_site
from etherweave.bench.site.values import ClusterSite, Option, SiteHost
from etherweave.bench.statistics.launches import StoppingRule
from etherweave.bench.telemetry.epochs import Offset, epochs, keep, offset, recorder
from etherweave.bench.telemetry.link_traffic import findings
from etherweave.bench.telemetry.recorder import Recording
from etherweave.bench.telemetry.stream import Stream, stream
from support import command_line
from support.launches import FakeLauncher

AMOUNT = 20_000_000  # That the client of these tests sends [bytes].
RATE = 1e9 / 8  # Rate of each link [bytes/s].
HEADERS = 1514 / 1448
"""Frames of 1500 B and Ethernet's header carry 1448 B of TCP with time stamps."""
QUICK = recorder(sys.executable, 0.1)
FAKE_SSH = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
[ "$2" != gone ] || {{ echo "ssh: connect to host gone: no route" >&2; exit 255; }}
shift 2
exec sh -c "$*"
"""


@pytest.fixture
def by_ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., ClusterSite]:
    """Make sites whose ssh is a script that does what sshd would; nobody is at ``gone``."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "ssh").write_text(FAKE_SSH.format())
    (folder / "ssh").chmod(0o700)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    def site(*addresses: str, **options: Option) -> ClusterSite:
        hosts = (SiteHost(f"n{at}", address, "lo") for at, address in enumerate(addresses, 1))
        return ClusterSite("remote", "ssh", tuple(hosts), options)

    return site


def alone(*words: str) -> BenchmarkCommand:
    return BenchmarkCommand(Start.ALONE, words)


def launch(
    directory: Path, site: ClusterSite, *monitors: Monitor, command: BenchmarkCommand
) -> LaunchOutcome:
    job = LaunchJob(
        command, tuple(host.name for host in site.hosts), 1, directory, 20.0, monitors=monitors
    )
    directory.mkdir(exist_ok=True)
    return launcher(site).launch(job)


def left(directory: Path, site: ClusterSite, name: str) -> list[MonitorOutput]:
    names = tuple(host.name for host in site.hosts)
    return monitor_outputs(LaunchJob(alone("true"), names, 1, directory, 20.0), name)


# Monitors


STAND_BY = """
import sys, time
print("ready", *sys.argv[1:], flush=True)
sys.stdin.read()
print("input ended")
"""


def test_monitors_run_around_a_command(by_ssh: Callable[..., ClusterSite], tmp_path: Path) -> None:
    site = by_ssh("127.0.0.1", "127.0.0.2")
    words = (sys.executable, "-c", STAND_BY, "{host} {interface} {server} {odd}")
    directory = tmp_path / "job"
    peek = alone("cat", *(str(directory / f"beside-{host}.out") for host in ("n1", "n2")))
    done = launch(directory, site, Monitor("beside", words), command=peek)
    assert (done.ending, done.text.splitlines()) == (
        Ending.DONE,
        ["ready n1 lo 127.0.0.1 {odd}", "ready n2 lo 127.0.0.1 {odd}"],
    )
    for output in left(directory, site, "beside"):
        assert output.text.endswith("input ended\n")
        at = output.times
        assert at.ready_ns and at.closed_ns and at.ended_ns
        assert at.started_ns < at.ready_ns < at.closed_ns < at.ended_ns
        assert (at.interface, at.status) == ("lo", 0)


def test_a_lost_monitor_affects_no_job(by_ssh: Callable[..., ClusterSite], tmp_path: Path) -> None:
    site = by_ssh("127.0.0.1", "gone")
    directory = tmp_path / "job"
    dies = Monitor("dies", ("sh", "-c", "echo alas >&2; exit 3"))
    missing_programs = Monitor("lacks", ("/no/such/program",))
    done = launch(directory, site, dies, missing_programs, command=alone("echo", "well"))
    assert (done.ending, done.text) == (Ending.DONE, "well\n")
    first, second = left(directory, site, "dies")
    assert (first.times.status, first.reason) == (3, "alas")
    assert (second.times.status, second.reason) == (255, "ssh: connect to host gone: no route")
    assert "/no/such/program" in left(directory, site, "lacks")[0].reason


def test_the_limit_of_a_launch_begins_when_its_monitors_are_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments, await_ready = [0.0], monitors._await
    hour_s = 3600.0

    def await_for_an_hour(running: Sequence[monitors._RunningMonitor]) -> None:
        await_ready(running)
        moments.append(moments[-1] + hour_s)

    monkeypatch.setattr(monitors, "_await", await_for_an_hour)
    monkeypatch.setattr(processes, "time", SimpleNamespace(monotonic=lambda: moments[-1]))
    site = ClusterSite("here", "local", (SiteHost("n1", "n1"),))
    beside = Monitor("beside", (sys.executable, "-c", STAND_BY))
    job = LaunchJob(alone("true"), ("n1",), 1, tmp_path, hour_s / 2, monitors=(beside,))
    assert launcher(site).launch(job).ending is Ending.DONE
    assert moments == [0, hour_s]


def test_monitors_of_a_launch_that_is_ended_leave_their_output(tmp_path: Path) -> None:
    site = ClusterSite("here", "local", (SiteHost("n1", "n1"),))
    words = (sys.executable, "-c", STAND_BY)
    job = LaunchJob(
        alone("sleep", "60"), ("n1",), 1, tmp_path, 0.5, monitors=(Monitor("beside", words),)
    )
    assert launcher(site).launch(job).ending is Ending.TIMED_OUT
    (monitor_output,) = monitor_outputs(job, "beside")
    assert monitor_output.text == "ready\ninput ended\n"


def test_every_launcher_takes_the_path_of_a_python_with_etherweave() -> None:
    text = 'launcher = {{ kind = "{}", python = "/opt/python" }}\nhosts = {{ n1 = {{}} }}\n'
    for kind in ("local", "ssh", "mpirun", "srun", "sbatch", "netns"):
        assert read_site(text.format(kind), "x").text("python", "") == "/opt/python"


# Looks


def test_a_sites_python_looks_at_hosts(by_ssh: Callable[..., ClusterSite], tmp_path: Path) -> None:
    views = looked(tmp_path, by_ssh("127.0.0.1", "127.0.0.2"), sys.executable)
    assert [(inspection.host, inspection.interface, inspection.reason) for inspection in views] == [
        ("n1", "lo", ""),
        ("n2", "lo", ""),
    ]
    for inspection in views:
        assert inspection.snapshot and set(inspection.snapshot.interfaces) == {"lo"}
        assert inspection.snapshot.host == inspection.host


def looked(directory: Path, site: ClusterSite, python: str) -> list[HostInspection]:
    home = directory / "look"
    home.mkdir()
    return inspect_hosts(launcher(site), "lan", [host.name for host in site.hosts], python, home)


def test_without_etherweave_files_are_read_and_the_unreachable_are_gaps(
    by_ssh: Callable[..., ClusterSite], tmp_path: Path
) -> None:
    first, second = looked(tmp_path, by_ssh("127.0.0.1", "gone"), "/no/python")
    here = take(interfaces=["lo"])
    assert first.snapshot
    assert (first.snapshot.boot, first.snapshot.kernel) == (here.boot, here.kernel)
    assert first.snapshot.tcp == here.tcp
    assert first.snapshot.interfaces["lo"].mtu == here.interfaces["lo"].mtu
    assert first.snapshot.interfaces["lo"].counters.keys() == here.interfaces["lo"].counters.keys()
    assert (second.snapshot, second.reason) == (None, "ssh: connect to host gone: no route")
    gaps = {
        row.where: row.what for row in inspection_findings([first, second]) if row.check == "host"
    }
    assert gaps["n1"].startswith("could not be inspected in full: only files were read: ")
    assert "/no/python" in gaps["n1"]
    assert gaps["n2"] == "could not be inspected: ssh: connect to host gone: no route"


def test_a_capture_stays_below_its_directory() -> None:
    lines = [
        "/proc/sys/kernel/random/boot_id\0b1",
        "/proc/sys/kernel/hostname\0n1",
        "/proc/../../tmp/evil\0x",
        "/etc/passwd\0x",
        "proc/relative\0x",
        "/proc/sys/kernel/hostname/below\0a file is no directory",
        "/proc/" + "x" * 5000 + "\0too long",
        "no zero octet",
    ]
    seen = captured("\n".join(lines), "")
    assert (seen.host, seen.boot, seen.interfaces) == ("n1", "b1", {})
    assert not Path("/tmp/evil").exists()
    with pytest.raises(ValueError, match="no files of a host"):
        captured("garbage", "lo")


def view(host: str, interface: str = "eth0", **values: int | float) -> HostInspection:
    card = NetworkInterface(state="up", **values)  # type: ignore[arg-type]
    seen = Snapshot(FORMAT, host, f"boot of {host}", 1.0, interfaces={interface: card})
    return HostInspection(host, "lan", interface, seen, "")


def test_tested_interfaces_are_compared_whatever_their_names() -> None:
    views = [view("n1", mtu=9000), view("n2", mtu=9000), view("n3", "p3p2", mtu=1500)]
    reported = [(row.where, row.what) for row in inspection_findings(views) if row.check == "mtu"]
    assert reported == [("n1 eth0", "MTU 9000; n3 has 1500"), ("n2 eth0", "MTU 9000; n3 has 1500")]


def test_hosts_on_different_fabrics_are_not_compared() -> None:
    other = replace(view("n2", mtu=1500), fabric="slow")
    assert [
        row for row in inspection_findings([view("n1", mtu=9000), other]) if row.check == "mtu"
    ] == []


# Telemetry


def test_clocks_are_bound_by_what_must_have_come_before_what() -> None:
    """A clock that is 5 s ahead; the recorder took 2 s to start, and 0.1 s to end."""
    ahead, second = 5.0, 1_000_000_000
    stood = MonitorTimes("n1", "eth0", 0, 2 * second, 10 * second, round(10.1 * second), 0)
    recorded = Stream(
        Recording("r", "n1", 1.0, (), 0, 0.0),
        Snapshot(FORMAT, "n1", "b", 1.9 + ahead),
        Snapshot(FORMAT, "n1", "b", 10.05 + ahead),
    )
    bounds = offset(recorded, stood)
    assert bounds == Offset(round((ahead - 0.05) * second), round((ahead + 0.05) * second))
    assert offset(replace(recorded, after=None), stood) == Offset(
        round((ahead - 0.1) * second), round((ahead + 1.9) * second)
    )
    assert offset(replace(recorded, after=Snapshot(FORMAT, "n1", "b", 3.0)), stood) is None


def carried(store: Store, site: ClusterSite, monitor: Monitor = QUICK) -> list[JudgedLaunch]:
    """Carry a campaign out; what its benchmark says is judged."""
    observer = RunObserver(monitors=(monitor,), keep=keep)
    assert launch_until_decided(store, {"lan": launcher(site)}, 1, observer, 30.0)
    return judged_launches(store.campaign, store.records())


def sending(directory: Path, hosts: tuple[str, ...]) -> Store:
    """Make a campaign of a warm-up and one launch in which iperf3 sends 20 MB."""
    network = Network("lan", "TCP", RATE, interface="h0")
    (plan,) = experiments(["iperf3"], [network], CampaignOptions(hosts))
    client = ("iperf3", "-c", "{server}", "-p", "{port}", "-n", str(AMOUNT), "-J")
    quick = replace(plan, arguments=client, bytes=float(AMOUNT), seconds=AMOUNT / RATE)
    rule = StoppingRule(launches_min=1, launches_max=1)
    return Store.create(directory, Campaign("test", (network,), (quick,), rule))


def spaces(*names: str) -> ClusterSite:
    hosts = tuple(SiteHost(name, name) for name in names)
    return ClusterSite("namespaces", "netns", hosts, {"rate": RATE, "burst": 131_072.0})


@pytest.mark.slow
@pytest.mark.needs("namespaces", "iperf3")
def test_both_hosts_of_a_launch_count_what_crossed_their_link(tmp_path: Path) -> None:
    store = sending(tmp_path / "out", ("n1", "n2"))
    launches = carried(store, spaces("n1", "n2"))
    assert [run.verdict.problems for run in launches] == [(), ()]
    for run in launches:
        # The client is the last host.
        taken = counted(store, run, "n1", "received_bytes")
        sent = counted(store, run, "n2", "sent_bytes")
        # What is on its way when the client ends, the server does not read.
        said = json.loads(run.record.text)["end"]
        assert said["sum_received"]["bytes"] <= taken <= 1.01 * HEADERS * said["sum_sent"]["bytes"]
        assert taken == pytest.approx(sent, rel=0.01)
    assert [row for row in findings(launches, epochs(store)) if row.check == CROSSING] == []
    for epoch in epochs(store):
        assert (epoch.interface, epoch.failure) == ("h0", "")
        assert epoch.cost is not None and 0 < epoch.cost < 0.5
        # Both hosts are this machine.
        assert epoch.offset and epoch.offset.low_ns <= 0 <= epoch.offset.high_ns


def counted(store: Store, judged_launch: JudgedLaunch, host: str, counter: str) -> int:
    """Return by how much a counter of the only interface rose, from its table."""
    table = store.telemetry(judged_launch.record.name) / host / "telemetry_interface.parquet"
    values: list[int] = polars.read_parquet(table)[counter].to_list()
    return values[-1] - values[0]


CROSSING = "wrong interface"


@pytest.mark.slow
@pytest.mark.needs("namespaces", "iperf3")
def test_traffic_over_the_loopback_is_reported(tmp_path: Path) -> None:
    store = sending(tmp_path / "out", ("n1", "n1"))
    launches = carried(store, spaces("n1"))
    (reported,) = [row for row in findings(launches, epochs(store)) if row.check == CROSSING]
    assert (reported.severity, reported.where) == (Severity.WARNING, "n1 h0, iperf3")
    assert "bytes crossed it, at least" in reported.what
    assert "; lo carried " in reported.what
    assert reported.what.endswith(" (in 2 launches)")


@pytest.mark.needs("namespaces")
def test_the_verb_looks_at_every_namespace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "site.toml").write_text(
        'launcher = { kind = "netns" }\nhosts = { n1 = {}, n2 = {} }\n'
    )
    words = ["bench", "environment", "--site", "site.toml"]
    done = command_line.invoke(*words, "--json", code=1)
    # A shaped link is a warning.
    seen = json.loads(done.stdout)
    assert [(host["host"], host["interface"]) for host in seen["hosts"]] == [
        ("n1", "h0"),
        ("n2", "h0"),
    ]
    shaped = {finding["where"] for finding in seen["findings"] if finding["check"] == "qdisc"}
    assert shaped == {"n1 h0", "n2 h0"}
    assert [host["before"]["paths"]["10.213.0.1"]["passes"] for host in seen["hosts"]] == [True] * 2
    assert [path.name for path in tmp_path.iterdir()] == ["site.toml"]
    assert command_line.invoke(*words, "--to", "n2").exit_code == 2


@pytest.mark.needs("slurm")
@pytest.mark.usefixtures("slurm")
def test_steps_of_slurm_stand_by_on_every_node(tmp_path: Path) -> None:
    for kind in ("srun", "sbatch"):
        hosts = tuple(SiteHost(name, "127.0.0.1", "lo") for name in ("n1", "n3"))
        site = ClusterSite("slurm", kind, hosts, {"mpi": "none"})
        directory = tmp_path / kind
        done = launch(directory, site, QUICK, command=alone("sleep", "0.5"))
        assert done.ending is Ending.DONE, done.errors
        recorded = [stream(output.text) for output in left(directory, site, QUICK.name)]
        assert [record.recording.host for record in recorded] == ["n1", "n3"]
        for record in recorded:
            assert record.after, "it was asked to end, and not killed"
            assert record.recording.duration_s >= 0.5


SAMPLE: dict[str, list[str]] = {
    "processor": [],
    "interface": [],
    "priority": [],
    "rdma": [],
    "energy": [],
}


def test_a_run_goes_on_without_recorder(by_ssh: Callable[..., ClusterSite], tmp_path: Path) -> None:
    """On the first host a recorder writes a sample and half of another, and dies; nobody is at the
    second.
    """
    before = Snapshot(FORMAT, "n1", "b", 1.0).facts()
    first = {"format": 1, "run": "", "host": "n1", "period_s": 1.0, "snapshot": before}
    lines = [json.dumps(first), json.dumps({"time_ns": 1, "rows": SAMPLE}), '{"time_ns": 2, "ro']
    (tmp_path / "lines").write_text("\n".join(lines))
    dies = replace(QUICK, words=("sh", "-c", f"cat {tmp_path}/lines; exit 1"))
    store, launches = hosted(tmp_path, by_ssh("127.0.0.1", "gone"), dies)
    assert [run.record.ending for run in launches] == ["done", "done"]
    reported = findings(launches, epochs(store))
    assert [(entry.severity, entry.where, entry.what) for entry in reported] == [
        (Severity.GAP, "n1", "not recorded: ended before its input did (in 2 launches)"),
        (Severity.GAP, "n2", "not recorded: ssh: connect to host gone: no route (in 2 launches)"),
    ]
    kept = {epoch.host: epoch for epoch in epochs(store)}
    assert (kept["n1"].samples, kept["n1"].cost, kept["n2"].samples) == (1, None, 0)


def hosted(
    directory: Path, site: ClusterSite, monitor: Monitor
) -> tuple[Store, list[JudgedLaunch]]:
    """Carry out a command on the first of two hosts that is no benchmark."""
    network = Network("lan")
    (plan,) = experiments(["iperf3"], [network], CampaignOptions(("n1", "n2")))
    echo = replace(plan, start="alone", arguments=("true",), server=())
    rule = StoppingRule(launches_min=1, launches_max=1)
    store = Store.create(directory / "out", Campaign("t", (network,), (echo,), rule))
    return store, carried(store, site, monitor)


def test_lacking_recorders_are_gaps(by_ssh: Callable[..., ClusterSite], tmp_path: Path) -> None:
    store, launches = hosted(tmp_path, by_ssh("127.0.0.1", "127.0.0.2"), recorder("/no/python"))
    reported = findings(launches, epochs(store))
    assert [entry.where for entry in reported] == ["n1", "n2"]
    assert all(entry.severity is Severity.GAP and "/no/python" in entry.what for entry in reported)


def test_a_launch_without_output_of_recorders_is_a_gap_of_each_host(tmp_path: Path) -> None:
    store = sending(tmp_path / "out", ("n1", "n2"))
    fake = FakeLauncher(lambda number: Ending.FAILED)
    launch_until_decided(store, {"lan": fake}, 1, RunObserver(monitors=(QUICK,), keep=keep))
    reported = findings(judged_launches(store.campaign, store.records()), epochs(store))
    said = "not recorded: the launch ended without output of its recorder"
    assert {(entry.where, entry.what.startswith(said)) for entry in reported} == {
        ("n1", True),
        ("n2", True),
    }
    assert fake.jobs[0].monitors == (QUICK,)


def test_a_look_that_the_user_ends_ends_the_run(tmp_path: Path) -> None:
    class Interrupted(FakeLauncher):
        def launch(self, job: LaunchJob) -> LaunchOutcome:
            return replace(super().launch(job), ending=Ending.INTERRUPTED)

    with pytest.raises(KeyboardInterrupt):
        inspect_hosts(Interrupted(lambda number: ""), "lan", ["n1"], "python", tmp_path)


def test_a_damaged_epoch_is_reported_with_its_path(tmp_path: Path) -> None:
    store = sending(tmp_path / "out", ("n1", "n2"))
    path = store.telemetry("x") / "n1" / "epoch.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"run": 3}')
    with pytest.raises(StoreError, match=r"n1/epoch\.json: .*; expected what `bench run` keeps"):
        list(epochs(store))
