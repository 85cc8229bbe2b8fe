"""The verb ``replay``."""

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import etherweave
from etherweave.cli import parameters
from etherweave.cli.exits import exit_as, mistakes, reject
from etherweave.cli.progress import print_start, run_progress
from etherweave.cli.record import recording_line

if TYPE_CHECKING:
    from etherweave.api.replays import Replay


def replay(
    recording: Path,
    *,
    scenario: Path,
    output: Path | None = None,
    settings: parameters.Settings = None,
    compute_scale: Annotated[float | None, typer.Option(min=0.0)] = None,
    library: str | None = None,
    ranks_per_node: parameters.Positive = 1,
    keep: Path | None = None,
    trace: Path | None = None,
    threads: parameters.Threads = parameters.ALL_PROCESSORS,
    memory_limit: parameters.MemoryLimit = None,
    as_json: parameters.AsJson = False,
) -> None:
    """Simulate a recorded program or a trace on a fabric, and print recorded and predicted time.

    The exit code is 2 after a mistake, 3 after a deadlock, 70 after a fault of Etherweave, 130
    after Ctrl-C.

    Parameters
    ----------
    recording : RECORDING
        Directory of `etherweave record`, or the anchor file (.otf2) of an OTF2 archive; or a trace:
        a GOAL text or binary, or Chakra's files by their folder or as NAME.{rank}.et.
    scenario : --on SCENARIO
        Scenario whose fabric the program gets; it takes the place of the first job's workload, if
        there is a job.
    output : -o
        Directory for the result.
    compute_scale
        Factor of the time between calls of MPI, or of computation in a Chakra trace; by default
        that of the scenario's job, else 1.
    library : NAME
        Library whose rules carry out collectives, such as mpich_4; by default the one that the
        scenario's workload names, else the recorded one.
    ranks_per_node
        Number of ranks of a node, for rules that depend on it.
    keep : DIRECTORY
        Save the recording converted from the archive in this directory.
    trace : FILE
        Write the simulation as a trace for Perfetto or Chrome, .json or .json.gz.
    """
    from etherweave.api.replays import processor_wait
    from etherweave.api.replays import replay as simulated
    from etherweave.api.traces import write_trace
    from etherweave.archives import ArchiveError

    changes = parameters.overrides(settings)
    if output:
        parameters.directory(output)
    if keep:
        parameters.directory(keep)
        if any(keep.glob("*.ewr")):
            reject(f"{keep}: has a recording; expected another directory")
    if parameters.output_file("--trace", trace, ".json", ".gz"):
        changes["observe.ranks"] = True
    printed: set[str] = set()
    with mistakes(etherweave.ScenarioError, ArchiveError), run_progress(scenario.stem) as report:
        done = simulated(
            recording,
            scenario,
            changes,
            compute_scale=compute_scale,
            library=library,
            ranks_per_node=ranks_per_node,
            keep=keep,
            threads=threads,
            progress=report,
            memory_limit=memory_limit,
            on_start=partial(print_start, scenario.stem, printed),
        )
    with mistakes():
        if output:
            done.result.save(output)
        if trace:
            write_trace(done.result, trace)
    exit_as(done.result.summary, f"the result in {output}" if output else "the simulation", printed)
    waited = processor_wait(recording)
    print(json.dumps(done.to_json(), indent=2) if as_json else text(done, scenario, waited))


def text(done: "Replay", scenario: Path, waited: float) -> str:
    """Write recorded and predicted time; no error where ranks mostly waited for a processor."""
    from etherweave.api.replays import WAITS_MOSTLY

    predicted = f"{done.predicted_ns / 1e6:,.3f} ms predicted"
    if done.recorded is None:
        return f"{scenario.stem}: {predicted}"
    computed = done.recorded["compute_share"] * done.recorded["span_ns"] / 1e6
    error = f"{done.error:+.1%} against the recording"
    withheld = "not compared with the recording, whose ranks mostly waited for a processor"
    compared = error if waited <= WAITS_MOSTLY else withheld
    scale = "" if done.compute_scale == 1 else f" x {done.compute_scale:g}"
    return (
        f"{recording_line(done.recorded)}\n"
        f"{scenario.stem}: {predicted}, {compared}; "
        f"{computed:,.3f} ms of computation{scale}, collectives of {done.library}"
    )
