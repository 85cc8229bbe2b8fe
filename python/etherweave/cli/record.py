"""The verb ``record``."""

import json
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING

import typer

import etherweave
from etherweave.api.machine import usable_processors
from etherweave.api.units import counted
from etherweave.cli.exits import (
    FAILED,
    INTERRUPTED,
    mistakes,
    notice,
    print_error,
    print_warnings,
    reject,
)
from etherweave.cli.parameters import AsJson, Positive, directory, output_file

if TYPE_CHECKING:
    from etherweave.api.replays import RecordingFacts
    from etherweave.bench.measure.mpi_recorder import RecorderOverhead

SETTINGS = {"allow_interspersed_args": False}
NOTHING = (
    "nothing was recorded: expected a program that calls MPI_Init, linked dynamically with the MPI "
    "of --compiler, and on other hosts the variables LD_PRELOAD and "
    "ETHERWEAVE_RECORD (mpirun -x)"
)


def record(
    command: list[str],
    *,
    output: Path,
    trace: Path | None = None,
    pairs: Positive | None = None,
    compiler: str = "mpicc",
    as_json: AsJson = False,
) -> None:
    """Run an MPI program, record its calls with their times, and print what they took.

    Exits with 1 when the program fails, 2 after a mistake, 130 after Ctrl-C or SIGTERM, which end
    all that the program has started.

    Parameters
    ----------
    command : COMMAND…
        Launcher and program, after --.
    output : -o
        Directory for the recording, a file for each rank.
    trace : FILE
        Write calls and messages as a trace for Perfetto or Chrome, .json or .json.gz.
    pairs : --measure PAIRS
        Measure how much longer the command takes with the recorder, by this number of pairs of
        runs, and keep the last recording.
    compiler
        Compiler of MPI programs in C.
    """
    from etherweave.bench.measure import mpi_recorder
    from etherweave.bench.measure.errors import MeasureError

    directory(output)
    output_file("--trace", trace, ".json", ".gz")
    if any(output.glob("*.ewr")):
        reject(f"{output}: has a recording; expected another directory")
    try:
        with mistakes(MeasureError):
            made = mpi_recorder.library(compiler)
            done = (
                mpi_recorder.overhead(command, made, output, pairs)
                if pairs
                else mpi_recorder.run(command, made, output)
            )
    except KeyboardInterrupt:
        print_error(
            f"Interrupted: all that {command[0]} started has ended; the recording is not complete."
        )
        raise typer.Exit(INTERRUPTED) from None
    overhead, ended = (None, done) if isinstance(done, int) else (done, 0)
    if ended:
        state = "complete" if _is_complete(output) else "not complete"
        print_error(f"{command[0]} ended with {ended}: the recording is {state}")
        if state != "complete":
            raise typer.Exit(FAILED)
    if not any(output.glob("*.ewr")):
        print_error(NOTHING)
        raise typer.Exit(FAILED)
    from etherweave import _core
    from etherweave.api.replays import facts, processor_wait
    from etherweave.api.traces import write_trace

    with mistakes(etherweave.ScenarioError):
        recording = _core.Recording.read(output)
        described = facts(recording)
        if trace:
            write_trace(recording, trace)
    waited = processor_wait(output)
    _warn(described, waited)
    if as_json:
        measured = {"overhead": overhead.to_json()} if overhead else {}
        print(json.dumps({**described, "processor_wait_max": waited, **measured}, indent=2))
    else:
        notice(recording_line(described))
        if overhead:
            print(_overhead_line(overhead))
    if ended:
        raise typer.Exit(FAILED)


def _is_complete(output: Path) -> bool:
    """Check whether all ranks have called MPI_Finalize: a program may fail behind it."""
    from etherweave import _core

    try:
        _core.Recording.read(output)
    except etherweave.ScenarioError:
        return False
    return True


def _warn(described: "RecordingFacts", waited: float) -> None:
    """Say what makes a replay wrong or impossible."""
    from etherweave.api.replays import recording_warnings

    processors = usable_processors()
    if described["hosts"] == [gethostname()] and described["ranks"] > processors:
        print_error(
            f"WARNING: {described['ranks']} ranks shared the {processors} processors of this host: "
            "times of calls and of computation contain waiting for a processor"
        )
        waited = 0.0  # The reason is known.
    print_warnings(recording_warnings(described, waited), set())


def _overhead_line(overhead: "RecorderOverhead") -> str:
    from etherweave.bench.statistics.quantiles import median

    parts, interval = overhead.parts, overhead.interval
    spread = (
        f"95 % interval {interval.low:+.2%} to {interval.high:+.2%}"
        if interval
        else f"{min(parts):+.2%} to {max(parts):+.2%}"
    )
    return (
        f"{len(parts)} pairs: {median(overhead.without_s):.3f} s without the recorder, "
        f"{median(overhead.with_s):.3f} s with it; the median of the pairs is "
        f"{median(parts):+.2%} ({spread})"
    )


def recording_line(facts: "RecordingFacts") -> str:
    """Describe a recording in a line."""
    hosts = len(facts["hosts"])
    return (
        f"recorded {counted(facts['ranks'], 'rank')} on {counted(hosts, 'host')} for "
        f"{facts['span_ns'] / 1e6:,.3f} ms with {facts['library']}: {facts['calls']:,} calls, "
        f"{facts['compute_share']:.1%} computation; recording took "
        f"{facts['recorder_share']:.2%}, up to {facts['record_ns_max']} ns for each call"
    )
