"""Programs of this machine: where one is, which version, and which MPI library it is linked with.

A program that is linked with another MPI library starts as single processes; to check first is
cheap.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from etherweave.bench.programs.adapter import Adapter

VERSION_LIMIT_S = 10.0  # Longest time for a program to print its version [s].
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
    version: str | None  # Version as it prints it; ``None`` if only in its results.
    mpi: str | None  # The MPI library that it is linked with, if any.


def find(adapter: Adapter, program: str, folders: str | None = None) -> Binary | None:
    """Find a program of a benchmark on this machine.

    ``program`` is one of its programs or a path; ``folders`` are directories as in ``PATH``, which
    is the default.
    """
    file = shutil.which(program, path=folders)
    if file is None:
        return None
    path = Path(file).resolve()
    return Binary(path, _version(adapter, path), mpi_of(_said("ldd", str(path))))


def mpi_of(libraries: str) -> str | None:
    """Return the MPI library that the output of ``ldd`` names."""
    for pattern, name in _LIBRARIES:
        if re.search(pattern, libraries):
            return name
    return None


def launcher_mpi(printed: str) -> str | None:
    """Return the MPI library that the output of ``mpirun --version`` names."""
    names = {
        **{"Open MPI": "Open MPI", "OpenRTE": "Open MPI"},
        **{"HYDRA": "MPICH", "Intel(R) MPI": "Intel MPI"},
    }
    return next((names[word] for word in names if word in printed), None)


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
            timeout=VERSION_LIMIT_S,
            check=False,
            env=os.environ | {"LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace")
