"""A help or a version imports what it prints, and neither libraries nor other packages."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from etherweave.cli.manual import commands

PROGRAM = """
import contextlib, gc, io, json, os, sys
import pydantic  # Every verb imports it.
from etherweave.cli import main

gc.disable()
for words in json.loads(sys.argv[1]):
    if os.fork() == 0:
        sys.argv = ["etherweave", *words]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            main()
        print(json.dumps([words, sorted(sys.modules)]), flush=True)
        os._exit(0)
    os.wait()
"""
"""Starts each command line in a process of its own, and prints what it has imported."""

LIBRARIES = {"polars", "scipy", "numpy", "matplotlib", "pyarrow", "pandas", "jinja2", "os_ken"}
ROOMS = {f"etherweave.{room}" for room in ("bench", "control", "report", "study")}
USED = {"calibrate": "bench", "measure": "bench", "reference": "bench", "lab": "control"}
"""Rooms of verbs that are called otherwise; any other verb uses the one of its own name."""


SHARED = {"etherweave.measurements.metrics"}
"""Modules that read quantities of options, for any verb."""


def imported(lines: list[list[str]]) -> Iterator[tuple[tuple[str, ...], set[str]]]:
    words = [sys.executable, "-c", PROGRAM, json.dumps(lines)]
    for line in subprocess.check_output(words, text=True).splitlines():
        called, modules = json.loads(line)
        yield tuple(called), set(modules)


def unwanted(words: tuple[str, ...], modules: set[str]) -> set[str]:
    own = f"etherweave.{USED.get(words[0], words[0])}"
    packages = {".".join(name.split(".")[:2]) for name in modules - SHARED if name.count(".") > 1}
    return (modules & LIBRARIES) | (packages & ROOMS - {own})


@pytest.fixture(scope="module")
def helps() -> dict[tuple[str, ...], set[str]]:
    lines = [[*called.split(), "--help"] for called, _ in commands()]
    return dict(imported([["--version"], *lines]))


@pytest.mark.slow
def test_version_and_helps_import_their_room_alone(helps: dict[tuple[str, ...], set[str]]) -> None:
    assert len(helps) > 40
    result = {" ".join(words): unwanted(words, modules) for words, modules in helps.items()}
    assert not {words: names for words, names in result.items() if names}


def test_the_programs_own_help_imports_no_verb(helps: dict[tuple[str, ...], set[str]]) -> None:
    own = {name for name in helps["--help",] if name.startswith("etherweave.cli.")}
    assert own == {"etherweave.cli.app", "etherweave.cli.processes", "etherweave.cli.verbs"}


def test_a_run_imports_no_library_for_tables() -> None:
    ((_, modules),) = imported([["run", "scenarios/first.toml"]])
    assert not unwanted(("run",), modules)


def test_the_status_of_a_sweep_imports_nothing_that_carries_out_runs(tmp_path: Path) -> None:
    ((_, modules),) = imported([["sweep", "status", str(tmp_path)]])
    own = {name for name in modules if name.startswith("etherweave.sweeps.")}
    assert own == {"etherweave.sweeps.points", "etherweave.sweeps.store"}
    assert not modules & {"etherweave.api.fabrics", "multiprocessing"}


def test_a_line_of_a_group_is_the_first_sentence_of_its_verb() -> None:
    differ: dict[str, Any] = {}
    for words, group in commands():
        for name, verb in getattr(group, "verbs", {}).items():
            first = group.load(name).help.partition("\n\n")[0].replace("\n", " ")
            if verb.help != first:
                differ[f"{words} {name}".strip()] = (verb.help, first)
    assert not differ


@pytest.mark.parametrize("verb", ["run", "curve", "observe"])
def test_threads_are_by_default_the_processors_that_the_process_may_use(verb: str) -> None:
    script = "from etherweave.cli import parameters; print(parameters.ALL_PROCESSORS)"
    words = [sys.executable, "-c", script]
    processor = min(os.sched_getaffinity(0))
    assert subprocess.check_output(["taskset", "-c", str(processor), *words], text=True) == "1\n"
    threads = next(option for option in dict(commands())[verb].params if option.name == "threads")
    assert threads.default == len(os.sched_getaffinity(0))
