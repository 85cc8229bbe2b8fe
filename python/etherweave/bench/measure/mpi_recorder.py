"""The recorder of MPI programs: compiled by the site's MPI, loaded before a program."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from etherweave.bench.measure.executor import Executor, build

PARTS = (
    "recorder.c",
    "requests.c",
    "record_messages.c",
    "record_requests.c",
    "record_collectives.c",
    "record_communicators.c",
    "clocks.c",
)
FLAGS = ("-shared", "-fPIC")
DIRECTORY = "ETHERWEAVE_RECORD"
"""Variable that names the directory of the files."""
PRELOAD = "LD_PRELOAD"


def library(compiler: str = "mpicc") -> Executor:
    """Compile the recorder, unless the cache has it.

    Raises
    ------
    MeasureError
        When there is no such compiler, or it rejects the sources.
    """
    return build(compiler, PARTS, flags=FLAGS)


def variables(made: Executor, directory: Path, inherited: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that make a program record itself into a directory."""
    loaded = [str(made.path), *filter(None, [inherited.get(PRELOAD)])]
    return {PRELOAD: ":".join(loaded), DIRECTORY: str(directory.absolute())}


def run(command: Sequence[str], made: Executor, directory: Path) -> int:
    """Run a command whose MPI programs record themselves; returns how it ended.

    Raises
    ------
    OSError
        When it cannot be started.
    """
    directory.mkdir(parents=True, exist_ok=True)
    environment = os.environ | variables(made, directory, os.environ)
    return subprocess.run(command, env=environment, check=False).returncode
