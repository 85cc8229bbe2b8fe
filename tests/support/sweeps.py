"""A small sweep, which takes two seconds, and processes that carry it out."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.command_line import COMMAND
from support.waiting import until

FILE = "incast.toml"
_TEXT = """\
topology.single_switch = {{ hosts = 10 }}
transport.roce = {{}}

[[job]]
name = "incast"
workload.incast = {{ sources = 2, message = "4kB", messages = 500 }}

[sweep]
seeds = {seeds}
partition = ["job.0.workload.incast.message"]

[[sweep.axis]]
key = "job.0.workload.incast.sources"
{sources}

[[sweep.axis]]
key = "job.0.workload.incast.message"
values = ["1kB", "4 kB", "64KiB"]
"""
PATIENCE_S = 300.0  # Long enough for a busy machine [s].


def write(directory: Path, sources: str = "from = 1\nto = 8\ncount = 4", seeds: int = 2) -> Path:
    """Write the sweep's file."""
    path = directory / FILE
    path.write_text(_TEXT.format(sources=sources, seeds=seeds))
    return path


def contents(home: Path) -> dict[str, bytes]:
    """Read the dataset of a sweep."""
    files = sorted((home / "runs").rglob("*.parquet"))
    assert files, "a dataset has files"
    return {str(file.relative_to(home)): file.read_bytes() for file in files}


@contextmanager
def start(*words: object) -> Iterator[subprocess.Popen[bytes]]:
    """Start a sweep in a process of its own, which has ended after the block."""
    with subprocess.Popen([*COMMAND, "sweep", *map(str, words)]) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(home: Path, lines: int) -> None:
    """Wait until a journal has so many lines."""

    def written() -> int:
        return sum(file.read_bytes().count(b"\n") for file in home.glob("journal/*"))

    until(lambda: written() >= lines, f"{lines} lines in {home}", PATIENCE_S)


def process(argument: object) -> int:
    """Return the number of the process that carries out a task."""
    return os.getpid()


def end_by(number: int) -> int:
    """Give a number; above 0, die by the signal of this number."""
    if number:
        os.kill(os.getpid(), signal.Signals(number))
    return number
