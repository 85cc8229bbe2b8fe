"""Recorded programs and traces on other fabrics: what was measured, what a simulation predicts."""

import errno
import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict

from etherweave import _core
from etherweave.api.results import Result
from etherweave.api.scenario import Overrides, ScenarioSource, read
from etherweave.api.simulation import EstimateCallback, Progress, run
from etherweave.archives import is_archive, recorded

_LIBRARIES = {
    r"Open MPI v4\.0\b": "open_mpi_4_0",
    r"Open MPI v4\.1\b": "open_mpi_4_1",
    r"Open MPI v5\b": "open_mpi_5_0",
    r"MPICH Version:\s*4\b": "mpich_4",
}
"""Libraries whose rules are known, by a pattern of the beginning of what MPI says of itself."""
JOB = "program"  # Name of the job where the scenario has none.
RECORDED = ".ewr"  # How the names of the recorder's files end.
WORKLOAD = "job.0.workload."  # How keys of the program's workload begin.
TRACE_KEYS = ("file", "text", "sha256")  # Keys of a workload that name its trace.
MISSING = (
    "No such file or directory; expected the directory of a recording, an OTF2 archive (.otf2), or "
    "a trace in GOAL or Chakra"
)
"""Message for a recording or a trace that does not exist."""
RANK = "{rank}"  # Stands for the number of a rank in the names of Chakra's files.
CHAKRA_FILE = re.compile(r"\.(et|et\.gz|chakra)$")
RANKED = re.compile(r"^(.*?)\d+(\D*)$")  # The number of a rank in the name of a file: the last one.
LIBRARY = "open_mpi_4_1"  # Rules for a recording of any other library.


class RecordingFacts(TypedDict):
    """Facts about a recording."""

    ranks: int
    hosts: list[str]  # Each once.
    library: str  # MPI of rank 0, as it says itself.
    span_ns: int  # Time from the first start to the last end of recording [ns].
    calls: int  # Calls of all ranks.
    compute_share: float  # Part of the time of all ranks between calls.
    recorder_share: float  # Part of the time of all ranks that recording took.
    record_ns_max: int  # Time of a record, on the rank where it takes longest [ns].
    clock_error_ns_max: int  # Error of a clock against that of rank 0 [ns].
    not_recorded: list[str]  # Functions whose messages are not recorded; a replay refuses them.


@dataclass(frozen=True)
class Replay:
    """A recorded program, or a trace, and its simulation."""

    recorded: RecordingFacts | None  # None of a trace, which does not say what was measured.
    library: str | None
    """Library whose rules carried out collectives; None where the trace or its defaults say so."""
    compute_scale: float
    job: str  # Name of the job that performs it.
    result: Result  # Result of the simulation; the program is one iteration of the job.

    @property
    def predicted_ns(self) -> float:
        """Time from the first start to the last end of a rank [ns]."""
        columns = ("job", "start_ns", "duration_ns")
        rows = zip(*(self.result.values("iterations", column) for column in columns), strict=True)
        spans = [(start, start + span) for job, start, span in rows if job == self.job]
        return float(max(end for _, end in spans) - min(start for start, _ in spans))

    @property
    def error(self) -> float | None:
        """Relative difference between prediction and recording."""
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
            "warnings": self.result.summary["warnings"],
        }


WAITED_MAX = 0.01  # Part of the time for which a rank may wait for a processor without a warning.
WAITS_MOSTLY = 0.5
"""Part of the time from which on a recording does not show what the program takes."""
_WAITED_AT = 20  # Place in the head of a file [B]: four bytes, in millionths of the time.


def processor_wait(directory: Path) -> float:
    """Return the part of the time that the rank waited for a processor which waited longest.

    Each rank writes it into the head of its file at its end, where its kernel counts it. A trace
    has 0.
    """
    return max((_processor_wait(path) for path in directory.glob("*.ewr")), default=0.0)


def _wait_warnings(waited: float) -> list[str]:
    """Say what times contain where ranks of a recording waited for processors."""
    if waited <= WAITED_MAX:
        return []
    withheld = "" if waited <= WAITS_MOSTLY else ", which are not compared"
    during = f"a rank of the recording waited for a processor during {waited:.1%} of the time"
    return [f"{during}: recorded and predicted times contain that{withheld}"]


def _processor_wait(path: Path) -> float:
    with path.open("rb") as file:
        file.seek(_WAITED_AT)
        return int.from_bytes(file.read(4), "little") / 1e6


def recording_warnings(described: RecordingFacts, waited: float) -> list[str]:
    """Say what makes a replay wrong or impossible; ``waited`` is :func:`processor_wait`."""
    warnings = []
    if waited > WAITED_MAX:
        warnings.append(
            f"a rank waited for a processor during {waited:.1%} of the time: times of calls and of "
            "computation contain that; expected a processor for each rank, and nothing else on it"
        )
    if lost := described["not_recorded"]:
        warnings.append(
            f"{', '.join(lost)}: messages are not recorded; `etherweave replay` refuses this "
            "recording"
        )
    return warnings


def facts(recording: _core.Recording) -> RecordingFacts:
    """Describe a recording."""
    described: RecordingFacts = json.loads(recording.facts)
    return described


def replay(
    source: str | Path,
    scenario: ScenarioSource,
    overrides: Overrides | None = None,
    *,
    compute_scale: float | None = None,
    library: str | None = None,
    ranks_per_node: int = 1,
    keep: Path | None = None,
    threads: int = 1,
    progress: Callable[[Progress], bool] | None = None,
    memory_limit: str | None = None,
    on_start: EstimateCallback | None = None,
) -> Replay:
    """Simulate a recorded program or a trace, in place of the first job of a scenario if any.

    Options that are not below are those of :func:`etherweave.run`.

    Parameters
    ----------
    source
        Directory of the recorder's files, one for each rank; or the anchor file of an OTF2 archive;
        or a trace: a GOAL text or binary, or Chakra's files by their folder or by their name with
        ``{rank}`` in it.
    scenario, overrides
        The fabric, and where the job's ranks are. A first job with a workload for such traces keeps
        its other keys, such as ``groups``.
    compute_scale
        Factor of the time between calls, or of the computation in traces of Chakra: 0.5 for
        processors that are twice as fast; by default what the scenario's job has, else 1.
    library
        Whose rules carry out collectives; by default the one that the scenario's job names, else
        the one that was recorded.
    ranks_per_node
        Number of ranks of a node, for rules that depend on it.
    keep
        Directory for the recording of an archive, which then stays.

    Raises
    ------
    ArchiveError, OSError
        When an archive cannot be converted, or a file cannot be read.
    ScenarioError
        When the recording or the scenario is wrong, or their numbers of ranks differ; when a trace
        cannot have one of these options.
    """
    source = Path(source)
    if not (source.exists() or RANK in source.name):
        raise FileNotFoundError(errno.ENOENT, MISSING, str(source))
    described: RecordingFacts | None = None
    rules = library
    warnings: tuple[str, ...] = ()
    workload = _first_job(scenario, overrides)
    if kind := trace_kind(source):
        keys = _trace(source, kind, workload, compute_scale, library)
        _only_of_recordings(source, ranks_per_node, keep)
    else:
        with recorded(source, keep) as files:
            recording = _core.Recording.read(files)
            waits = _wait_warnings(processor_wait(files))
        kind, described = "goal", facts(recording)
        rules = library or _named(workload)
        if rules is None:
            rules, warnings = _recorded(described["library"])
        warnings = (*warnings, *waits)
        keys = {"text": recording.goal(rules, ranks_per_node, _or_one(compute_scale))}
    changes = _as_first(workload, {kind: keys}, overrides or {})
    try:
        result = run(
            scenario,
            changes,
            threads=threads,
            progress=progress,
            memory_limit=memory_limit,
            on_start=on_start,
        )
    except _core.ScenarioError as error:
        place = ErrorPlace(source, read(scenario)[1], kind)
        has_own = any(key.startswith("job") for key in overrides or {})
        raise _core.scenario_error(
            [place.named(mistake, has_own) for mistake in error.mistakes]
        ) from None
    first = result.scenario["job"][0]
    _check_end(result, first["name"], described)
    scale = first["workload"][kind].get("compute_scale", _or_one(compute_scale))
    all_warnings = [*warnings, *result.summary["warnings"]]
    result = replace(result, summary={**result.summary, "warnings": all_warnings})
    return Replay(described, rules, scale, first["name"], result)


@dataclass(frozen=True)
class ErrorPlace:
    """Subject of errors that the core finds in an override: the trace, or the scenario."""

    source: Path  # The recording or the trace, as its user names it.
    origin: str  # The scenario.
    kind: str  # The workload that reads the trace.

    def named(self, mistake: _core.Mistake, has_own: bool) -> _core.Mistake:
        """Return a mistake that the core reports, at the file that it is about.

        ``has_own`` is whether the user overrides keys of jobs too.
        """
        if mistake.file != "override":
            return mistake
        if mistake.key in (f"{WORKLOAD}{self.kind}.{key}" for key in ("file", "text")):
            return self._of_trace(mistake)
        about_job = mistake.key.startswith("job") and not has_own
        return mistake.at(self.origin) if about_job else mistake

    def _of_trace(self, mistake: _core.Mistake) -> _core.Mistake:
        """Name the trace; errors about one of several files have its absolute path in front."""
        if self.kind != "chakra":
            source, text, expected = str(self.source), mistake.found, mistake.expected
            return _core.Mistake(source, "", text, expected, text_line=mistake.line)
        home = self.source if self.source.is_dir() else self.source.parent
        name = mistake.found.replace(f"{home.absolute()}/", "" if home == Path() else f"{home}/")
        name = name.replace(str(self.source.absolute()), str(self.source))
        return _core.Mistake("", "", name, mistake.expected)


def trace_kind(source: Path) -> str | None:
    """Return the workload that reads a trace, or None of a recording or an archive.

    Raises ``ScenarioError`` when it is the Chakra trace of one rank.
    """
    if RANK in source.name:
        return "chakra"
    if source.is_dir():
        names = {path.name for path in source.iterdir()}
        is_recording = not names or any(name.endswith(RECORDED) for name in names)
        return None if is_recording else "chakra"
    if source.is_file() and CHAKRA_FILE.search(source.name):
        pattern = RANKED.sub(rf"\g<1>{RANK}\g<2>", source.name, count=1)
        pattern = pattern if RANK in pattern else f"NAME.{RANK}.et"
        expected = f"those of all ranks: their folder, or {source.with_name(pattern)}"
        raise _rejected(source, "a Chakra execution trace of one rank", expected)
    is_trace = source.exists() and source.suffix != RECORDED and not is_archive(source)
    return "goal" if is_trace else None


def _trace(
    source: Path, kind: str, own: Mapping[str, Any] | None, scale: float | None, library: str | None
) -> dict[str, object]:
    """Return the keys of a workload for a trace: those of the scenario's job, with another file."""
    options = {"compute_scale": scale, "library": library}
    chosen = {key: value for key, value in options.items() if value is not None}
    if kind == "goal" and (_or_one(scale) != 1.0 or library):
        reason = "a GOAL trace with another factor of computation, or another library"
        raise _rejected(source, reason, "a recording, or traces of Chakra")
    written = _workload(own).get(kind, {})
    kept = {key: value for key, value in written.items() if key not in TRACE_KEYS}
    file = {"file": str(source.absolute())}
    return {**kept, **file, **(chosen if kind == "chakra" else {})}


def _or_one(compute_scale: float | None) -> float:
    return 1.0 if compute_scale is None else compute_scale


def _only_of_recordings(source: Path, ranks_per_node: int, keep: Path | None) -> None:
    if ranks_per_node != 1 or keep:
        reason = "a trace with a number of ranks of a node, or to be kept"
        raise _rejected(source, reason, "a recording or an archive")


def _rejected(file: object, text: str, expected: str, key: str = "") -> _core.ScenarioError:
    return _core.scenario_error([_core.Mistake(str(file), key, text, expected)])


def _first_job(scenario: ScenarioSource, overrides: Overrides | None) -> Mapping[str, Any] | None:
    """Return the first job as a scenario has it, or None of a fabric alone."""
    text, _ = read(scenario)
    try:
        jobs = (overrides or {}).get("job") or tomllib.loads(text).get("job")
    except (ValueError, RecursionError):  # the core says what is wrong with it
        return None
    return next(iter(jobs), None) if isinstance(jobs, list) else None


def _workload(own: Mapping[str, Any] | None) -> Mapping[str, Mapping[str, Any]]:
    """Return the tables of a job's workload: one, where the scenario has no mistake there."""
    workload = own.get("workload") if isinstance(own, Mapping) else None
    tables = workload.items() if isinstance(workload, Mapping) else ()
    return {kind: keys for kind, keys in tables if isinstance(keys, Mapping)}


def _as_first(
    job: Mapping[str, Any] | None, workload: Mapping[str, object], overrides: Overrides
) -> Overrides:
    """Put a workload in place of that of the first job, or make a job for it.

    Overrides of the job's keys follow; those of another workload of it have no effect.
    """
    (kind,) = workload
    others = {key: value for key, value in overrides.items() if not key.startswith("job.0.")}
    own = {
        key: value
        for key, value in overrides.items()
        if key.startswith("job.0.")
        and (not f"{key}.".startswith(WORKLOAD) or key.startswith(f"{WORKLOAD}{kind}."))
    }
    if job is None:
        return {**others, "job": [{"name": JOB, "workload": workload}], **own}
    return {**others, "job.0.workload": workload, **own}


def _check_end(result: Result, job: str, described: RecordingFacts | None) -> None:
    """Reject a run that ends before all ranks of the program do."""
    ended = result.values("iterations", "job").count(job)
    expected = described["ranks"] if described else 1
    has_others = len(result.scenario["job"]) > 1
    is_cut = ended < expected or not (described or has_others)
    if result.summary["finished"] == "time_limit" and is_cut:
        reason = f"{job} has not ended then"
        raise _rejected(result.summary["name"], reason, "a later end, or none", "run.end")


def _named(own: Mapping[str, Any] | None) -> str | None:
    """Return the library that the workload of a job names."""
    return next((keys.get("library") for keys in _workload(own).values()), None)


def _recorded(version: str) -> tuple[str, tuple[str, ...]]:
    """Return whose rules a recorded library has, and a warning where they are unknown."""
    for pattern, rules in _LIBRARIES.items():
        if re.match(pattern, version):
            return rules, ()
    name = " ".join(version.split())
    return LIBRARY, (f"the rules of {name} for collectives are not known: {LIBRARY} was taken",)
