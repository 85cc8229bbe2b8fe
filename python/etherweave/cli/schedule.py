"""The verb ``schedule``."""

import json
from pathlib import Path
from typing import Annotated

import typer

import etherweave
from etherweave import _core
from etherweave.cli.exits import mistakes, notice
from etherweave.cli.parameters import AsJson, File, Settings, directory, output_option, overrides
from etherweave.scenario import literals, read

EXAMPLES = """Examples:
etherweave schedule halo3d.toml -o schedules
etherweave schedule halo3d.toml -o schedules --goal --set job.0.workload.halo3d.iterations=10
etherweave schedule training.toml -o schedules --chakra"""


def schedule(
    file: File,
    output: Annotated[Path, output_option("Directory for the files.")],
    settings: Settings = None,
    warm_up: Annotated[
        int, typer.Option(min=0, help="Number of warm-up passes over each block of a program.")
    ] = 1,
    goal: Annotated[
        bool,
        typer.Option("--goal", help="Write GOAL texts and binaries too, for LogGOPSim."),
    ] = False,
    chakra: Annotated[
        bool,
        typer.Option("--chakra", help="Write execution traces of Chakra too, one for each rank."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write the schedule of each job for the MPI executor, and print the file names."""
    directory(output)
    with mistakes(etherweave.ScenarioError):
        text, origin = read(file)
        made = _core.schedules(text, origin, literals(overrides(settings)), warm_up)
        rows = [
            {"job": job.name, "files": _write(job, output / str(number), goal, chakra)}
            for number, job in enumerate(made.jobs)
        ]
    if as_json:
        print(json.dumps(rows, indent=2))
    else:
        print("\n".join(name for row in rows for name in row["files"]))


def _write(job: _core.Schedule, stem: Path, goal: bool, chakra: bool) -> list[str]:
    """Write the files of a job, named by its number, and return their names."""
    contents: dict[str, bytes] = {}
    try:
        contents[".ews"] = job.bytes
    except etherweave.ScenarioError as error:
        if not goal and not chakra:
            raise
        notice(f"{job.name}: no schedule for the MPI executor ({error})")
    if goal:
        contents |= {".goal": job.goal().encode(), ".bin": job.goal_bytes()}
    traces = job.chakra() if chakra else []
    ranks = {f".{rank}.et": trace for rank, trace in enumerate(traces)}
    stem.parent.mkdir(parents=True, exist_ok=True)
    for suffix, content in (contents | ranks).items():
        stem.with_suffix(suffix).write_bytes(content)
    names = [*contents, ".{rank}.et"] if chakra else contents
    return [str(stem.with_suffix(suffix)) for suffix in names]
