"""Recorded programs on other fabrics: what was measured, and what a simulation predicts."""

import json
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from etherweave import _core
from etherweave.archives import recorded
from etherweave.results import Result
from etherweave.scenario import Overrides, ScenarioSource
from etherweave.simulation import EstimateCallback, Progress, resolve, run

_LIBRARIES = {
    "Open MPI v4.0": "open_mpi_4_0",
    "Open MPI v4.1": "open_mpi_4_1",
    "Open MPI v5": "open_mpi_5_0",
    "MPICH Version: 4": "mpich_4",
}
"""Libraries whose rules are known, by the beginning of what MPI says of itself."""
LIBRARY = "open_mpi_4_1"
"""Rules for a recording of any other library."""


class RecordingFacts(TypedDict):
    """What a recording is about."""

    ranks: int
    hosts: list[str]
    """Each once."""
    library: str
    """MPI of rank 0, as it says itself."""
    span_ns: int
    """From the first start to the last end of recording [ns]."""
    calls: int
    """Of all ranks."""
    compute_share: float
    """Part of the time of all ranks between calls."""
    recorder_share: float
    """Part of the time of all ranks that recording took."""
    record_ns_max: int
    """Time of a record, on the rank where it takes longest [ns]."""
    clock_error_ns_max: int
    """Error of a clock against that of rank 0 [ns]."""


@dataclass(frozen=True)
class Replay:
    """A recorded program and its simulation."""

    recorded: RecordingFacts
    library: str
    """Whose rules carried out collectives."""
    compute_scale: float
    result: Result
    """Of the simulation; the program is one iteration of the job."""

    @property
    def predicted_ns(self) -> float:
        """From the first start to the last end of a rank [ns]."""
        starts = self.result.values("iterations", "start_ns")
        spans = self.result.values("iterations", "duration_ns")
        ends = [start + span for start, span in zip(starts, spans, strict=True)]
        return float(max(ends) - min(starts))

    @property
    def error(self) -> float:
        """By which part the prediction differs from the recording."""
        return self.predicted_ns / self.recorded["span_ns"] - 1

    def to_json(self) -> dict[str, object]:
        """Return the figures."""
        return {
            "recorded": self.recorded,
            "library": self.library,
            "compute_scale": self.compute_scale,
            "recorded_ns": self.recorded["span_ns"],
            "predicted_ns": self.predicted_ns,
            "error": self.error,
        }


def facts(recording: _core.Recording) -> RecordingFacts:
    """Describe a recording."""
    described: RecordingFacts = json.loads(recording.facts)
    return described


def replay(
    directory: str | Path,
    scenario: ScenarioSource,
    overrides: Overrides | None = None,
    *,
    compute_scale: float = 1.0,
    library: str | None = None,
    ranks_per_node: int = 1,
    keep: Path | None = None,
    threads: int = 1,
    progress: Callable[[Progress], bool] | None = None,
    memory_limit: str | None = None,
    on_start: EstimateCallback | None = None,
) -> Replay:
    """Simulate a recorded program in place of the first job of a scenario.

    Parameters
    ----------
    directory
        Files of the recorder, one for each rank; or the anchor file of an OTF2 archive.
    scenario, overrides
        The fabric, and where the job's ranks are, as for :func:`etherweave.run`.
    compute_scale
        Factor of the time between calls: 0.5 for processors that are twice as fast.
    library
        Whose rules carry out collectives; by default the one that the scenario's job names, else
        the one that was recorded.
    ranks_per_node
        Number of ranks of a node, for rules that depend on it.
    keep
        Directory for the recording of an archive, which then stays.
    threads, progress, memory_limit, on_start
        As for :func:`etherweave.run`.

    Raises
    ------
    ArchiveError
        When an archive cannot be converted.
    ScenarioError
        When the recording or the scenario is wrong, or their numbers of ranks differ.
    OSError
        When a file cannot be read.
    """
    with recorded(Path(directory), keep) as files:
        recording = _core.Recording.read(files)
    described = facts(recording)
    rules = library or _named(scenario, overrides) or _recorded(described["library"])
    text = recording.goal(rules, ranks_per_node, compute_scale)
    workload = {"goal": {"text": text}}
    result = run(
        scenario,
        {**(overrides or {}), "job.0.workload": workload},
        threads=threads,
        progress=progress,
        memory_limit=memory_limit,
        on_start=on_start,
    )
    return Replay(described, rules, compute_scale, result)


def _named(scenario: ScenarioSource, overrides: Overrides | None) -> str | None:
    """Return the library that the workload of the first job names."""
    (first, *_) = tomllib.loads(resolve(scenario, overrides))["job"]
    (keys,) = first["workload"].values()
    named: str | None = keys.get("library")
    return named


def _recorded(version: str) -> str:
    known = (rules for name, rules in _LIBRARIES.items() if version.startswith(name))
    return next(known, LIBRARY)
