"""Carries out the experiments of a study side by side, keeps their results, and checks them."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from etherweave.api.inputs import read_json
from etherweave.api.machine import build
from etherweave.api.outputs import below, write_json, write_text
from etherweave.api.work import Work, WorkCallback, unheard
from etherweave.study.experiments import RunExperiment, StudyExperiment
from etherweave.study.folder import Study, load_study
from etherweave.study.records import CHECK_S, full_times, processor_s, recorded_times
from etherweave.study.results import CHECKS, StudyCheck, StudyResult, check_of, load_result
from etherweave.sweeps.cost import START_S
from etherweave.sweeps.executors import WorkerError, executor

_MARK = "experiment.json"  # Written last: with it, a result is whole.


def run_study(
    study: str | Path | Study,
    output: Path,
    *,
    full: bool = False,
    only: str = "*",
    fresh: bool = False,
    processes: int | None = None,
    where: str = "local",
    on_progress: WorkCallback = unheard,
) -> StudyResult:
    """Carry out the experiments of a study and check them.

    Parameters
    ----------
    study
        Name or path (see :func:`load_study`), or a loaded study, whose folder has its experiments.
    output
        Directory for the results; those of equal experiments that it holds are used again, unless
        ``fresh``.
    full
        Whether to carry out all that was published, where that takes long.
    only
        Patterns of the experiments to run, such as ``"p2p.*,fft.*"``; checks that need others are
        listed as not run.
    processes, where
        Experiments side by side, and where: see :func:`etherweave.sweeps.executor`.
    on_progress
        Called with the work whenever an experiment has ended; items are names of experiments.

    Raises
    ------
    KeyError, ValueError
        As of :func:`load_study`, and when no experiment has such a name.
    WorkerError
        When an experiment failed; its text is the reason.
    """
    study = study if isinstance(study, Study) else load_study(study)
    matching = _matching(study.experiments(full), only)
    missing = {item.name: reason for item in matching if (reason := item.missing())}
    wanted = [item.name for item in matching if item.name not in missing]
    output.mkdir(parents=True, exist_ok=True)
    times_s = known_times(study, matching, full)
    # What takes longest begins first, so that no processor waits for it at the end.
    wanted.sort(key=lambda name: -times_s.get(name, math.inf))
    common = (str(study.home), full, str(output.absolute()), fresh)
    tasks = [(name, (*common, name)) for name in wanted]
    on, taken_s = executor(where, processes), dict[str, float]()
    work = Work(wanted, lambda: times_s, on.workers, in_seconds=True, start_s=START_S)
    work.expect_step("checks", CHECK_S * len(wanted))
    on_progress(work)
    for name, answer in on.completed(f"{__name__}:run_named", tasks, output):
        if isinstance(answer, WorkerError):
            raise answer
        work.end(name, is_kept=answer is None)
        taken_s[name] = answer or 0.0
        on_progress(work)
    results = _PartialResults({name: load_result(below(output, name)) for name in wanted})
    checks, not_run = check(study, results, full)
    work.end("checks")
    on_progress(work)
    lacking = {row: missing[name] for row, name in not_run.items() if name in missing}
    left_out = {row: name for row, name in not_run.items() if row not in lacking}
    result = StudyResult(study, checks, output, full, left_out, lacking, taken_s)
    if not left_out:
        # Of the whole study only: a part does not take its place.
        write_text(below(output, CHECKS), result.to_json() + "\n")
    return result


def known_times(
    study: Study, experiments: Sequence[StudyExperiment], full: bool
) -> dict[str, float]:
    """Read the recorded processor times of experiments [s].

    A ``full`` one without a time, or that has changed since, takes as many times as long as the
    shortened one as it has packet-hops, as far as they are known.
    """
    times = recorded_times(study.home)
    if not full:
        return times
    own_times = full_times(study.home, experiments)
    shortened = {item.name: item for item in study.experiments(False) if item.name in times}
    names = shortened.keys() - own_times.keys()
    recorded = (item for item in experiments if item.name in names)
    longer = {item.name: _times_longer(study, shortened[item.name], item) for item in recorded}
    known = {name: own * times[name] for name, own in longer.items() if own is not None}
    return known | own_times


def _times_longer(study: Study, short: StudyExperiment, full: StudyExperiment) -> float | None:
    """Estimate how many times as long as a shortened experiment a full one takes."""
    if short.inputs(study.home) == full.inputs(study.home):
        return 1.0
    if not (isinstance(short, RunExperiment) and isinstance(full, RunExperiment)):
        return None
    hops = [experiment.packet_hops(study.home) for experiment in (full, short)]
    return hops[0] / hops[1] if hops[0] and hops[1] else None


def _matching(known: Sequence[StudyExperiment], only: str) -> list[StudyExperiment]:
    patterns = [pattern.strip() for pattern in only.split(",")]
    wanted = [item for item in known if any(fnmatchcase(item.name, each) for each in patterns)]
    if not wanted:
        groups = dict.fromkeys(f"{experiment.name.split('.')[0]}.*" for experiment in known)
        raise KeyError(f"no experiment {only!r}; known: {', '.join(groups)}")
    return wanted


class _NotRunError(KeyError):
    """A check needs an experiment that was left out."""


class _PartialResults(dict[str, Any]):
    """Results of the experiments that ran."""

    def __missing__(self, name: str) -> Any:
        raise _NotRunError(name)


def check(
    study: Study, results: Mapping[str, Any], full: bool = False
) -> tuple[list[StudyCheck], dict[str, str]]:
    """Compare results with what was published; name checks that did not run, and what they need."""
    checks, not_run = [], {}
    for row in study.expected(full):
        try:
            checks.append(check_of(row, study.metrics[row["id"]](results)))
        except _NotRunError as error:
            not_run[row["id"]] = str(error.args[0])
    return checks, not_run


def run_named(task: tuple[str, bool, str, bool, str]) -> float | None:
    """Carry out an experiment of a study, which a process of its own loads again.

    Returns the processor time that it took [s], which other work on the machine hardly changes;
    None where its result was there.
    """
    before_s = processor_s()
    home, full, output, fresh, name = task
    experiments = load_study(home).experiments(full)
    (experiment,) = [experiment for experiment in experiments if experiment.name == name]
    is_new = run_experiment(Path(home), experiment, below(Path(output), name), fresh)
    return processor_s() - before_s if is_new else None


def run_experiment(home: Path, experiment: StudyExperiment, directory: Path, fresh: bool) -> bool:
    """Carry out one experiment, unless its result is there; returns whether it was carried out."""
    identity = _identity(experiment.inputs(home))
    mark = directory / _MARK
    if not fresh and mark.exists() and _identity_in(mark) == identity:
        return False
    mark.unlink(missing_ok=True)
    experiment.carry_out(home, directory)
    write_json(mark, {"identity": identity, "name": experiment.name})
    return True


def _identity_in(mark: Path) -> str | None:
    """Read the identity of a kept result; a damaged file has none."""
    try:
        return str(read_json(mark)["identity"])
    except (OSError, KeyError, TypeError):
        return None


def _identity(inputs: str) -> str:
    return hashlib.sha256(f"{build()}\n{inputs}".encode()).hexdigest()
