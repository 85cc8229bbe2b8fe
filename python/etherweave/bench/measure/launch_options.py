"""Launching of ranks without a site: by options of the user, on hosts of the launcher."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from etherweave.bench.launchers.launcher import LaunchJob
from etherweave.bench.launchers.mpirun import Mpirun, flavour, user
from etherweave.bench.launchers.site_launcher import RanksCommand, RankStarter
from etherweave.bench.measure.errors import MeasureError
from etherweave.bench.plans import BenchmarkCommand
from etherweave.bench.site.values import ClusterSite


class LaunchProgram(StrEnum):
    """Program that starts the ranks."""

    LOCAL = "local"
    """``mpirun``, all ranks on this machine, more of them than processors if need be."""
    MPIRUN = "mpirun"
    """``mpirun`` on the hosts of a hostfile, or of the allocation that it finds."""
    SRUN = "srun"
    """Slurm, inside an allocation or making one."""

    @property
    def program(self) -> str:
        """Its command."""
        return "srun" if self is LaunchProgram.SRUN else "mpirun"


class LaunchOptions(NamedTuple):
    """Options of a launch without a site."""

    launcher: LaunchProgram = LaunchProgram.LOCAL
    hostfile: Path | None = None
    """Hosts for ``mpirun``."""
    extra: Sequence[str] = ()
    """Arguments for the launcher, before the program."""


@dataclass(frozen=True)
class AllocatedRanks:
    """Start ranks on the hosts that ``mpirun`` or ``srun`` allocates."""

    options: LaunchOptions

    def ranks(
        self, job: LaunchJob, command: BenchmarkCommand, variables: Mapping[str, str]
    ) -> RanksCommand:
        """Return the command of the launcher."""
        return RanksCommand([*self._words(job), *self.options.extra, *command.arguments], None)

    def _words(self, job: LaunchJob) -> list[str]:
        if self.options.launcher is LaunchProgram.SRUN:
            return ["srun", f"--ntasks={job.ranks}"]
        file, count = self.options.hostfile, ["-np", str(job.ranks)]
        if flavour("mpirun")[0] != "Open MPI":
            return ["mpirun", *(["-f", str(file)] if file else []), *count]
        hosts = ["--hostfile", str(file)] if file else []
        # As in the simulation: a host for each rank, if there are enough.
        return ["mpirun", *user(), *hosts, "--map-by", "node", *count]


@dataclass(frozen=True)
class FromUserDirectory:
    """Run another starter in the user's directory, since options name files relative to it."""

    starter: RankStarter

    def ranks(
        self, job: LaunchJob, command: BenchmarkCommand, variables: Mapping[str, str]
    ) -> RanksCommand:
        """Return the other's command, run in the user's directory."""
        inner = self.starter.ranks(job, command, variables)
        return inner._replace(words=["env", "-C", str(Path.cwd()), *inner.words])


def starter(options: LaunchOptions, site: ClusterSite) -> RankStarter:
    """Return the starter of the ranks.

    Raises
    ------
    MeasureError
        When the launcher does not support an option.
    """
    if options.hostfile and options.launcher is not LaunchProgram.MPIRUN:
        raise MeasureError(f"--hostfile: {options.launcher} takes none; expected --launcher mpirun")
    if options.launcher is LaunchProgram.LOCAL:
        return FromUserDirectory(Mpirun(site, "mpirun", tuple(options.extra)))
    return FromUserDirectory(AllocatedRanks(options))
