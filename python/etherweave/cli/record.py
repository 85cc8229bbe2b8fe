"""The verb ``record``."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import etherweave
from etherweave.cli.exits import FAILED, mistakes, notice, print_error, reject
from etherweave.cli.parameters import AsJson, directory, output_file, output_option

if TYPE_CHECKING:
    from etherweave.replays import RecordingFacts

EXAMPLES = """Examples:
etherweave record -o recorded -- mpirun -np 4 ./program
etherweave record -o recorded -- srun --ntasks=64 ./program
etherweave replay recorded --on fabric.toml"""
SETTINGS = {"allow_interspersed_args": False}
NOTHING = (
    "nothing was recorded: expected a program that calls MPI_Init from C or C++, linked "
    "dynamically with the MPI of --compiler, and on other hosts the variables LD_PRELOAD and "
    "ETHERWEAVE_RECORD (mpirun -x)"
)


def record(
    command: Annotated[
        list[str], typer.Argument(metavar="COMMAND…", help="Launcher and program, after --.")
    ],
    output: Annotated[Path, output_option("Directory for the recording, a file for each rank.")],
    trace: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write calls and messages as a trace for Perfetto or Chrome, .json or .json.gz.",
        ),
    ] = None,
    compiler: Annotated[str, typer.Option(help="Compiler of MPI programs in C.")] = "mpicc",
    as_json: AsJson = False,
) -> None:
    """Run an MPI program, record its calls with their times, and print what they took.

    Ends with 1 when the program fails, 2 after a mistake.
    """
    from etherweave.bench.measure import mpi_recorder
    from etherweave.bench.measure.errors import MeasureError

    directory(output)
    output_file("--trace", trace, ".json", ".gz")
    if any(output.glob("*.ewr")):
        reject(f"{output}: has a recording; expected another directory")
    with mistakes(MeasureError):
        ended = mpi_recorder.run(command, mpi_recorder.library(compiler), output)
    if ended:
        print_error(f"{command[0]} ended with {ended}: the recording is not complete")
        raise typer.Exit(FAILED)
    if not any(output.glob("*.ewr")):
        print_error(NOTHING)
        raise typer.Exit(FAILED)
    from etherweave import _core
    from etherweave.replays import facts
    from etherweave.traces import write_trace

    with mistakes(etherweave.ScenarioError):
        recording = _core.Recording.read(output)
        described = facts(recording)
        if trace:
            write_trace(recording, trace)
    if as_json:
        print(json.dumps(described, indent=2))
    else:
        notice(recording_line(described))


def recording_line(facts: "RecordingFacts") -> str:
    """Describe a recording in a line."""
    hosts = len(facts["hosts"])
    return (
        f"recorded {facts['ranks']} ranks on {hosts} host{'s' if hosts > 1 else ''} for "
        f"{facts['span_ns'] / 1e6:,.3f} ms with {facts['library']}: {facts['calls']:,} calls, "
        f"{facts['compute_share']:.1%} computation; recording took "
        f"{facts['recorder_share']:.2%}, up to {facts['record_ns_max']} ns for each call"
    )
