"""Steps of a Slurm allocation: of the one around this process, or of one for each launch.

Needs no accounting: the allocation's number is what ``salloc`` prints.
"""

import hashlib
import math
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from etherweave.bench.launchers.access import Task, guarded, with_modules
from etherweave.bench.launchers.launcher import Launcher, LauncherKind, LaunchJob, OptionKind
from etherweave.bench.launchers.mpirun import lacking
from etherweave.bench.launchers.processes import OverdueError, ProcessGroup
from etherweave.bench.launchers.site_launcher import (
    LaunchContext,
    LauncherError,
    RanksCommand,
    SiteLauncher,
)
from etherweave.bench.programs.plans import BenchmarkCommand
from etherweave.bench.site.values import ClusterSite, SiteFabric
from etherweave.sweeps.slurm import SlurmError, slurm

WAIT_S = 3600.0  # Longest time in the queue, unless the site sets another [s].
MPI = "pmix"
_GRANTED = re.compile(r"[Gg]ranted job allocation (\d+)")
_PATIENCE_S = 30.0
_PAUSE_S = 0.1
_SPARE_S = 60.0  # Time after the limit of a launch at which Slurm ends its allocation [s].


@dataclass(frozen=True)
class SlurmSteps:
    """Starts processes, and ranks, as steps of an allocation."""

    site: ClusterSite
    allocation: str

    def words(self, host: str, task: Task) -> list[str]:
        """Return the guarded step of one task; it shares processors with others."""
        options = ["--nodes=1", "--ntasks=1", f"--nodelist={host}", "--mpi=none"]
        where = [f"--chdir={task.directory}"] if task.directory else []
        words = with_modules(self.site.modules, task.words)
        return task.bounded([*self._step(), *options, *where, "--", *words])

    def ranks(
        self, job: LaunchJob, command: BenchmarkCommand, variables: Mapping[str, str]
    ) -> RanksCommand:
        """Return the step of all ranks, on hosts in the order of the job."""
        order = job.directory / "ranks"
        lines = [f"{host}\n" for host in job.hosts for _ in range(job.ranks_per_node)][: job.ranks]
        order.write_text("".join(lines), encoding="utf-8")
        words = [*self._step(), f"--nodes={len(job.hosts)}", f"--ntasks={len(lines)}"]
        words += ["--distribution=arbitrary", f"--nodelist={order}", f"--chdir={job.directory}"]
        words += [f"--mpi={self.site.text('mpi', MPI)}", "--"]
        return RanksCommand([*words, *with_modules(self.site.modules, command.arguments)], None)

    def _step(self) -> list[str]:
        return ["srun", f"--jobid={self.allocation}", "--overlap"]


def allocation_options(job: LaunchJob) -> list[str]:
    """Return the options of Slurm that request a job's hosts."""
    minutes = math.ceil((job.limit_s + _SPARE_S) / 60)
    hosts = ",".join(job.hosts)
    return [
        *(f"--job-name={_name(job.directory)}", f"--nodes={len(job.hosts)}"),
        f"--nodelist={hosts}",
        *(f"--ntasks-per-node={job.ranks_per_node}", f"--time={minutes}"),
    ]


def _name(directory: Path) -> str:
    return f"etherweave-{hashlib.sha256(str(directory.absolute()).encode()).hexdigest()[:16]}"


def cancel_earlier(job: LaunchJob) -> None:
    """Cancel the jobs that a killed session left for the directory of a job, and await their end.

    Until then they would share the hosts with the job, and disturb what it measures.
    """
    own = (f"--name={_name(job.directory)}", f"--user={os.geteuid()}")
    end = time.monotonic() + _PATIENCE_S
    if _called("squeue", "--noheader", "--format=%i", *own):
        _called("scancel", *own)
        while _called("squeue", "--noheader", "--format=%i", *own) and time.monotonic() < end:
            time.sleep(_PAUSE_S)


def cancel(allocation: str) -> None:
    """Give an allocation back; what runs in it ends."""
    _called("scancel", allocation)


def _called(*words: str) -> str:
    """Run a command of Slurm and return what it prints; nothing if it fails."""
    with suppress(SlurmError):
        return slurm(*words, patience_s=_PATIENCE_S).strip()
    return ""


@contextmanager
def _context(site: ClusterSite, job: LaunchJob, group: ProcessGroup) -> Iterator[LaunchContext]:
    if allocation := os.environ.get("SLURM_JOB_ID"):
        steps = SlurmSteps(site, allocation)
        yield LaunchContext(steps, site, steps)
        return
    cancel_earlier(job)
    try:
        steps = SlurmSteps(site, _allocate(site, job, group))
        yield LaunchContext(steps, site, steps)
    finally:
        if granted := _GRANTED.search(group.errors("salloc")):
            cancel(granted[1])


def _allocate(site: ClusterSite, job: LaunchJob, group: ProcessGroup) -> str:
    wait_s = site.number("wait", WAIT_S)
    group.limit(wait_s)
    words = ["salloc", "--no-shell", *allocation_options(job), *site.texts("arguments")]
    try:
        group.wait(group.start("salloc", guarded(words, wait_s), {}))
    except OverdueError:
        raise LauncherError(f"salloc: nothing was granted within {wait_s:g} s") from None
    group.limit(job.limit_s)
    granted = _GRANTED.search(group.errors("salloc"))
    if granted is None:
        raise LauncherError(group.errors("salloc") or "salloc: granted nothing")
    return granted[1]


def _make(site: ClusterSite, link: SiteFabric | None) -> Launcher:
    programs = ("salloc", "srun", "scancel", "squeue", "timeout")
    return SiteLauncher("srun", site, link, partial(_context, site), partial(lacking, *programs))


KIND = LauncherKind(
    "srun", _make, {"arguments": OptionKind.TEXTS, "mpi": OptionKind.TEXT, "wait": OptionKind.TIME}
)
