"""The executor, compiled by the site's MPI where it will run.

Sources travel in the package; a compiled program is kept by what it was made of, so that the next
measurement finds it.
"""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from etherweave import _core
from etherweave.bench.launchers.access import with_modules
from etherweave.bench.measure.errors import MeasureError

FLAGS = ("-std=c11", "-D_POSIX_C_SOURCE=200809L", "-O2")
PARTS = ("executor.c", "program.c", "records.c", "streams.c", "clocks.c", "schedule.c")
PINGPONG = ("pingpong.c",)
TIMEOUT_S = 120.0
"""Longest that a compiler may take [s]."""


class Executor(NamedTuple):
    """A compiled program."""

    path: Path
    compiler: str
    """How the compiler calls itself."""


def cache() -> Path:
    """Tell where compiled executors are kept: ``$XDG_CACHE_HOME/etherweave``."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "etherweave"


def build(
    compiler: str = "mpicc",
    parts: Sequence[str] = PARTS,
    *,
    into: Path | None = None,
    flags: Sequence[str] = (),
    modules: tuple[str, ...] = (),
) -> Executor:
    """Compile a program, or find it compiled.

    Parameters
    ----------
    compiler
        Of MPI programs in C, by name or path.
    parts
        Sources to compile; the first names the program.
    into
        Directory of compiled programs; the cache unless given.
    flags
        Beyond ``FLAGS``.
    modules
        Loaded before the compiler is called, and may bring it.

    Raises
    ------
    MeasureError
        When there is no such compiler, or it refuses the sources.
    """
    found = compiler if modules else shutil.which(compiler)
    call = with_modules(modules, [found or "false"])
    called = _said([*call, "--version"]).partition("\n")[0]
    if found is None or (modules and not called):
        among = f" with {' '.join(modules)}" if modules else ""
        raise MeasureError(
            f"{compiler}: not found{among}; expected a compiler of MPI programs (libopenmpi-dev)"
        )
    sources = dict(_core.executor_sources())
    words = [*FLAGS, *flags]
    key = _key([*call, called, _said([*call, "-show"]), *words, *parts], sources)
    program = (into or cache()) / f"{Path(parts[0]).stem}-{key}"
    if not program.exists():
        _compile([*call, *words], parts, sources, program)
    return Executor(program, called)


def _key(words: Sequence[str], sources: Mapping[str, str]) -> str:
    made_of = "\0".join([*words, *(f"{name}\0{text}" for name, text in sorted(sources.items()))])
    return hashlib.sha256(made_of.encode()).hexdigest()[:16]


def _compile(
    compiler: Sequence[str], parts: Sequence[str], sources: Mapping[str, str], program: Path
) -> None:
    program.parent.mkdir(parents=True, exist_ok=True)
    # On the same file system, so that the program takes its place whole.
    with TemporaryDirectory(prefix=".building-", dir=program.parent) as directory:
        place = Path(directory)
        for name, text in sources.items():
            (place / name).write_text(text, encoding="utf-8")
        made = place / program.name
        words = [*compiler, "-o", str(made), *(str(place / part) for part in parts)]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
        if done.returncode != 0:
            raise MeasureError(f"{' '.join(compiler)} refuses the executor:\n{done.stderr.strip()}")
        made.replace(program)


def _said(words: Sequence[str]) -> str:
    """Hear what a program says of itself; not every compiler knows every question."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    return done.stdout.strip()
