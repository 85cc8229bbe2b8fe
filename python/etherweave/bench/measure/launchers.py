"""How ranks are launched without a site: by words of the user, on hosts that a launcher finds."""

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


class Launcher(StrEnum):
    """What starts the ranks."""

    LOCAL = "local"
    """``mpirun``, all ranks on this machine, more of them than processors if need be."""
    MPIRUN = "mpirun"
    """``mpirun`` on the hosts of a hostfile, or of the allocation that it finds."""
    SRUN = "srun"
    """Slurm, inside an allocation or making one."""

    @property
    def program(self) -> str:
        """Its name."""
        return "srun" if self is Launcher.SRUN else "mpirun"


class Launching(NamedTuple):
    """How to launch, as asked."""

    launcher: Launcher = Launcher.LOCAL
    hostfile: Path | None = None
    """For ``mpirun``."""
    extra: Sequence[str] = ()
    """Words for the launcher, before the program."""


@dataclass(frozen=True)
class Found:
    """Starts ranks where ``mpirun`` or ``srun`` finds hosts for them."""

    launching: Launching

    def ranks(
        self, job: LaunchJob, command: BenchmarkCommand, variables: Mapping[str, str]
    ) -> RanksCommand:
        """Return the call of the launcher."""
        return RanksCommand([*self._words(job), *self.launching.extra, *command.arguments], None)

    def _words(self, job: LaunchJob) -> list[str]:
        if self.launching.launcher is Launcher.SRUN:
            return ["srun", f"--ntasks={job.ranks}"]
        file, count = self.launching.hostfile, ["-np", str(job.ranks)]
        if flavour("mpirun")[0] != "Open MPI":
            return ["mpirun", *(["-f", str(file)] if file else []), *count]
        hosts = ["--hostfile", str(file)] if file else []
        # As in the simulation: a host for each rank, if there are.
        return ["mpirun", *user(), *hosts, "--map-by", "node", *count]


@dataclass(frozen=True)
class FromHere:
    """Starts what another does from the user's directory: files of options are named from there."""

    starter: RankStarter

    def ranks(
        self, job: LaunchJob, command: BenchmarkCommand, variables: Mapping[str, str]
    ) -> RanksCommand:
        """Return the other's call."""
        inner = self.starter.ranks(job, command, variables)
        return inner._replace(words=["env", "-C", str(Path.cwd()), *inner.words])


def starter(launching: Launching, site: ClusterSite) -> RankStarter:
    """Give what starts the ranks.

    Raises
    ------
    MeasureError
        When the launcher cannot do what is asked.
    """
    if launching.hostfile and launching.launcher is not Launcher.MPIRUN:
        raise MeasureError(
            f"--hostfile: {launching.launcher} takes none; expected --launcher mpirun"
        )
    if launching.launcher is Launcher.LOCAL:
        return FromHere(Mpirun(site, "mpirun", tuple(launching.extra)))
    return FromHere(Found(launching))
