"""Figures that a complete run of a study computed, kept in the study's folder as ``record.json``.

``etherweave study`` lists studies with the figures that pass by it, without running them. Figures
are kept, not verdicts: bounds and counts are those of ``expected.csv`` as it is now.
"""

import hashlib
import json
import math
import resource
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from etherweave.api.inputs import InputError, read_json, read_toml
from etherweave.api.outputs import write_json
from etherweave.study.declared import FILE, read_declaration
from etherweave.study.experiments import ScenarioExperiment, StudyExperiment
from etherweave.study.folder import Study, shipped
from etherweave.study.results import StudyResult, check_of

RECORD = "record.json"
FULL = "full"  # Key of the times of a full run in it.
STATED = "stated"  # Key of what full experiments state, beside their times: a digest by name.
_ROUNDED_S = 0.025  # Mean of the times that records write as 0.0 [s].
CHECK_S = 0.011  # Processor time of checks for each experiment, whose results are read, about [s].
_PAGE_S, _PAGE_ITEM_S = 0.8, 0.022
"""Processor time of a page, with the import of what draws it, and of each experiment in it [s]."""


@dataclass(frozen=True)
class StudyRecord:
    """A complete run of a study: its checks, and the processor time that it took."""

    result: StudyResult
    """Checks with the recorded figures. Its directory is the study's folder: experiments are not
    kept."""
    processor_s: float  # Processor time of all experiments [s].


def processor_s() -> float:
    """Return the processor time of this process and of its children that ended [s]."""
    used = [resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def page_s(experiments: int) -> float:
    """Return the time that the page of a study takes, about [s]."""
    return _PAGE_S + _PAGE_ITEM_S * experiments


def write_record(result: StudyResult, processor_s: float) -> None:
    """Keep what a complete run computed in the folder of its study, with its processor time [s].

    A check that this machine cannot make keeps the figure of the record before. Of a full run the
    times alone are kept, beside the record of the shortened one, with what its experiments state:
    times of those that change count no longer. Raises ``OSError`` when the folder cannot be written
    to, ``ValueError`` when its record is damaged.
    """
    file = result.study.home / RECORD
    before = read_record(result.study.home)
    taken_s = {name: round(taken_s, 3) for name, taken_s in sorted(result.taken_s.items())}
    # Workers on other machines are no children of this process.
    processor_s = max(processor_s, math.fsum(taken_s.values()))
    times = {"processor_s": round(processor_s, 3), "taken_s": taken_s}
    facts = read_json(file) if before else {}
    if result.full:
        if not before:
            raise InputError(file, "no such file: record the study without --full first")
        home, experiments = result.study.home, result.study.experiments(True)
        stated = {item.name: digest(item, home) for item in experiments if item.name in taken_s}
        write_json(file, facts | {FULL: {**times, STATED: dict(sorted(stated.items()))}})
        return
    known = before.result.checks if before else ()
    kept = [check for check in known if check.id in result.unavailable]
    values = {check.id: check.value for check in (*result.checks, *kept)}
    computed = {name: value if math.isfinite(value) else None for name, value in values.items()}
    full = {FULL: facts[FULL]} if FULL in facts else {}
    write_json(file, {**times, "computed": computed, **full})


def read_record(home: Path) -> StudyRecord | None:
    """Read the record of a study; None without one. No code of the folder is executed.

    Raises ``ValueError`` when a file of the folder is damaged.
    """
    file = home / RECORD
    if not file.exists():
        return None
    declared = read_declaration(home / FILE)
    study = Study(home, declared, declared.experiments)
    facts = read_json(file)
    try:
        values = {
            name: math.nan if value is None else float(value)
            for name, value in facts["computed"].items()
        }
        processor_s = float(facts["processor_s"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError(file, "expected what `etherweave study NAME --record` wrote") from None
    rows = [row for row in study.expected() if row["id"] in values]
    checks = [check_of(row, values[row["id"]]) for row in rows]
    return StudyRecord(StudyResult(study, checks, home), processor_s)


def recorded_values(home: Path) -> dict[str, float]:
    """Read the numbers of a record by the names of their checks; nothing of a damaged one."""
    try:
        values = read_json(home / RECORD)["computed"]
        return {name: float(value) for name, value in values.items() if value is not None}
    except (OSError, KeyError, TypeError, ValueError, AttributeError):
        return {}


def has_record(name: str) -> bool:
    """Whether the folder of a study, of a shipped name or a path, has a record."""
    return (shipped().get(name, Path(name)) / RECORD).exists()


def recorded_times(home: Path, full: bool = False) -> dict[str, float]:
    """Read the processor time of each experiment of a study by its record [s]; nothing without."""
    try:
        facts = read_json(home / RECORD)
        taken_s = (facts[FULL] if full else facts)["taken_s"]
        return {key: float(own) or _ROUNDED_S for key, own in taken_s.items()}
    except (OSError, KeyError, TypeError, ValueError, AttributeError):
        return {}


def full_times(home: Path, experiments: Sequence[StudyExperiment]) -> dict[str, float]:
    """Read the processor times of full experiments by the record [s], except of changed ones."""
    times = recorded_times(home, full=True)
    try:
        stated = dict(read_json(home / RECORD)[FULL][STATED]) if times else {}
        return {
            item.name: times[item.name]
            for item in experiments
            if item.name in times and stated.get(item.name) == digest(item, home)
        }
    except (OSError, KeyError, TypeError, ValueError):
        return {}


def digest(experiment: StudyExperiment, home: Path) -> str:
    """Hash what an experiment states: comments of its scenario, and defaults, change nothing.

    Left out: files that a scenario names, such as a trace.
    """
    scenario = {}
    if isinstance(experiment, ScenarioExperiment):
        scenario = read_toml(experiment.file(home))
    text = json.dumps([scenario, repr(experiment)], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def records() -> dict[str, StudyRecord | None]:
    """Read the records of the studies that come with Etherweave, by name."""
    return {name: read_record(home) for name, home in sorted(shipped().items())}
