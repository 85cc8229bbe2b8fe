"""How ranks are launched: a launcher is a command line, and nothing more."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from etherweave.bench.measure.errors import MeasureError


class Launcher(StrEnum):
    """What starts the ranks."""

    LOCAL = "local"
    """``mpirun``, all ranks on this machine, more of them than processors if need be."""
    MPIRUN = "mpirun"
    """``mpirun`` on the hosts of a hostfile, or of the allocation that it finds."""
    SRUN = "srun"
    """Slurm, inside an allocation or making one."""


class Launching(NamedTuple):
    """How to launch, as asked."""

    launcher: Launcher = Launcher.LOCAL
    hostfile: Path | None = None
    """For ``mpirun``."""
    extra: Sequence[str] = ()
    """Words for the launcher, before the program."""


class Place(NamedTuple):
    """What the launcher must know of where it runs."""

    version: str
    """What ``mpirun --version`` says; empty when it is not asked."""
    processors: int
    """Of this machine."""
    is_root: bool
    """Whether this user is root: Open MPI wants to be told that it is meant."""


def program(launcher: Launcher) -> str:
    """Name the launcher's program."""
    return "srun" if launcher is Launcher.SRUN else "mpirun"


def command(launching: Launching, place: Place, ranks: int) -> list[str]:
    """Give the words that start so many ranks; the program and its own words follow.

    Raises
    ------
    MeasureError
        When the launcher cannot do what is asked.
    """
    if launching.hostfile and launching.launcher is not Launcher.MPIRUN:
        raise MeasureError(
            f"--hostfile: {launching.launcher} takes none; expected --launcher mpirun"
        )
    if launching.launcher is Launcher.SRUN:
        return ["srun", f"--ntasks={ranks}", *launching.extra]
    words = _open_mpi(launching, place, ranks) if is_open_mpi(place) else _mpich(launching)
    return ["mpirun", *words, "-np", str(ranks), *launching.extra]


def is_open_mpi(place: Place) -> bool:
    """Tell whether ``mpirun`` is that of Open MPI, or one that takes its words."""
    return "Open MPI" in place.version or "OpenRTE" in place.version or "PRTE" in place.version


def _open_mpi(launching: Launching, place: Place, ranks: int) -> list[str]:
    words = ["--allow-run-as-root"] if place.is_root else []
    if launching.hostfile:
        words += ["--hostfile", str(launching.hostfile)]
    if launching.launcher is Launcher.LOCAL:
        words.append("--oversubscribe")
        if ranks > place.processors:
            # Ranks that wait busily would take the processor from those that they wait for.
            words += ["--mca", "mpi_yield_when_idle", "1"]
    else:
        words += ["--map-by", "node"]  # as in the simulation: a host for each rank, if there are
    return words


def _mpich(launching: Launching) -> list[str]:
    return ["-f", str(launching.hostfile)] if launching.hostfile else []
