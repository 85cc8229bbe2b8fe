"""Cost of the command line before it does anything: processor time of versions, helps, a run."""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import typer.main
from rows import Row

from etherweave.cli import app

PROGRAM = str(Path(sys.executable).parent / "etherweave")
FIRST = Path(__file__).parents[1] / "scenarios/first.toml"
REPEATS = 5


def rows() -> list[Row]:
    """List the program's version and help, the help of every verb, and the shortest run."""
    lines = [("--version",), ("--help",), *helps(typer.main.get_command(app), ())]
    lines.append(("run", str(FIRST)))
    return [Row(_name(words), partial(measure, words)) for words in lines]


def helps(group: Any, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """List the helps of the verbs of a group, and of those below them."""
    for name in list(group.commands):
        verb = group.load(name) if hasattr(group, "load") else group.commands[name]
        yield *words, name, "--help"
        if hasattr(verb, "commands"):
            yield from helps(verb, (*words, name))


def measure(words: tuple[str, ...]) -> dict[str, Any]:
    """Take the least processor time of several starts, the compiled modules being there."""
    with tempfile.TemporaryDirectory() as compiled:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        times = [_processor_s([PROGRAM, *words], environment) for _ in range(1 + REPEATS)]
    return {"row": _name(words), "processor_s": round(min(times[1:]), 3)}


def _processor_s(command: list[str], environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def _name(words: tuple[str, ...]) -> str:
    return "_".join(("cli", *(Path(word).stem.strip("-") for word in words)))
