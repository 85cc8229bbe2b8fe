"""Jobs through a real Slurm without accounting: steps, a batch job, an array; nothing is left."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from etherweave.bench.launchers import sbatch
from etherweave.bench.launchers.launcher import Ending, LaunchJob, LaunchOutcome, Monitor
from etherweave.bench.launchers.registry import launcher
from etherweave.bench.launchers.sbatch import (
    SlurmBatchLauncher,
    read_task,
    write_outcome,
    write_tasks,
)
from etherweave.bench.programs.plans import BenchmarkCommand, Start
from etherweave.bench.site.values import ClusterSite, SiteFabric, SiteHost
from etherweave.sweeps import slurm as commands
from support import living, private_slurm

HOSTS = tuple(SiteHost(name, "127.0.0.1", "lo") for name in private_slurm.NODES)
WHO = ("sh", "-c", "echo $SLURMD_NODENAME $SLURM_PROCID $GREETING")
"""Host names are the same on all nodes, for they are one machine."""


def site(kind: str) -> ClusterSite:
    return ClusterSite("slurm", kind, HOSTS, {"mpi": "none"}, (), (("GREETING", "a b; c"),))


def job(
    directory: Path, command: BenchmarkCommand, hosts: tuple[str, ...], limit_s: float = 300.0
) -> LaunchJob:
    directory.mkdir(exist_ok=True)
    return LaunchJob(command, hosts, 2, directory, limit_s)


@pytest.mark.needs("slurm")
@pytest.mark.parametrize("kind", ["srun", "sbatch"])
def test_ranks_stand_on_hosts_in_the_order_of_a_job(slurm: Path, kind: str, tmp_path: Path) -> None:
    command = BenchmarkCommand(Start.MPI, WHO)
    outcome = launcher(site(kind)).launch(job(tmp_path / "job", command, ("n3", "n1")))
    assert outcome.ending is Ending.DONE, outcome.errors
    expected = ["n1 2 a b; c", "n1 3 a b; c", "n3 0 a b; c", "n3 1 a b; c"]
    assert sorted(outcome.text.splitlines()) == expected


@pytest.mark.needs("slurm")
def test_an_array_carries_out_jobs_of_its_own_each(slurm: Path, tmp_path: Path) -> None:
    jobs = [
        job(tmp_path / str(number), BenchmarkCommand(Start.ALONE, ("sh", "-c", word)), ("n2",))
        for number, word in enumerate(["echo one", "echo two >&2; exit 3", "echo three"])
    ]
    outcomes = SlurmBatchLauncher(site("sbatch")).launch_all(jobs)
    assert [outcome.text for outcome in outcomes] == ["one\n", "", "three\n"]
    assert [outcome.ending for outcome in outcomes] == [Ending.DONE, Ending.FAILED, Ending.DONE]
    assert "two" in outcomes[1].errors


@pytest.mark.needs("slurm")
@pytest.mark.parametrize("kind", ["srun", "sbatch"])
def test_a_job_ends_at_its_limit_with_its_processes(slurm: Path, kind: str, tmp_path: Path) -> None:
    command = BenchmarkCommand(Start.MPI, ("sleep", "97531"))
    outcome = launcher(site(kind)).launch(job(tmp_path / "job", command, ("n1", "n2"), 3.0))
    assert outcome.ending is Ending.TIMED_OUT, outcome.errors
    assert not [line for line in living.commands("sleep 97531") if line.startswith("sleep")]


@pytest.mark.needs("slurm")
def test_a_job_that_lives_is_found_and_one_that_is_completing_is_waited_for(slurm: Path) -> None:
    submission = ("sbatch", "--parsable", "--output=/dev/null", "--wrap=sleep 600")
    number = subprocess.check_output(submission, text=True).strip()
    with pytest.raises(AssertionError, match=rf"{number} (PD|CF|R)"):
        private_slurm.check_no_jobs()
    subprocess.run(["scancel", number], check=True)
    private_slurm.check_no_jobs()


@pytest.mark.needs("slurm")
def test_a_refused_request_is_reported(slurm: Path, tmp_path: Path) -> None:
    strange = ClusterSite("slurm", "sbatch", HOSTS, {"arguments": ("--partition=none",)})
    outcome = launcher(strange).launch(
        job(tmp_path, BenchmarkCommand(Start.ALONE, ("true",)), ("n1",))
    )
    assert outcome.ending is Ending.FAILED
    assert "invalid partition" in outcome.errors


class Clock:
    """Substitute for the module ``time``: sleeping takes no time, and things happen meanwhile."""

    def __init__(self, happens: Callable[[float], None]) -> None:
        self.now, self.happens = 0.0, happens

    def monotonic(self) -> float:
        return self.now

    def time_ns(self) -> int:
        return round(1e9 * self.now)

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.happens(self.now)


def test_an_outcome_is_seen_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def says(*words: str) -> str:
        asked.append(words[0])
        return "7\n"

    def happens(now: float) -> None:
        if now >= 100:
            write_outcome(tmp_path, LaunchOutcome(Ending.DONE, "text", "", (), 0, 1))

    clock = Clock(happens)
    monkeypatch.setattr(sbatch, "time", clock)
    for module in (sbatch, commands):
        monkeypatch.setattr(module, "slurm", says)
    monkeypatch.setattr(sbatch, "cancel_earlier", lambda job: None)
    monkeypatch.setattr(sbatch, "cancel", lambda number: None)
    outcome = SlurmBatchLauncher(site("sbatch")).launch(
        job(tmp_path, BenchmarkCommand(Start.ALONE, ("true",)), ("n1",))
    )
    assert outcome.text == "text"
    assert 100 <= clock.now < 100.2
    # Pauses of 0.1 s that grow by half reach 5 s after ten questions and 14 s; then 86 s remain.
    assert asked.count("squeue") < 10 + 86 / 5 + 3


def test_a_task_survives_its_file(tmp_path: Path) -> None:
    command = BenchmarkCommand(
        Start.CLIENT_SERVER, ("a", "{server}"), ("b",), (("X", "1"),), (("in", "text"),), "out"
    )
    link = SiteFabric(
        "eth", "tcp", "open_mpi", 1e9, "h0", None, (("n1", "10.0.0.1"),), (("A", "b"),)
    )
    cluster_site = ClusterSite(
        "s", "sbatch", HOSTS, {"mpi": "pmix"}, ("m",), (("Y", "2"),), (link,)
    )
    beside = Monitor("beside", ("sleep", "{host}"))
    wanted = LaunchJob(command, ("n1", "n2"), 2, tmp_path, 3.5, monitors=(beside,))
    write_tasks(tmp_path / "tasks.json", cluster_site, link, [wanted])
    assert read_task(tmp_path / "tasks.json", 0) == (cluster_site, link, wanted)
