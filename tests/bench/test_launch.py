"""Launches on this machine: what comes back, and that nothing is left, whatever happens."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

import pytest

from etherweave.bench.launchers import mpirun, registry, site_launcher
from etherweave.bench.launchers.access import GRACE_S, guarded
from etherweave.bench.launchers.launcher import Ending, LaunchJob, LaunchOutcome
from etherweave.bench.launchers.registry import launcher
from etherweave.bench.programs.plans import BenchmarkCommand, Start
from etherweave.bench.site.values import ClusterSite, Option, SiteFabric, SiteHost, this_machine
from etherweave.linux import processes
from support.living import commands
from support.waiting import until

HOSTILE = ("$(touch x)", "`id`", "a b", "'", '"', ";", "|", "*", "\\", "-n", "{", "ä\n", "#", "~")
"""Words that shells would change."""
CLOSED = tuple(word.replace("{", "{{") for word in HOSTILE)
SHOW = "import sys, json; print(json.dumps(sys.argv[1:]))"
SERVE = """
import socket, sys, time
time.sleep(0.3)
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    server.accept()[0].sendall(b"served")
"""
ASK = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as one:
    print(one.recv(99).decode())
"""


def launch(
    directory: Path,
    command: BenchmarkCommand,
    *,
    site: ClusterSite | None = None,
    hosts: Sequence[str] = ("localhost",),
    limit_s: float = 120.0,
    ranks: int = 1,
) -> LaunchOutcome:
    return launcher(site or this_machine()).launch(
        LaunchJob(command, tuple(hosts), ranks, directory, limit_s)
    )


def alone(*words: str) -> BenchmarkCommand:
    return BenchmarkCommand(Start.ALONE, words)


def python(text: str, *words: str) -> tuple[str, ...]:
    return (sys.executable, "-c", text, *words)


def test_what_a_program_prints_comes_back(tmp_path: Path) -> None:
    before = time.time_ns()
    done = launch(tmp_path, alone("sh", "-c", "echo out; echo err >&2"))
    assert (done.ending, done.text, done.errors.strip()) == (Ending.DONE, "out\n", "err")
    assert done.words == ("sh", "-c", "echo out; echo err >&2")
    assert before <= done.start_ns < done.end_ns <= time.time_ns()


def test_files_are_written_before_and_read_after(tmp_path: Path) -> None:
    words = ("cp", "in.txt", "{directory}/out.txt")
    command = BenchmarkCommand(Start.ALONE, words, files=(("in.txt", "text"),), output="out.txt")
    assert launch(tmp_path, command).text == "text"


def test_a_directory_may_be_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("job").mkdir()
    done = launch(Path("job"), alone("sh", "-c", 'echo "$1"; pwd', "x", "{directory}"))
    assert done.text.split() == [str(tmp_path / "job")] * 2


@pytest.mark.parametrize(
    ("command", "reported"),
    [
        (alone("false"), ""),
        (alone("no-such-program"), "no-such-program"),
        (alone("echo", "{port}"), "words in braces: 'port' is unknown"),
        (alone("echo", "{"), "words in braces: "),
        (BenchmarkCommand(Start.ALONE, ("true",), output="gone"), "gone: was not written"),
        (
            BenchmarkCommand(
                *(Start.CLIENT_SERVER, ("true",), ("sh", "-c", "echo no >&2; exit 3", "{port}"))
            ),
            "server sh: ended with 3 before it listened; no",
        ),
        (
            BenchmarkCommand(Start.CLIENT_SERVER, ("true",), ("sleep", "60")),
            "server sleep: names no port; expected {port} among its arguments",
        ),
    ],
)
def test_failures_are_outcomes(tmp_path: Path, command: BenchmarkCommand, reported: str) -> None:
    failed = launch(tmp_path, command)
    assert failed.ending is Ending.FAILED
    assert reported in failed.errors


def test_nothing_is_started_for_a_host_that_the_site_does_not_name(tmp_path: Path) -> None:
    failed = launch(tmp_path, alone("touch", "started"), hosts=("localhost", "elsewhere"))
    assert failed.ending is Ending.FAILED
    assert "host elsewhere: is not of site this machine; expected localhost" in failed.errors
    assert not list(tmp_path.iterdir())


def test_words_and_variables_reach_a_program_as_they_are(tmp_path: Path) -> None:
    site = ClusterSite(
        **vars(this_machine()) | {"environment": tuple((f"V{n}", w) for n, w in enumerate(HOSTILE))}
    )
    done = launch(tmp_path, alone(*python(SHOW, *CLOSED)), site=site)
    assert done.text == subprocess.check_output(python(SHOW, *HOSTILE), text=True)
    shown = launch(tmp_path, alone(*python("import os; print(os.environ['V0'])")), site=site)
    assert shown.text == "$(touch x)\n"


def test_a_client_starts_when_its_server_listens(tmp_path: Path) -> None:
    command = BenchmarkCommand(Start.CLIENT_SERVER, python(ASK, "{port}"), python(SERVE, "{port}"))
    done = launch(tmp_path, command)
    assert (done.ending, done.text) == (Ending.DONE, "served\n"), done.errors


def test_ports_are_those_of_the_kernels_table() -> None:
    # proc(5): local address and port are hexadecimal, state 0A listens, 01 is a connection.
    head = "  sl  local_address rem_address   st tx_queue rx_queue\n"
    rows = [
        "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000",
        "   1: 0100007F:1F91 0100007F:DEE9 01 00000000:00000000",
        "  12: 00000000:0035 00000000:0000 07 00000000:00000000",
        "   2: 00000000000000000000000000000000:0016 0000:0000 0A 00000000:00000000",
    ]
    assert site_launcher.listening_ports(head + "\n".join(rows)) == {8080, 53, 22}


STUBBORN = "trap '' TERM; while :; do sleep 1; done"


class Sleeps:
    """A clock on which sleeps alone take time, so that a busy machine is no slower."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, duration_s: float) -> None:
        time.sleep(duration_s)
        self.now_s += duration_s


@pytest.mark.parametrize("way", ["plain", "stubborn", "away"])
def test_at_the_limit_all_processes_are_ended(
    tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark, clock, send = uuid4().hex, Sleeps(), processes._signal
    sent: list[tuple[float, signal.Signals]] = []

    def noted(to: Sequence[processes.Process], number: signal.Signals) -> None:
        sent.extend([(clock.now_s, number)] if to else [])
        send(to, number)

    monkeypatch.setattr(processes, "time", clock)
    monkeypatch.setattr(processes, "_signal", noted)
    words = {
        "plain": ("sh", "-c", f"sleep 600 & sleep 600; : {mark}"),
        "stubborn": ("sh", "-c", f"{STUBBORN}; : {mark}"),
        "away": ("sh", "-c", f"setsid sh -c '{STUBBORN}; : {mark}' & sleep 600; : {mark}"),
    }[way]
    ended = launch(tmp_path, alone(*words), limit_s=0.3)
    assert ended.ending is Ending.TIMED_OUT
    assert "ended at its limit of 0.3 s" in ended.errors
    assert not commands(mark)
    # What sets no trap before the limit may end with its standard input, or the first signal.
    asked, *killed = sent or [(0, signal.SIGTERM)]
    assert asked == (0, signal.SIGTERM)
    assert {number for _, number in killed} <= {signal.SIGKILL}
    assert [at for at, _ in killed[:1]] in ([], [pytest.approx(GRACE_S, abs=0.02)])


def test_what_a_program_leaves_behind_is_ended_when_it_is_done(tmp_path: Path) -> None:
    mark = uuid4().hex
    words = ("sh", "-c", f"setsid sh -c 'sleep 600; : {mark}' & echo done")
    assert launch(tmp_path, alone(*words)).text == "done\n"
    assert not commands(mark)


def test_a_server_has_the_limit_of_its_launch(tmp_path: Path) -> None:
    mark = uuid4().hex
    server = ("sh", "-c", f"sleep 600; : {mark}", "x", "{port}")
    ended = launch(tmp_path, BenchmarkCommand(Start.CLIENT_SERVER, ("true",), server), limit_s=0.5)
    assert ended.ending is Ending.TIMED_OUT
    assert not commands(mark)


LAUNCHING = """
import sys
from pathlib import Path
from etherweave.bench.launchers.registry import launcher
from etherweave.bench.launchers.launcher import LaunchJob
from etherweave.bench.programs.plans import BenchmarkCommand, Start
from etherweave.bench.site.values import this_machine
command = BenchmarkCommand(Start.ALONE, ("sh", "-c", "touch started; sleep 600; : " + sys.argv[2]))
job = LaunchJob(command, ("localhost",), 1, Path(sys.argv[1]), 600.0)
print(launcher(this_machine()).launch(job).ending)
"""


@pytest.mark.parametrize(
    ("number", "said"), [(signal.SIGINT, "interrupted\n"), (signal.SIGKILL, "")]
)
def test_a_launch_may_be_ended_or_killed(tmp_path: Path, number: signal.Signals, said: str) -> None:
    mark = uuid4().hex
    words = python(LAUNCHING, str(tmp_path), mark)
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        until(lambda: (tmp_path / "started").exists())
        process.send_signal(number)
        assert process.communicate(timeout=120)[0] == said
    until(lambda: not commands(mark))


HASTY_TIMEOUT = """\
import os, subprocess, sys
os.setpgid(0, 0)
subprocess.run(sys.argv[4:])
"""


def test_a_program_ends_though_its_timeout_ends_without_it(tmp_path: Path) -> None:
    mark = uuid4().hex
    timeout = tmp_path / "timeout"
    timeout.write_text(f"#!{sys.executable}\n{HASTY_TIMEOUT}")
    timeout.chmod(0o755)
    words = guarded(("sh", "-c", f"touch started; sleep 600; : {mark}"), 60)
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=tmp_path, env=path
    ) as process:
        until(lambda: (tmp_path / "started").exists())
        process.communicate()
    until(lambda: not commands(mark))


def test_each_rank_gets_its_number(tmp_path: Path) -> None:
    command = BenchmarkCommand(
        Start.EACH_RANK, ("sh", "-c", 'echo "$1 of $2"', "x", "{rank}", "{ranks}")
    )
    assert launch(tmp_path, command, ranks=3).text == "0 of 3\n"
    assert (tmp_path / "rank2.out").read_text() == "2 of 3\n"


@pytest.mark.needs("mpirun")
def test_ranks_of_mpi_start_on_this_machine(tmp_path: Path) -> None:
    show = "echo ${{OMPI_COMM_WORLD_RANK-$PMI_RANK}} $GREETING"
    site = ClusterSite(**vars(this_machine()) | {"environment": (("GREETING", "a b; c"),)})
    done = launch(tmp_path, BenchmarkCommand(Start.MPI, ("sh", "-c", show)), site=site, ranks=3)
    assert done.ending is Ending.DONE, done.errors
    assert sorted(done.text.splitlines()) == [f"{rank} a b; c" for rank in range(3)]


VERSIONS = {
    "Open MPI 4": "mpirun (Open MPI) 4.1.4",
    "Open MPI 5": "mpirun (Open MPI) 5.0.6",
    "MPICH": "HYDRA build details:\n    Version:                                 4.0.2",
}


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (
            "Open MPI 4",
            "--mca plm_rsh_agent AGENT --host 10.0.0.1:2,10.0.0.2:2 --map-by ppr:2:node",
        ),
        ("Open MPI 5", "--prtemca plm_ssh_agent AGENT --host 10.0.0.1:2,10.0.0.2:2 --map-by"),
        ("MPICH", "-launcher rsh -launcher-exec AGENT -hosts 10.0.0.1,10.0.0.2 -ppn 2 -genv"),
    ],
)
def test_options_of_mpirun_follow_its_version(tmp_path: Path, version: str, expected: str) -> None:
    program = tmp_path / "mpirun"
    program.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo \'{VERSIONS[version]}\' || echo "$@"\n'
    )
    program.chmod(0o700)
    hosts = (SiteHost("n1", "10.0.0.1"), SiteHost("n2", "10.0.0.2"))
    options: dict[str, Option] = {"program": str(program), "arguments": ("--bind-to", "core")}
    site = ClusterSite("two", "mpirun", hosts, options, (), (("UCX_TLS", "tcp"),))
    directory = tmp_path / "job"
    directory.mkdir()
    command = BenchmarkCommand(Start.MPI, ("osu_bw", "-m", "8"))
    done = launch(directory, command, site=site, hosts=("n1", "n2"), ranks=2)
    said = done.text.replace(str(directory / "agent"), "AGENT")
    assert expected in said
    assert "UCX_TLS" in said
    assert said.endswith(
        f"{directory} -np 4 --bind-to core osu_bw -m 8\n".replace(
            "-np", "-n" if version == "MPICH" else "-np"
        )
    )
    agent = (directory / "agent").read_text()
    assert agent == '#!/bin/sh\nexec ssh -o BatchMode=yes -o ConnectTimeout=10 "$@"\n'


def test_an_unknown_mpirun_is_rejected(tmp_path: Path) -> None:
    site = ClusterSite("one", "mpirun", (SiteHost("n1", "10.0.0.1"),), {"program": "echo"})
    failed = launch(tmp_path, BenchmarkCommand(Start.MPI, ("x",)), site=site, hosts=("n1",))
    said = re.fullmatch(r'echo --version: ".*"; expected Open MPI, MPICH or .*', failed.errors)
    assert said, failed.errors


FAKE_SSH = """#!/bin/sh
# As sshd does: a shell reads the joined words. Options are those of a real call.
[ "$*" != "" ] || exit 9
while [ "$1" != -- ]; do echo "$1" >> {options}; shift; done
echo "$2" >> {hosts}
shift 2
exec sh -c "$*"
"""


@pytest.fixture
def by_ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClusterSite:
    """Give a site whose ssh is a script that does what sshd would."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = FAKE_SSH.format(options=tmp_path / "options", hosts=tmp_path / "hosts")
    (folder / "ssh").write_text(script)
    (folder / "ssh").chmod(0o700)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    hosts = (SiteHost("n1", "127.0.0.1"), SiteHost("n2", "127.0.0.2"))
    return ClusterSite("remote", "ssh", hosts, {"shell": ("-p", "2222")}, (), (("V", HOSTILE[0]),))


def test_server_and_client_run_on_their_hosts_by_ssh(by_ssh: ClusterSite, tmp_path: Path) -> None:
    directory = tmp_path / "job"
    directory.mkdir()
    command = BenchmarkCommand(Start.CLIENT_SERVER, python(ASK, "{port}"), python(SERVE, "{port}"))
    done = launch(directory, command, site=by_ssh, hosts=("n1", "n2"))
    assert done.text == "served\n", done.errors
    hosts = (tmp_path / "hosts").read_text().split()
    # Tables of sockets are read where the server is; the client comes last.
    assert set(hosts[:-1]) == {"127.0.0.1"}
    assert hosts[-1] == "127.0.0.2"
    options = (tmp_path / "options").read_text().split()
    assert options[:7] == ["-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-p", "2222", "-T"]


def test_words_and_variables_pass_ssh_unchanged(by_ssh: ClusterSite, tmp_path: Path) -> None:
    directory = tmp_path / "job"
    directory.mkdir()
    show = f"import os; {SHOW}; print(os.environ['V'])"
    done = launch(directory, alone(*python(show, *CLOSED, "")), site=by_ssh, hosts=("n1",))
    words, variable = done.text.splitlines()
    assert json.loads(words) == [*HOSTILE, ""]
    assert variable == HOSTILE[0]
    assert (tmp_path / "hosts").read_text().split() == ["127.0.0.1"]


def test_ssh_starts_no_ranks_of_mpi(by_ssh: ClusterSite, tmp_path: Path) -> None:
    failed = launch(tmp_path, BenchmarkCommand(Start.MPI, ("x",)), site=by_ssh, hosts=("n1",))
    assert "launcher ssh: starts no ranks of MPI; expected mpirun" in failed.errors


def test_a_fabric_gives_its_address_and_its_variables(tmp_path: Path) -> None:
    link = SiteFabric(
        "eth", "tcp", "ucx", 1e9, "p3p2", None, (("localhost", "127.0.0.9"),), (("A", "b"),)
    )
    show = ("sh", "-c", 'echo "$1 $2 $A"', "x", "{server}", "{interface}")
    job = LaunchJob(alone(*show), ("localhost",), 1, tmp_path, 9.0)
    assert launcher(this_machine(), link).launch(job).text == "127.0.0.9 p3p2 b\n"


def test_words_pass_the_shell_of_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A login shell reads the profile of its home, where sites define `module`.
    (tmp_path / ".bash_profile").write_text('module() { export LOADED="$LOADED[$2]"; }\n')
    monkeypatch.setenv("HOME", str(tmp_path))
    site = ClusterSite(**vars(this_machine()) | {"modules": ("gnu8", "open mpi; x")})
    home = tmp_path / "job"
    home.mkdir()
    show = python("import os, sys; print(os.environ['LOADED'], sys.argv[1:])", *CLOSED)
    assert launch(home, alone(*show), site=site).text == f"[gnu8][open mpi; x] {list(HOSTILE)}\n"


def test_the_kinds_of_launchers_are_called_as_their_files() -> None:
    assert (mpirun.KIND.name, registry.SSH.name) == ("mpirun", "ssh")
