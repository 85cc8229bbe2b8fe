"""Programs of this machine: where one is, which version, and which MPI library it is linked with.

A build copied from another MPI starts as so many single processes; asking first is cheap.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from etherweave.bench.adapter import Adapter

PATIENCE = 10.0
"""For a program that is asked for its version [s]."""
_LIBRARIES = (
    (r"libmpi_(?:cray|gnu|intel|nvidia|amd)\S*\.so", "Cray MPICH"),
    (r"libopen-(?:pal|rte)\.so|liboshmem\.so|libmpi\.so\.(?:20|40|80)\b", "Open MPI"),
    (r"\S*intel\S*/libmpi\.so\.12|\S*impi\S*/libmpi\.so\.12", "Intel MPI"),
    (r"\S*mvapich\S*/libmpi\.so", "MVAPICH"),
    (r"libmpich\.so|libmpi\.so\.12\b", "MPICH"),
)


@dataclass(frozen=True)
class Binary:
    """A program that was found."""

    path: Path
    version: str | None
    """As it says itself; ``None`` if it says so only in its results."""
    mpi: str | None
    """The MPI library that it is linked with, if any."""


def find(adapter: Adapter, program: str, folders: str | None = None) -> Binary | None:
    """Look for a program of a benchmark.

    Parameters
    ----------
    adapter
        The benchmark.
    program
        One of its programs, or a path.
    folders
        Where to look, as in ``PATH``, which it is by default.
    """
    found = shutil.which(program, path=folders)
    if found is None:
        return None
    path = Path(found).resolve()
    return Binary(path, _version(adapter, path), mpi_of(_said("ldd", str(path))))


def mpi_of(libraries: str) -> str | None:
    """Tell the MPI library from what ``ldd`` says."""
    for pattern, name in _LIBRARIES:
        if re.search(pattern, libraries):
            return name
    return None


def launcher_mpi(said: str) -> str | None:
    """Tell the MPI library from what ``mpirun --version`` says."""
    names = {
        **{"Open MPI": "Open MPI", "OpenRTE": "Open MPI"},
        **{"HYDRA": "MPICH", "Intel(R) MPI": "Intel MPI"},
    }
    return next((names[word] for word in names if word in said), None)


def _version(adapter: Adapter, path: Path) -> str | None:
    if adapter.version is None:
        return None
    arguments, pattern = adapter.version
    match = re.search(pattern, _said(str(path), *arguments))
    return match and match[1]


def _said(*command: str) -> str:
    """Return what a program prints; nothing if it cannot be started, or takes too long."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE,
            check=False,
            env=os.environ | {"LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace")
