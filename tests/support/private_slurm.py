"""A Slurm of four nodes on this machine, in a directory of its own, on ports nobody uses."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from support.living import of_processes
from support.ports import free_ports

NODES = ("n1", "n2", "n3", "n4")
_PATIENCE_S = 120.0
_STARTED: dict[str, list[subprocess.Popen[bytes]]] = {}  # Daemons by directory.
# A process group is signalled at once. proctrack/linuxproc signals what a snapshot of /proc shows,
# and loses a process that is forked meanwhile: of 40 steps that were ended as they began, one left
# its `sleep` behind, and two hung. proctrack/cgroup needs a cgroup file system of its own.
# A signal that comes before a job's process begins is lost. The process is killed KillWait later,
# by default 30 s.
_CONFIGURATION = """\
ClusterName=etherweave
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={directory}/munge.sock
SlurmctldPidFile={directory}/slurmctld.pid
SlurmctldLogFile={directory}/slurmctld.log
SlurmdPidFile={directory}/%n.pid
SlurmdLogFile={directory}/%n.log
SlurmdSpoolDir={directory}/spool/%n
StateSaveLocation={directory}/state
TmpFS={directory}/tmp/%n
ProctrackType=proctrack/pgid
TaskPlugin=task/none
TaskProlog={directory}/task_prolog
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=500
ReturnToService=2
MpiDefault=none
KillWait=1
SchedulerParameters=sched_min_interval=0,batch_sched_delay=0
{nodes}
PartitionName=all Nodes=n[1-4] Default=YES State=UP
"""


_PROLOG = """\
#!/bin/sh
echo "export TMPDIR={directory}/tmp/$SLURMD_NODENAME"
"""
"""Each node has temporary files of its own: MPI libraries make directories of one name."""


@contextmanager
def running() -> Iterator[Path]:
    """Let it run while the block lasts; gives the file that SLURM_CONF must name."""
    directory = Path(tempfile.mkdtemp(prefix="ew-slurm-"))
    try:
        for name in ("state", *(f"{kind}/{node}" for kind in ("spool", "tmp") for node in NODES)):
            (directory / name).mkdir(parents=True)
        prolog = directory / "task_prolog"
        prolog.write_text(_PROLOG.format(directory=directory))
        prolog.chmod(0o755)
        file = directory / "slurm.conf"
        file.write_text(_configuration(directory))
        _start_munge(directory)
        _start(directory, ["slurmctld", "-D", "-f", str(file)])
        for node in NODES:
            _start(directory, ["slurmd", "-D", "-f", str(file), "-N", node])
        _await_idle(file)
        yield file
    finally:
        _stop(directory)
        shutil.rmtree(directory, ignore_errors=True)


def check_no_jobs() -> None:
    """Fail if Slurm has a job; one that is completing is over, and may take its time to be gone."""
    result = _jobs()
    assert not [job for job in result if not job.endswith(" CG")], result
    _await(lambda: not _jobs(), "the end of completing jobs")


def _jobs() -> list[str]:
    """Return the numbers and states of jobs."""
    words = ["squeue", "--noheader", "--format=%i %t"]
    return subprocess.check_output(words, text=True).splitlines()


def _configuration(directory: Path) -> str:
    controller, *ports = free_ports(1 + len(NODES))
    nodes = [
        f"NodeName={node} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} "
        "CPUs=2 RealMemory=2000"
        for node, port in zip(NODES, ports, strict=True)
    ]
    return _CONFIGURATION.format(directory=directory, controller=controller, nodes="\n".join(nodes))


def _start_munge(directory: Path) -> None:
    key = directory / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    files = [f"--{name}-file={directory}/munge.{name}" for name in ("key", "pid", "log", "seed")]
    _start(
        directory, ["munged", "--foreground", "--force", f"--socket={directory}/munge.sock", *files]
    )
    _await(lambda: (directory / "munge.sock").exists(), "munged")


def _start(directory: Path, words: list[str]) -> None:
    with (directory / "daemons.log").open("ab") as log:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=os.environ | {"EW_SLURM": str(directory)},
            start_new_session=True,
        )
    _STARTED.setdefault(str(directory), []).append(process)


def _await_idle(file: Path) -> None:
    def is_idle() -> bool:
        words = ["sinfo", "--noheader", "--states=idle", "--format=%D"]
        env = os.environ | {"SLURM_CONF": str(file)}
        return subprocess.run(words, capture_output=True, text=True, env=env).stdout.strip() == "4"

    _await(is_idle, "four idle nodes", (file.parent / "daemons.log"))


def _await(is_there: Callable[[], bool], what: str, log: Path | None = None) -> None:
    end = time.monotonic() + _PATIENCE_S
    while not is_there():
        said = log.read_text()[-2000:] if log else ""
        assert time.monotonic() < end, f"{what}: not there in {_PATIENCE_S:g} s\n{said}"
        time.sleep(0.02)


def _stop(directory: Path) -> None:
    """End the daemons, controller first, and whatever their nodes still run."""
    processes = _STARTED.pop(str(directory), [])
    for process in reversed(processes):
        process.terminate()
    for process in processes:
        with suppress(subprocess.TimeoutExpired):
            process.wait(5)
        process.kill()
        process.wait()
    for number in bearers(directory):
        with suppress(OSError):
            os.kill(number, signal.SIGKILL)


def bearers(directory: Path) -> list[int]:
    """Return the processes that descend from the daemons."""
    mark = f"EW_SLURM={directory}"
    return [number for number, text in of_processes("environ") if mark in text]
