"""Real benchmarks between namespaces with links of 100 Mb/s: numbers near what the shape allows."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from etherweave.bench.adapters import ADAPTERS
from etherweave.bench.launchers import namespaces
from etherweave.bench.launchers.launcher import Ending, LaunchJob, LaunchOutcome
from etherweave.bench.launchers.registry import launcher
from etherweave.bench.programs.plans import (
    BenchmarkCommand,
    BenchmarkRequest,
    FabricEstimate,
    Start,
)
from etherweave.bench.site.values import ClusterSite, Option, SiteHost
from etherweave.bench.texts.document import parse
from etherweave.measurements.benchmark_report import BenchmarkReport
from support.waiting import until

pytestmark = pytest.mark.needs("namespaces")

HOSTS = ("n1", "n2", "n3", "n4")
RATE = 12.5e6  # Rate of each link [bytes/s].
BURST = 1024 * 1024
"""That a token bucket has saved when nothing was sent [bytes]: a stall of 84 ms loses no rate, and
3 s of traffic are 2.8 % more than the rate."""
SECONDS = 3.0
TCP_SHARE = 1448 / 1514
"""A frame of 1500 B and Ethernet's header of 14 B, which tbf counts, carries 1448 B: headers of
IPv4 have 20 B, of TCP 20 B and 12 B of time stamps."""
LIMIT = RATE * TCP_SHARE


def site(**options: Option) -> ClusterSite:
    hosts = tuple(SiteHost(name, name) for name in HOSTS)
    return ClusterSite(
        "namespaces", "netns", hosts, {"rate": RATE, "burst": float(BURST)} | options
    )


def launch(
    directory: Path, command: BenchmarkCommand, hosts: tuple[str, ...], **options: Option
) -> LaunchOutcome:
    outcome = launcher(site(**options)).launch(LaunchJob(command, hosts, 1, directory, 90.0))
    assert not own_namespaces()
    return outcome


def own_namespaces() -> list[str]:
    """Return the namespaces that this process made."""
    mine = f"ew-bench.{os.getpid()}."
    listed = subprocess.check_output(["ip", "netns", "list"], text=True).split()
    return [word for word in listed if word.startswith(mine)]


def run(directory: Path, request: BenchmarkRequest, hosts: tuple[str, ...]) -> BenchmarkReport:
    plan = next(kind for kind in ADAPTERS.values() if request.program in kind.programs).plan
    outcome = launch(directory, plan(request, FabricEstimate(RATE)).command, hosts)
    assert outcome.ending is Ending.DONE, outcome.errors
    document = parse(outcome.text)
    assert not document.failures
    (report,) = document.reports
    return report


@pytest.mark.needs("iperf3")
def test_iperf3_receives_what_a_link_of_100_megabits_carries(tmp_path: Path) -> None:
    report = run(tmp_path, BenchmarkRequest("iperf3", seconds=1.0), ("n1", "n2"))
    (rate,) = (
        measurement.value
        for measurement in report.measurements
        if measurement.metric.name == "bandwidth" and dict(measurement.labels)["side"] == "receiver"
    )
    assert rate == pytest.approx(LIMIT, rel=0.05)


@pytest.mark.needs("qperf")
def test_qperf_sends_what_a_link_of_100_megabits_carries(tmp_path: Path) -> None:
    asked = BenchmarkRequest("qperf", seconds=SECONDS, size_min=65536, size_max=65536)
    report = run(tmp_path, asked, ("n3", "n2"))
    values = [row.value for row in report.measurements if row.metric.name == "bandwidth"]
    assert values == [pytest.approx(LIMIT, rel=0.05)]


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(name, marks=pytest.mark.needs(name))
        for name in ("mpirun.openmpi", "mpirun.mpich")
    ],
)
def test_ranks_have_host_names_of_their_own(tmp_path: Path, program: str) -> None:
    command = BenchmarkCommand(Start.MPI, ("hostname",))
    done = launch(tmp_path, command, ("n2", "n4", "n1"), program=program)
    assert done.ending is Ending.DONE, done.errors
    assert sorted(done.text.split()) == ["n1", "n2", "n4"]


def test_hosts_see_their_own_interface_and_each_others_names(tmp_path: Path) -> None:
    look = "ls /sys/class/net; grep -c 10.213. /etc/hosts; hostname"
    done = launch(tmp_path, BenchmarkCommand(Start.ALONE, ("sh", "-c", look)), ("n3",))
    assert set(done.text.split()) >= {"h0", "lo", "4", "n3"}
    assert "eth0" not in done.text.split()


@pytest.mark.parametrize("options", [{}, {"congestion_control": "reno"}])
def test_hosts_use_their_site_s_congestion_control(tmp_path: Path, options: dict[str, str]) -> None:
    look = ("cat", "/proc/sys/net/ipv4/tcp_congestion_control")
    done = launch(tmp_path, BenchmarkCommand(Start.ALONE, look), ("n2",), **options)
    assert done.text.strip() == "reno"


def test_a_shape_that_the_kernel_refuses_is_reported_and_leaves_nothing(tmp_path: Path) -> None:
    failed = launch(tmp_path, BenchmarkCommand(Start.ALONE, ("true",)), ("n1",), burst=0.0)
    assert failed.ending is Ending.FAILED
    assert failed.errors.startswith("tc ")


def test_at_the_limit_programs_may_tidy_up_before_their_host_goes(tmp_path: Path) -> None:
    tidy = "trap 'ip -brief address show h0 > tidied; exit' TERM"
    script = f"{tidy}; touch ready; while :; do sleep 0.05; done"
    command, ready = BenchmarkCommand(Start.ALONE, ("sh", "-c", script)), tmp_path / "ready"
    for limit_s in (1.0, 10.0, 100.0):  # A busy machine may end it before it has set its trap.
        job = LaunchJob(command, ("n1",), 1, tmp_path, limit_s)
        assert launcher(site()).launch(job).ending is Ending.TIMED_OUT
        if ready.exists():
            break
    assert "10.213.0.1/16" in (tmp_path / "tidied").read_text()


LAUNCHING = """
import sys
from pathlib import Path
from etherweave.bench.launchers.registry import launcher
from etherweave.bench.launchers.launcher import LaunchJob
from etherweave.bench.programs.plans import BenchmarkCommand, Start
from etherweave.bench.site.values import ClusterSite, Option, SiteFabric, SiteHost
site = ClusterSite("x", "netns", (SiteHost("n1", "n1"),))
command = BenchmarkCommand(Start.ALONE, ("sh", "-c", "touch started; sleep 600"))
launcher(site).launch(LaunchJob(command, ("n1",), 1, Path(sys.argv[1]), 600.0))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_of_an_interrupted_launch(tmp_path: Path, number: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", LAUNCHING, str(tmp_path)]) as process:
        until((tmp_path / "started").exists)
        prefix = f"ew-bench.{process.pid}."
        assert any(path.name.startswith(prefix) for path in Path("/run/netns").iterdir())
        process.send_signal(number)
        process.wait(20)
    if number is signal.SIGKILL:
        namespaces.sweep()
    assert not any(path.name.startswith(prefix) for path in Path("/run/netns").iterdir())
