"""Recorded programs and traces on other fabrics: what was measured, what a simulation predicts."""

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from etherweave import _core
from etherweave.archives import is_archive, recorded
from etherweave.results import Result
from etherweave.scenario import Overrides, ScenarioSource
from etherweave.simulation import EstimateCallback, Progress, resolve, run

_LIBRARIES = {
    r"Open MPI v4\.0\b": "open_mpi_4_0",
    r"Open MPI v4\.1\b": "open_mpi_4_1",
    r"Open MPI v5\b": "open_mpi_5_0",
    r"MPICH Version:\s*4\b": "mpich_4",
}
"""Libraries whose rules are known, by a pattern of the beginning of what MPI says of itself."""
JOB = "program"
"""Name of the job where the scenario has none."""
RECORDED = ".ewr"
"""How the names of the recorder's files end."""
RANK = "{rank}"
"""Stands for the number of a rank in the names of Chakra's files."""
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
    not_recorded: list[str]
    """Functions whose messages are not recorded; a replay refuses them."""


@dataclass(frozen=True)
class Replay:
    """A recorded program, or a trace, and its simulation."""

    recorded: RecordingFacts | None
    """None of a trace, which does not say what was measured."""
    library: str | None
    """Whose rules carried out collectives; None where the trace or its defaults say so."""
    compute_scale: float
    result: Result
    """Of the simulation; the program is one iteration of the job."""
    warnings: tuple[str, ...] = ()
    """Of the replay, besides those of the simulation."""

    @property
    def predicted_ns(self) -> float:
        """From the first start to the last end of a rank [ns]."""
        starts = self.result.values("iterations", "start_ns")
        spans = self.result.values("iterations", "duration_ns")
        ends = [start + span for start, span in zip(starts, spans, strict=True)]
        return float(max(ends) - min(starts))

    @property
    def error(self) -> float | None:
        """By which part the prediction differs from the recording."""
        return self.recorded and self.predicted_ns / self.recorded["span_ns"] - 1

    def to_json(self) -> dict[str, object]:
        """Return the figures."""
        return {
            "recorded": self.recorded,
            "library": self.library,
            "compute_scale": self.compute_scale,
            "recorded_ns": self.recorded and self.recorded["span_ns"],
            "predicted_ns": self.predicted_ns,
            "error": self.error,
            "warnings": self.warnings,
        }


def facts(recording: _core.Recording) -> RecordingFacts:
    """Describe a recording."""
    described: RecordingFacts = json.loads(recording.facts)
    return described


def replay(
    source: str | Path,
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
    """Simulate a recorded program or a trace, in place of the first job of a scenario if any.

    Parameters
    ----------
    source
        Directory of the recorder's files, one for each rank; or the anchor file of an OTF2 archive;
        or a trace: a GOAL text or binary, or Chakra's files by their folder or by their name with
        ``{rank}`` in it.
    scenario, overrides
        The fabric, and where the job's ranks are, as for :func:`etherweave.run`.
    compute_scale
        Factor of the time between calls, or of the computation in traces of Chakra: 0.5 for
        processors that are twice as fast.
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
        When the recording or the scenario is wrong, or their numbers of ranks differ; when a trace
        cannot have one of these options.
    OSError
        When a file cannot be read.
    """
    source = Path(source)
    described: RecordingFacts | None = None
    rules = library
    warnings: tuple[str, ...] = ()
    if kind := trace_kind(source):
        workload = _trace(source, kind, compute_scale, library)
        _only_of_recordings(source, ranks_per_node, keep)
        first = _first_job(scenario, overrides)
    else:
        with recorded(source, keep) as files:
            recording = _core.Recording.read(files)
        described = facts(recording)
        first = _first_job(scenario, overrides)
        rules = library or _named(first)
        if rules is None:
            rules, warnings = _recorded(described["library"])
        workload = {"goal": {"text": recording.goal(rules, ranks_per_node, compute_scale)}}
    result = run(
        scenario,
        {**(overrides or {}), **_as_first(first, workload)},
        threads=threads,
        progress=progress,
        memory_limit=memory_limit,
        on_start=on_start,
    )
    _check_end(result, first, described)
    return Replay(described, rules, compute_scale, result, warnings)


def trace_kind(source: Path) -> str | None:
    """Return the workload that reads a trace, or None of a recording or an archive."""
    if RANK in source.name:
        return "chakra"
    if source.is_dir():
        names = {path.name for path in source.iterdir()}
        is_recording = not names or any(name.endswith(RECORDED) for name in names)
        return None if is_recording else "chakra"
    is_trace = source.exists() and source.suffix != RECORDED and not is_archive(source)
    return "goal" if is_trace else None


def _trace(
    source: Path, kind: str, compute_scale: float, library: str | None
) -> dict[str, dict[str, object]]:
    """Return a workload for a trace."""
    file: dict[str, object] = {"file": str(source.absolute())}
    if kind == "chakra":
        chosen = {"library": library} if library else {}
        return {kind: file | {"compute_scale": compute_scale} | chosen}
    if compute_scale != 1.0 or library:
        raise _core.ScenarioError(
            f"{source}: a GOAL trace with another factor of computation, or another library; "
            "expected a recording, or traces of Chakra"
        )
    return {kind: file}


def _only_of_recordings(source: Path, ranks_per_node: int, keep: Path | None) -> None:
    if ranks_per_node != 1 or keep:
        raise _core.ScenarioError(
            f"{source}: a trace with a number of ranks of a node, or to be kept; expected a "
            "recording or an archive"
        )


def _first_job(scenario: ScenarioSource, overrides: Overrides | None) -> Mapping[str, Any] | None:
    """Return the first job of a scenario, which may be a fabric alone."""
    jobs = tomllib.loads(resolve(scenario, overrides)).get("job", [])
    return next(iter(jobs), None)


def _as_first(first: Mapping[str, Any] | None, workload: Mapping[str, object]) -> Overrides:
    """Put a workload in place of that of the first job, or make a job for it."""
    if first is None:
        return {"job": [{"name": JOB, "workload": workload}]}
    return {"job.0.workload": workload}


def _check_end(
    result: Result, first: Mapping[str, Any] | None, described: RecordingFacts | None
) -> None:
    """Reject a run that ends before all ranks of the program do."""
    name = first["name"] if first else JOB
    ended = result.values("iterations", "job").count(name)
    expected = described["ranks"] if described else 1
    has_others = len(tomllib.loads(result.resolved)["job"]) > 1
    is_cut = ended < expected or not (described or has_others)
    if result.summary["finished"] == "time_limit" and is_cut:
        raise _core.ScenarioError(
            f"{result.summary['name']}: run.end: {name} has not ended then; expected a later end, "
            "or none"
        )


def _named(first: Mapping[str, Any] | None) -> str | None:
    """Return the library that the workload of a job names."""
    (keys,) = first["workload"].values() if first else ({},)
    named: str | None = keys.get("library")
    return named


def _recorded(version: str) -> tuple[str, tuple[str, ...]]:
    """Return whose rules a recorded library has, and a warning where they are unknown."""
    for pattern, rules in _LIBRARIES.items():
        if re.match(pattern, version):
            return rules, ()
    name = " ".join(version.split())
    return LIBRARY, (f"the rules of {name} for collectives are not known: {LIBRARY} was taken",)
