"""Processes of this machine: their words, variables and programs."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def of_processes(name: str) -> Iterator[tuple[int, str]]:
    """Yield the number of each process with its file in ``/proc``, blanks between its words."""
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            text = (path / name).read_bytes().replace(b"\0", b" ")
            yield int(path.name), text.decode(errors="replace")


def commands(mark: str) -> list[str]:
    """Return the command lines in which a mark stands."""
    return [line for _, line in of_processes("cmdline") if mark in line]


def programs(directory: str) -> list[Path]:
    """Return the programs of a directory that run, once for each process."""
    paths = []
    for path in Path("/proc").glob("[0-9]*/exe"):
        with suppress(OSError):
            paths.append(path.readlink())
    return [path for path in paths if str(path).startswith(directory)]
