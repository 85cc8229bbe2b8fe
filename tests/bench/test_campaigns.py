"""`bench run --site` as its user meets it, over real MPI, ssh and Slurm; and killed on the way."""

import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from etherweave.bench.statistics.launches import shuffled
from support import command_line, private_sshd
from support.launches import latencies
from support.living import of_processes
from support.waiting import until

START = (*command_line.COMMAND, "bench", "run")
ONCE = ("--launches", "1")  # A warm-up, and one launch that counts.


def carried_out(directory: Path, site: str, *words: str) -> tuple[dict[str, Any], list[Any]]:
    """Run a campaign; give its summary and its launches, as JSON."""
    file = directory / "site.toml"
    file.write_text(site)
    more = ("--site", file, "-o", directory / "out", "--json")
    done = command_line.invoke("bench", "run", *words, *more, code=0)
    launches = [json.loads(file.read_text()) for file in directory.glob("out/launches/*.json")]
    (environment,) = directory.glob("out/environment/*.json")
    hosts = json.loads(environment.read_text())["hosts"]
    assert hosts and all(host["before"] and host["after"] for host in hosts)
    return json.loads(done.stdout), sorted(launches, key=lambda launch: launch["start_ns"])


def medians(facts: dict[str, Any], metric: str, **wanted: object) -> list[float]:
    unit = {"bandwidth": "B/s", "latency": "s", "flop_rate": "1/s"}[metric]
    points = [point for point in facts["points"] if point["metric"] == metric]
    assert points and {point["unit"] for point in points} == {unit}
    return [point["median"] for point in points if wanted.items() <= point.items()]


_HPCC = """\
#!/bin/sh
case "$PWD" in *-000) exec touch hpccoutf.txt ;; esac
exec "{program}" "$@"
"""
"""Does nothing as warm-up, which does not count: rings take ten seconds at 1 Gb/s, always."""


def instead_of(directory: Path, name: str, text: str) -> str:
    """Put a script into a new directory; give the search path on which it comes first."""
    program = directory / "bin" / name
    program.parent.mkdir()
    program.write_text(text)
    program.chmod(0o755)
    return f"{program.parent}:{os.environ['PATH']}"


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.needs("namespaces", "hpcc", "mpirun")
def test_hpcc_runs_by_mpi_in_4_namespaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = _HPCC.format(program=shutil.which("hpcc"))
    monkeypatch.setenv("PATH", instead_of(tmp_path, "hpcc", script))
    site = """
        launcher = { kind = "netns", rate = "1Gb/s", burst = "128KiB" }
        hosts = { n1 = {}, n2 = {}, n3 = {}, n4 = {} }
        fabrics.lan = { kind = "tcp", stack = "open_mpi", rate = "1Gb/s", interface = "h0" }
    """
    facts, launches = carried_out(tmp_path, site, "hpcc", "--size", "256B", *ONCE)
    assert [launch["ending"] for launch in launches] == ["done"] * 2
    assert all(value > 1e6 for value in medians(facts, "flop_rate"))
    (ping,) = medians(facts, "latency", labels="test=PingPong", statistic="mean")
    assert 1e-6 < ping < 0.1
    # Of a message of 2,000,000 B, what the bucket has saved while the other side sent goes at once.
    # Frames of 1500 B and a header of 14 B carry 1448 B each.
    (rate,) = medians(facts, "bandwidth", labels="test=PingPong", statistic="mean")
    limit = 1.25e8 * 1448 / 1514
    assert 0.95 * limit < rate < 1.05 * limit * 2_000_000 / (2_000_000 - 128 * 1024)


@pytest.mark.slow
@pytest.mark.needs("sshd", "iperf3")
def test_iperf3_runs_by_ssh_between_two_hosts(tmp_path: Path) -> None:
    with private_sshd.running(tmp_path) as client:
        site = f"""
            launcher = {{ kind = "ssh", shell = ["-F", "{client}"] }}
            hosts = {{ n1 = {{}}, n2 = {{}} }}
            [fabrics.lan]
            kind = "tcp"
            stack = "open_mpi"
            rate = "10Gb/s"
            interface = "lo"
            addresses = {{ n1 = "127.0.0.1", n2 = "127.0.0.1" }}
        """
        facts, launches = carried_out(tmp_path, site, "iperf3", "--duration", "1s", *ONCE)
    assert {launch["launcher"] for launch in launches} == {"ssh"}
    assert all(value > 1e6 for value in medians(facts, "bandwidth"))
    assert len(list((tmp_path / "out/telemetry").iterdir())) == 2


def slurm_site(kind: str) -> str:
    """All nodes are this machine; each launch is a job of Slurm."""
    return f"""
        launcher = {{ kind = "{kind}", mpi = "none" }}
        hosts.n1 = {{ address = "127.0.0.1", interface = "lo" }}
        hosts.n2 = {{ address = "127.0.0.1", interface = "lo" }}
    """


ASKED = ("qperf", "--duration", "1s", "--size", "1KiB:1KiB")


@pytest.mark.slow
@pytest.mark.needs("slurm", "qperf")
@pytest.mark.parametrize("kind", ["srun", "sbatch"])
def test_qperf_runs_as_a_job_of_slurm(slurm: None, tmp_path: Path, kind: str) -> None:
    facts, launches = carried_out(tmp_path, slurm_site(kind), *ASKED, *ONCE)
    assert [launch["launcher"] for launch in launches] == [kind] * 2
    (rate,) = medians(facts, "bandwidth", size_bytes=1024)
    (latency,) = medians(facts, "latency", size_bytes=1024)
    assert rate > 1e6 and 1e-6 < latency < 0.1


TWO = ("osu_latency", "--size", "1B:1B", "--size", "4B:4B", "--no-telemetry")  # Experiments.


_STAND_IN = """\
#!/bin/sh
echo "$2" >> "{directory}/calls"
if [ -e "{directory}/hang" ]; then sleep 600; fi
sleep 0.1
[ "${{OMPI_COMM_WORLD_RANK:-$SLURM_PROCID}}" != 0 ] || cat "{directory}/$2.txt"
"""


class Campaign:
    """A run that is started again and again, with a stand-in for osu_latency in its path.

    What descends from it carries a mark in its environment. The stand-in hangs while there is a
    file ``hang``. Each of two experiments is launched ``launches`` times after its warm-up.
    """

    def __init__(self, directory: Path, site: str, launches: int = 3) -> None:
        self.out, self.mark = directory / "out", f"EW_MARK={directory}"
        self.rounds = launches + 1
        (directory / "site.toml").write_text(site)
        for size in (1, 4):
            (directory / f"{size}:{size}.txt").write_text(latencies(10.0, [size]))
        path = instead_of(directory, "osu_latency", _STAND_IN.format(directory=directory))
        self.environment = os.environ | {"PATH": path, "EW_MARK": str(directory)}
        few = ("--launches", str(launches))
        self.words = [*TWO, *few, "--site", str(directory / "site.toml"), "-o", str(self.out)]
        self.command = [*START, *self.words]
        self.calls, self.hang = directory / "calls", directory / "hang"

    @contextmanager
    def running(self) -> Iterator[subprocess.Popen[bytes]]:
        """Start it; give it once a program of it runs that had not run before."""
        before = self.made()
        with subprocess.Popen(
            self.command, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            try:
                until(lambda: self.made() > before or process.poll() is not None)
                yield process
            finally:
                process.kill()

    def made(self) -> int:
        """How many ranks have been started."""
        return len(self.calls.read_text().split()) if self.calls.exists() else 0

    def kept(self) -> dict[str, str]:
        return {path.stem: path.read_text() for path in self.out.glob("launches/[!.]*.json")}

    def bearers(self) -> dict[int, str]:
        """Return numbers and words of its processes that live."""
        own = {at for at, text in of_processes("environ") if self.mark in text.split(" ")}
        return {number: words for number, words in of_processes("cmdline") if number in own}

    def end(self) -> None:
        done = subprocess.run(self.command, env=self.environment, capture_output=True, timeout=120)
        assert done.returncode == 0, done.stderr.decode()
        self.check()

    def check(self) -> None:
        """Hold the launches against those of an undisturbed run; nothing of it lives."""
        launches = sorted(map(json.loads, self.kept().values()), key=lambda own: own["end_ns"])
        order = [(launch["round"], launch["experiment"]) for launch in launches]
        assert order == shuffled({name for _, name in order}, self.rounds, 0)
        assert not self.bearers()


@pytest.mark.slow
@pytest.mark.needs("namespaces", "mpirun")
def test_a_run_that_is_killed_terminated_or_loses_its_launcher_ends_whole(tmp_path: Path) -> None:
    """Between namespaces, over MPI; each time at a random moment after a launch has begun."""
    site = 'launcher = { kind = "netns" }\nhosts = { n1 = {}, n2 = {} }\n'
    campaign, chance = Campaign(tmp_path, site), random.Random(1)
    owners = []
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL, None):
        before = campaign.kept()
        with campaign.running() as process:
            owners.append(process.pid)
            time.sleep(chance.uniform(0, 0.5))
            if number:
                process.send_signal(number)
                assert process.wait(300) in (130 if number is signal.SIGTERM else -number, 0)
            else:
                for key, words in campaign.bearers().items():
                    if words.startswith("mpirun"):
                        with suppress(ProcessLookupError):  # It may have ended by itself.
                            os.kill(key, signal.SIGKILL)
                assert process.wait(300) in (0, 1)
        until(lambda: not campaign.bearers())
        assert before.items() <= campaign.kept().items()
    campaign.end()
    spaces = [path.name for path in Path("/run/netns").glob("ew-bench.*")]
    assert not [name for name in spaces if int(name.split(".")[1]) in owners]


@pytest.mark.slow
@pytest.mark.needs("slurm")
@pytest.mark.parametrize("kind", ["srun", "sbatch"])
def test_a_killed_run_leaves_no_job_to_the_next(slurm: None, tmp_path: Path, kind: str) -> None:
    campaign = Campaign(tmp_path, slurm_site(kind), launches=1)
    campaign.hang.touch()
    with campaign.running() as process:
        process.send_signal(signal.SIGKILL)
    assert jobs(), "Slurm does not know that nobody waits for it"
    campaign.hang.unlink()
    campaign.end()
    until(lambda: not jobs())


@pytest.mark.slow
@pytest.mark.needs("slurm")
def test_experiments_of_a_round_run_as_one_array(slurm: None, tmp_path: Path) -> None:
    before = arrays()
    campaign = Campaign(tmp_path, slurm_site("sbatch"), launches=1)
    campaign.end()
    launches = sorted(map(json.loads, campaign.kept().values()), key=lambda own: own["start_ns"])
    # One at a time: they would disturb each other.
    assert all(first["end_ns"] <= other["start_ns"] for first, other in pairwise(launches))
    assert [launch["round"] for launch in launches] == [0, 0, 1, 1]
    values = medians(json.loads((campaign.out / "benchmarks.json").read_text()), "latency")
    assert values == [10e-6, 10e-6], "one of each size"
    assert len(arrays() - before) == 2, "an array of two for each round"


def arrays() -> set[str]:
    """Give the jobs that Slurm knows as arrays of two tasks, or of more."""
    reported = subprocess.check_output(["scontrol", "--oneliner", "show", "jobs"], text=True)
    return set(re.findall(r"ArrayJobId=(\d+) ArrayTaskId=1 ", reported))


def jobs() -> str:
    return subprocess.check_output(["squeue", "--noheader"], text=True).strip()


@pytest.mark.slow
@pytest.mark.needs("slurm")
def test_the_batch_script_goes_on_when_slurm_has_ended_it(slurm: None, tmp_path: Path) -> None:
    """Slurm signals the script by SIGTERM; submitted again, it makes what is missing."""
    campaign = Campaign(tmp_path, slurm_site("srun"))
    command = tmp_path / "bin" / "etherweave"
    command.write_text(f'#!/bin/sh\nexec {shlex.join(START[:-2])} "$@"\n')
    command.chmod(0o755)
    asked = ["bench", "export", "slurm", "--time", "5min", *campaign.words]
    script = tmp_path / "run.sh"
    script.write_text(subprocess.check_output([*START[:-2], *asked], text=True))
    submission = ["sbatch", "--parsable", f"--output={tmp_path}/log", str(script)]
    number = subprocess.check_output(submission, env=campaign.environment, text=True).strip()
    until(lambda: len(campaign.kept()) >= 2)
    subprocess.run(["scancel", "--batch", "--signal=TERM", number], check=True)
    until(lambda: not jobs())
    before = campaign.kept()
    assert 2 <= len(before) < 8
    assert "the same command continues" in (tmp_path / "log").read_text()
    subprocess.run(submission, env=campaign.environment, check=True, capture_output=True)
    until(lambda: not jobs())
    assert before.items() <= campaign.kept().items()
    campaign.check()
