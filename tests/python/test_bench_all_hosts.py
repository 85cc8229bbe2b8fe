"""Programs beside a job, on each of its hosts."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from etherweave.bench.launchers import Ending, Job
from etherweave.bench.launchers.batch import read_task, write_tasks
from etherweave.bench.launchers.companions import Heard, heard
from etherweave.bench.launchers.known import launcher
from etherweave.bench.launchers.launcher import Companion, Outcome
from etherweave.bench.plans import Command, Start
from etherweave.bench.site.reading import site as read_site
from etherweave.bench.site.values import Host, Option, Site

FAKE_SSH = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
[ "$2" != gone ] || {{ echo "ssh: connect to host gone: no route" >&2; exit 255; }}
shift 2
exec sh -c "$*"
"""


@pytest.fixture
def by_ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Site]:
    """Make sites whose ssh is a script that does what sshd would; nobody is at ``gone``."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "ssh").write_text(FAKE_SSH.format())
    (folder / "ssh").chmod(0o700)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    def site(*addresses: str, **options: Option) -> Site:
        hosts = (Host(f"n{at}", one, "lo") for at, one in enumerate(addresses, 1))
        return Site("remote", "ssh", tuple(hosts), options)

    return site


def alone(*words: str) -> Command:
    return Command(Start.ALONE, words)


def launch(directory: Path, site: Site, *companions: Companion, command: Command) -> Outcome:
    job = Job(
        command, tuple(one.name for one in site.hosts), 1, directory, 20.0, companions=companions
    )
    directory.mkdir(exist_ok=True)
    return launcher(site).launch(job)


def left(directory: Path, site: Site, name: str) -> list[Heard]:
    names = tuple(one.name for one in site.hosts)
    return heard(Job(alone("true"), names, 1, directory, 20.0), name)


# Companions


STAND_BY = """
import sys, time
print("ready", *sys.argv[1:], flush=True)
sys.stdin.read()
print("told to end")
"""


def test_companions_stand_by_on_each_host_before_the_command_and_after_it(
    by_ssh: Callable[..., Site], tmp_path: Path
) -> None:
    site = by_ssh("127.0.0.1", "127.0.0.2")
    words = (sys.executable, "-c", STAND_BY, "{host} {interface} {server} {odd}")
    directory = tmp_path / "job"
    peek = alone("cat", *(str(directory / f"beside-{host}.out") for host in ("n1", "n2")))
    done = launch(directory, site, Companion("beside", words), command=peek)
    assert (done.ending, done.text.splitlines()) == (
        Ending.DONE,
        ["ready n1 lo 127.0.0.1 {odd}", "ready n2 lo 127.0.0.1 {odd}"],
    )
    for one in left(directory, site, "beside"):
        assert one.text.endswith("told to end\n")
        at = one.attendance
        assert at.ready_ns and at.closed_ns and at.ended_ns
        assert at.started_ns < at.ready_ns < at.closed_ns < at.ended_ns
        assert (at.interface, at.status) == ("lo", 0)


def test_a_companion_that_fails_or_dies_keeps_nobody_from_anything(
    by_ssh: Callable[..., Site], tmp_path: Path
) -> None:
    site = by_ssh("127.0.0.1", "gone")
    directory = tmp_path / "job"
    dies = Companion("dies", ("sh", "-c", "echo alas >&2; exit 3"))
    lacks = Companion("lacks", ("/no/such/program",))
    done = launch(directory, site, dies, lacks, command=alone("echo", "well"))
    assert (done.ending, done.text) == (Ending.DONE, "well\n")
    first, second = left(directory, site, "dies")
    assert (first.attendance.status, first.reason) == (3, "alas")
    assert (second.attendance.status, second.reason) == (255, "ssh: connect to host gone: no route")
    assert "/no/such/program" in left(directory, site, "lacks")[0].reason


def test_the_limit_of_a_launch_begins_when_its_companions_are_ready(tmp_path: Path) -> None:
    site = Site("here", "local", (Host("n1", "n1"),))
    late = Companion("late", ("sh", "-c", "sleep 1.5; echo ready; cat"))
    job = Job(alone("sleep", "1"), ("n1",), 1, tmp_path, 2.0, companions=(late,))
    assert launcher(site).launch(job).ending is Ending.DONE


def test_companions_of_a_launch_that_is_ended_may_still_tell(tmp_path: Path) -> None:
    site = Site("here", "local", (Host("n1", "n1"),))
    words = (sys.executable, "-c", STAND_BY)
    job = Job(
        alone("sleep", "60"), ("n1",), 1, tmp_path, 0.5, companions=(Companion("beside", words),)
    )
    assert launcher(site).launch(job).ending is Ending.TIMED_OUT
    (one,) = heard(job, "beside")
    assert one.text == "ready\ntold to end\n"


def test_companions_of_batch_jobs_survive_their_file(tmp_path: Path) -> None:
    site = Site("batch", "sbatch", (Host("n1", "n1"),))
    beside = Companion("beside", ("sleep", "{host}"))
    job = Job(alone("true"), ("n1",), 1, tmp_path, 3.5, companions=(beside,))
    write_tasks(tmp_path / "tasks.json", site, None, [job])
    assert read_task(tmp_path / "tasks.json", 0)[2] == job


def test_every_launcher_may_be_told_which_python_has_etherweave() -> None:
    text = 'launcher = {{ kind = "{}", python = "/opt/python" }}\nhosts = {{ n1 = {{}} }}\n'
    for kind in ("local", "ssh", "mpirun", "srun", "sbatch", "netns"):
        assert read_site(text.format(kind), "x").text("python", "") == "/opt/python"
