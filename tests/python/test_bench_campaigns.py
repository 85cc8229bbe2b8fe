"""`bench run --site` as its user meets it, over real MPI, ssh and Slurm; and killed on the way."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import private_slurm
import private_sshd
import pytest

from etherweave.bench.launchers import namespaces

START = (sys.executable, "-c", "from etherweave.cli import main; main()", "bench", "run")
ONCE = ("--launches-min", "1", "--launches-max", "1")
"""A warm-up, and one launch that counts."""
BARE = namespaces.missing()
NO_SLURM, NO_SSHD = private_slurm.missing(), private_sshd.missing()


def needs(program: str, package: str) -> pytest.MarkDecorator:
    reason = f"the program {program} is missing; Debian package {package}"
    return pytest.mark.skipif(shutil.which(program) is None, reason=reason)


def carried_out(directory: Path, site: str, *words: str) -> tuple[dict[str, Any], list[Any]]:
    """Run a campaign in a process of its own; give its summary and its launches, as JSON."""
    file = directory / "site.toml"
    file.write_text(site)
    command = [*START, *words, "--site", str(file), "-o", str(directory / "out"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    launches = [json.loads(one.read_text()) for one in directory.glob("out/launches/*.json")]
    (environment,) = directory.glob("out/environment/*.json")
    assert json.loads(environment.read_text())["after"]
    return json.loads(done.stdout), sorted(launches, key=lambda one: one["start_ns"])


def medians(facts: dict[str, Any], metric: str, **wanted: object) -> list[float]:
    """The medians of a metric, each in its base unit."""
    unit = {"bandwidth": "B/s", "latency": "s", "flop_rate": "1/s"}[metric]
    found = [one for one in facts["points"] if one["metric"] == metric]
    assert found and {one["unit"] for one in found} == {unit}
    return [one["median"] for one in found if wanted.items() <= one.items()]


@pytest.mark.skipif(bool(BARE), reason=f"no namespaces on this machine: {BARE}")
@needs("hpcc", "hpcc")
@needs("mpirun", "openmpi-bin")
def test_hpcc_runs_by_mpi_on_four_namespaces(tmp_path: Path) -> None:
    site = """
        launcher = { kind = "netns", rate = "1Gb/s", burst = "128KiB" }
        hosts = { n1 = {}, n2 = {}, n3 = {}, n4 = {} }
        fabrics.lan = { kind = "tcp", stack = "open_mpi", rate = "1Gb/s", interface = "h0" }
    """
    facts, launches = carried_out(tmp_path, site, "hpcc", "--size", "256B", *ONCE)
    assert [one["ending"] for one in launches] == ["done"] * 2
    assert all(value > 1e6 for value in medians(facts, "flop_rate"))
    (ping,) = medians(facts, "latency", labels="test=PingPong", statistic="mean")
    assert 1e-6 < ping < 0.1
    # Of a message of 2,000,000 B, what the bucket has saved while the other side sent goes at once.
    # Frames of 1500 B and a header of 14 B carry 1448 B each.
    (rate,) = medians(facts, "bandwidth", labels="test=PingPong", statistic="mean")
    limit = 1.25e8 * 1448 / 1514
    assert 0.95 * limit < rate < 1.05 * limit * 2_000_000 / (2_000_000 - 128 * 1024)


@pytest.mark.skipif(bool(NO_SSHD), reason=f"no sshd on this machine: {NO_SSHD}")
@needs("iperf3", "iperf3")
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
        facts, launches = carried_out(tmp_path, site, "iperf3", "--seconds", "1", *ONCE)
    assert {one["launcher"] for one in launches} == {"ssh"}
    assert all(value > 1e6 for value in medians(facts, "bandwidth"))
    assert len(list((tmp_path / "out/telemetry").iterdir())) == 2


@pytest.fixture(scope="module")
def slurm() -> Iterator[None]:
    with private_slurm.running() as file, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", str(file))
        patch.delenv("SLURM_JOB_ID", raising=False)
        yield
        assert not subprocess.check_output(["squeue", "--noheader"], text=True).strip()


def slurm_site(kind: str) -> str:
    """All nodes are this machine; each launch is a job of Slurm."""
    return f"""
        launcher = {{ kind = "{kind}", mpi = "none" }}
        hosts.n1 = {{ address = "127.0.0.1", interface = "lo" }}
        hosts.n2 = {{ address = "127.0.0.1", interface = "lo" }}
    """


ASKED = ("qperf", "--seconds", "1", "--size", "1KiB:1KiB")


@pytest.mark.skipif(bool(NO_SLURM), reason=f"no Slurm on this machine: {NO_SLURM}")
@needs("qperf", "qperf")
@pytest.mark.parametrize("kind", ["srun", "sbatch"])
def test_qperf_runs_as_a_job_of_slurm(slurm: None, tmp_path: Path, kind: str) -> None:
    facts, launches = carried_out(tmp_path, slurm_site(kind), *ASKED, *ONCE)
    assert [one["launcher"] for one in launches] == [kind] * 2
    (rate,) = medians(facts, "bandwidth", size_bytes=1024)
    (latency,) = medians(facts, "latency", size_bytes=1024)
    assert rate > 1e6 and 1e-6 < latency < 0.1


@pytest.mark.skipif(bool(NO_SLURM), reason=f"no Slurm on this machine: {NO_SLURM}")
@needs("qperf", "qperf")
def test_experiments_of_a_round_run_as_one_array(slurm: None, tmp_path: Path) -> None:
    sizes = (*ASKED, "--size", "4KiB:4KiB")
    facts, launches = carried_out(tmp_path, slurm_site("sbatch"), *sizes, *ONCE)
    # One at a time: they would disturb each other.
    assert all(one["end_ns"] <= other["start_ns"] for one, other in pairwise(launches))
    assert [one["round"] for one in launches] == [0, 0, 1, 1]
    rates = [medians(facts, "bandwidth", size_bytes=1024 * size) for size in (1, 4)]
    assert all(rate > 1e6 for (rate,) in rates)
    told = subprocess.check_output(["scontrol", "--oneliner", "show", "jobs"], text=True)
    tasks = re.findall(r"ArrayJobId=(\d+) ArrayTaskId=1 ", told)
    assert len(tasks) == 2, "an array of two for each round"
