"""Launches through a real sshd on loopback, with keys of its own."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from etherweave.bench.launchers.launcher import Ending, LaunchJob, LaunchOutcome
from etherweave.bench.launchers.registry import launcher
from etherweave.bench.programs.plans import BenchmarkCommand, Start
from etherweave.bench.site.values import ClusterSite, Option, SiteHost
from support import private_sshd
from support.living import commands
from support.waiting import until

pytestmark = pytest.mark.needs("sshd")
HOSTILE = ("$(id)", "`id`", "a  b", "'", '"', ";", "|", "*", "\\", "\n", "#", "~", "!!", "")
NAMES = ("n1", "n2")


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ...]]:
    """Give options with which ssh reaches the hosts n1 and n2, both this machine."""
    with private_sshd.running(tmp_path_factory.mktemp("sshd")) as client:
        yield "-F", str(client)


def launch(
    directory: Path,
    shell: tuple[str, ...],
    kind: str,
    command: BenchmarkCommand,
    limit_s: float = 120.0,
    **options: Option,
) -> LaunchOutcome:
    hosts = tuple(SiteHost(name, name, "lo") for name in NAMES)
    more = {"shell": shell} | options
    site = ClusterSite("behind ssh", kind, hosts, more, (), (("GREETING", "a b; c"),))
    return launcher(site).launch(LaunchJob(command, NAMES, 1, directory, limit_s))


def check_end(
    directory: Path, shell: tuple[str, ...], kind: str, command: BenchmarkCommand, **options: Option
) -> None:
    """Check that what writes ``started`` and hangs is ended, at a limit that lets it begin."""
    for limit_s in (3.0, 30.0, 300.0):
        ended = launch(directory, shell, kind, command, limit_s, **options)
        assert ended.ending is Ending.TIMED_OUT
        if (directory / "started").exists():
            return
    pytest.fail("not started within the longest limit")


def test_words_and_variables_arrive_as_they_were(shell: tuple[str, ...], tmp_path: Path) -> None:
    show = 'printf "<%s>" "$GREETING" "$@"'
    done = launch(
        tmp_path, shell, "ssh", BenchmarkCommand(Start.ALONE, ("sh", "-c", show, "x", *HOSTILE))
    )
    assert done.ending is Ending.DONE, done.errors
    assert done.text == "".join(f"<{word}>" for word in ("a b; c", *HOSTILE))


def test_what_hangs_there_is_ended_at_the_limit(shell: tuple[str, ...], tmp_path: Path) -> None:
    mark = uuid4().hex
    hang = ("sh", "-c", f"touch {tmp_path}/started; sleep 600; : {mark}")
    check_end(tmp_path, shell, "ssh", BenchmarkCommand(Start.ALONE, hang))
    until(lambda: not commands(mark))


@pytest.mark.needs("iperf3")
def test_a_server_and_its_client_meet(shell: tuple[str, ...], tmp_path: Path) -> None:
    client = ("iperf3", "-c", "127.0.0.1", "-p", "{port}", "-n", "1M", "-J")
    server = ("iperf3", "-s", "-1", "-B", "127.0.0.1", "-p", "{port}")
    done = launch(tmp_path, shell, "ssh", BenchmarkCommand(Start.CLIENT_SERVER, client, server))
    assert done.ending is Ending.DONE, done.errors
    assert '"sum_received"' in done.text


MPI = pytest.mark.parametrize(
    "program",
    [
        pytest.param(name, marks=pytest.mark.needs(name))
        for name in ("mpirun.openmpi", "mpirun.mpich")
    ],
)


@MPI
def test_ranks_start_on_both_hosts(shell: tuple[str, ...], tmp_path: Path, program: str) -> None:
    command = BenchmarkCommand(
        Start.MPI, ("sh", "-c", "echo $OMPI_COMM_WORLD_RANK$PMI_RANK $GREETING")
    )
    done = launch(tmp_path, shell, "mpirun", command, program=program)
    assert done.ending is Ending.DONE, done.errors
    assert sorted(done.text.splitlines()) == ["0 a b; c", "1 a b; c"]


@MPI
def test_hanging_ranks_end_everywhere(shell: tuple[str, ...], tmp_path: Path, program: str) -> None:
    mark = uuid4().hex
    # Without the mark that they inherit, as on another host.
    hang = ("env", "-u", "ETHERWEAVE_LAUNCH", "sh", "-c", f"touch started; sleep 600; : {mark}")
    command = BenchmarkCommand(Start.MPI, hang)
    check_end(tmp_path, shell, "mpirun", command, program=program)
    until(lambda: not commands(mark))


def test_a_host_that_cannot_be_reached_is_reported(shell: tuple[str, ...], tmp_path: Path) -> None:
    config = tmp_path / "config"
    text = Path(shell[1]).read_text()
    config.write_text(text.replace("/key\n", "/none\n"))
    failed = launch(tmp_path, ("-F", str(config)), "ssh", BenchmarkCommand(Start.ALONE, ("true",)))
    assert failed.ending is Ending.FAILED
    assert "Permission denied" in failed.errors
