"""The verb ``schedule``."""

import json
import shlex
import tomllib
from collections.abc import Sequence
from pathlib import Path

import etherweave
from etherweave import _core
from etherweave.api.outputs import below, new_directory, write_bytes
from etherweave.api.scenario import literals, read
from etherweave.cli.exits import mistakes, notice, reject
from etherweave.cli.parameters import AsJson, File, Natural, Settings, directory, overrides
from etherweave.cli.progress import byte_progress

GOAL = ".goal"
PROFILES = ("nccl-2.21", "deepep")  # Libraries that a job has by itself, and its trace has not.


def schedule(
    file: File,
    *,
    output: Path,
    settings: Settings = None,
    warm_up: Natural = 1,
    goal: bool = False,
    chakra: bool = False,
    as_json: AsJson = False,
) -> None:
    """Write the schedule of each job for the MPI executor, and print the file names.

    A GOAL text (.goal) in place of a scenario is written as GOAL binary, rank by rank.

    Parameters
    ----------
    output : -o
        Directory for the files.
    warm_up
        Number of warm-up passes over each block of a program.
    goal
        Write GOAL texts and binaries too, for LogGOPSim.
    chakra
        Write execution traces of Chakra too, one for each rank.
    """
    directory(output)
    if file.suffix == GOAL:
        if settings or goal or chakra:
            reject(f"--set, --goal, --chakra: beside the GOAL text {file}; expected a scenario")
        return _convert(file, below(output, f"{file.stem}.bin"), as_json)
    with mistakes(etherweave.ScenarioError):
        text, origin = read(file)
        changes = literals(overrides(settings))
        made = _core.schedules(text, origin, changes, warm_up)
        rows = [
            {"job": job.name, "files": _write(job, below(output, str(number)), goal, chakra)}
            for number, job in enumerate(made.jobs)
        ]
        if goal or chakra:
            _print_replay_keys(text, origin, changes, made)
    if as_json:
        print(json.dumps(rows, indent=2))
    else:
        print("\n".join(name for row in rows for name in row["files"]))


def _write(job: _core.Schedule, stem: Path, goal: bool, chakra: bool) -> list[str]:
    """Write the files of a job, named by its number, and return their names."""
    executed = b""
    try:
        executed = job.bytes
    except etherweave.ScenarioError as error:
        if not goal and not chakra:
            raise
        notice(f"{job.name}: no schedule for the MPI executor ({error})")
    stem.parent.mkdir(parents=True, exist_ok=True)
    if goal:
        job.write_goal(stem.with_suffix(GOAL))
        job.write_goal_binary(stem.with_suffix(".bin"))
    for rank, trace in enumerate(job.chakra() if chakra else []):
        write_bytes(stem.with_suffix(f".{rank}.et"), trace)
    if executed:
        write_bytes(stem.with_suffix(".ews"), executed)
    written = {".ews": executed, GOAL: goal, ".bin": goal, ".{rank}.et": chakra}
    return [str(stem.with_suffix(suffix)) for suffix, is_written in written.items() if is_written]


def _print_replay_keys(
    text: str, origin: str, changes: Sequence[tuple[str, str]], made: _core.Schedules
) -> None:
    """Name keys without which a replay of a job's trace takes another time than the job.

    Jobs of accelerators have connections and the profile of their library without stating them.
    """
    given, resolved = tomllib.loads(text), tomllib.loads(made.resolved)
    is_named = "profile" in given.get("host", {}).get("mpi_roce", {})
    profiles = () if is_named else PROFILES
    jobs = zip(given.get("job", resolved["job"]), resolved["job"], strict=True)
    for own, job in jobs:
        connections = job["connections"]
        if connections == "per pair":
            continue
        is_stated = connections == own.get("connections")
        keys = [] if is_stated else [f"job.0.connections={json.dumps(connections)}"]
        for name in profiles:
            profile = ("host.mpi_roce.profile", json.dumps(name))
            same = tomllib.loads(_core.resolve(text, origin, [*changes, profile]))
            if same["host"]["mpi_roce"] == resolved["host"]["mpi_roce"]:
                keys.append("=".join(profile))
                break
        options = " ".join(f"--set {shlex.quote(key)}" for key in keys)
        if keys:
            notice(f"{job['name']}: a replay of its trace needs {options}")


def _convert(text: Path, binary: Path, as_json: bool) -> None:
    with (
        mistakes(etherweave.ScenarioError),
        byte_progress(binary.name) as report,
        new_directory(binary.parent),
    ):
        _core.convert_goal(text, binary, report)
    print(json.dumps({"files": [str(binary)]}, indent=2) if as_json else binary)
