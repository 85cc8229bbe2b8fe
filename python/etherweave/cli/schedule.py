"""The verb ``schedule``."""

import json
from pathlib import Path
from typing import Annotated

import typer

import etherweave
from etherweave import _core
from etherweave.cli.exits import mistakes
from etherweave.cli.parameters import AsJson, File, Settings, directory, output_option, overrides
from etherweave.scenario import literals, read

EXAMPLES = """Examples:
etherweave schedule halo3d.toml -o schedules
etherweave schedule halo3d.toml -o schedules --goal --set job.0.workload.halo3d.iterations=10"""


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
    as_json: AsJson = False,
) -> None:
    """Write the schedule of each job for the MPI executor, and print the file names."""
    directory(output)
    with mistakes(etherweave.ScenarioError):
        text, origin = read(file)
        made = _core.schedules(text, origin, literals(overrides(settings)), warm_up)
        rows = [
            {"job": job.name, "files": _write(job, output / str(number), goal)}
            for number, job in enumerate(made.jobs)
        ]
    if as_json:
        print(json.dumps(rows, indent=2))
    else:
        print("\n".join(name for row in rows for name in row["files"]))


def _write(job: _core.Schedule, stem: Path, goal: bool) -> list[str]:
    """Write the files of a job, named by its number, and return their names."""
    text, binary = (job.goal(), job.goal_bytes()) if goal else (None, None)
    stem.parent.mkdir(parents=True, exist_ok=True)
    files = [stem.with_suffix(".ews")]
    files[0].write_bytes(job.bytes)
    if text is not None:
        files.append(stem.with_suffix(".goal"))
        files[1].write_text(text, encoding="utf-8")
    if binary is not None:
        files.append(stem.with_suffix(".bin"))
        files[2].write_bytes(binary)
    return [str(path) for path in files]
