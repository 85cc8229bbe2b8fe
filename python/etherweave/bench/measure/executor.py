"""The executor, compiled by the site's MPI where it will run, and the directories of its launches.

Sources are part of the package; a compiled program is cached under a hash of sources and compiler.
Directories of launches stand beside it: hosts that can read the one can read the other. Each is
removed after its launch; what a killed measurement left, the next one on the same machine removes.
"""

import hashlib
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from etherweave import _core
from etherweave.api.outputs import cache
from etherweave.bench.launchers.access import with_modules
from etherweave.bench.measure.errors import MeasureError
from etherweave.linux import processes

FLAGS = ("-std=c11", "-D_POSIX_C_SOURCE=200809L", "-O2")
PARTS = (
    "executor.c",
    "program.c",
    "records.c",
    "streams.c",
    "clocks.c",
    "schedule.c",
    "priorities.c",
)
TIMEOUT_S = 120.0  # Time limit of a compiler [s].
LINES_MAX = 10  # Lines of a compiler's output in an error: the first mistake leads to the others.


class Executor(NamedTuple):
    """A compiled program."""

    path: Path
    compiler: str  # First line of the compiler's version.


def build(
    compiler: str = "mpicc",
    parts: Sequence[str] = PARTS,
    *,
    into: Path | None = None,
    flags: Sequence[str] = (),
    libraries: Sequence[str] = (),
    modules: tuple[str, ...] = (),
) -> Executor:
    """Compile a program, unless the cache has it.

    ``compiler`` is one of MPI programs in C, by name or path. The first of ``parts`` names the
    program; ``libraries`` are options behind the sources, ``flags`` those beyond ``FLAGS``.
    ``modules`` are loaded before, and may provide the compiler. ``into`` is the cache unless given.
    Raises ``MeasureError`` when there is no such compiler, or it rejects the sources.
    """
    path = compiler if modules else shutil.which(compiler)
    call = with_modules(modules, [path or "false"])
    version = _output([*call, "--version"]).partition("\n")[0]
    if path is None or (modules and not version):
        among = f" with {' '.join(modules)}" if modules else ""
        raise MeasureError(
            f"{compiler}: not found{among}; expected a compiler of MPI programs (libopenmpi-dev)"
        )
    sources = dict(_core.executor_sources())
    words = [*FLAGS, *flags]
    key = _key([*call, version, _output([*call, "-show"]), *words, *parts, *libraries], sources)
    program = (into or cache()) / f"{Path(parts[0]).stem}-{key}"
    if not program.exists():
        _compile([*call, *words], parts, libraries, sources, program)
    return Executor(program, version)


def _key(words: Sequence[str], sources: Mapping[str, str]) -> str:
    made_of = "\0".join([*words, *(f"{name}\0{text}" for name, text in sorted(sources.items()))])
    return hashlib.sha256(made_of.encode()).hexdigest()[:16]


def _compile(
    compiler: Sequence[str],
    parts: Sequence[str],
    libraries: Sequence[str],
    sources: Mapping[str, str],
    program: Path,
) -> None:
    program.parent.mkdir(parents=True, exist_ok=True)
    # On the same file system, so that the program takes its place whole.
    with TemporaryDirectory(prefix=".building-", dir=program.parent) as directory:
        place = Path(directory)
        for name, text in sources.items():
            (place / name).write_text(text, encoding="utf-8")
        made = place / program.name
        words = [*compiler, "-o", str(made), *(str(place / part) for part in parts)]
        words += libraries
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
        if done.returncode != 0:
            raise MeasureError(_rejected(compiler, parts, done.stderr))
        made.replace(program)


def _rejected(compiler: Sequence[str], parts: Sequence[str], output: str) -> str:
    """Return what a compiler does not compile, and the beginning of what it printed."""
    lines = output.strip().splitlines()
    left = len(lines) - LINES_MAX
    more = [f"({left} lines more)"] if left > 0 else []
    text = "\n".join([*lines[:LINES_MAX], *more])
    return f"{' '.join(compiler)} rejects the {Path(parts[0]).stem}:\n{text}"


def _output(words: Sequence[str]) -> str:
    """Return what a program prints of itself; not every compiler knows every option."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    return done.stdout.strip()


@contextmanager
def launch_directory(cache: Path) -> Iterator[Path]:
    """Create an empty directory in the cache, and remove it after the block."""
    cache.mkdir(parents=True, exist_ok=True)
    remove_abandoned(cache)
    with TemporaryDirectory(prefix=f"{_prefix()}{processes.identity()}.", dir=cache) as directory:
        yield Path(directory)


def remove_abandoned(cache: Path) -> None:
    """Remove the directories of processes of this machine that have ended."""
    owned = re.compile(rf"{re.escape(_prefix())}(\d+\.\d+)\.[^.]+")
    for path in cache.glob("launch-*"):
        owner = owned.fullmatch(path.name)
        if owner and processes.has_ended(owner[1]):
            shutil.rmtree(path, ignore_errors=True)


def _prefix() -> str:
    """Return the prefix of this machine: machines may share the cache, but not their processes."""
    return f"launch-{re.sub('[^A-Za-z0-9-]', '-', platform.node())}."
