"""Samples of a study: all its checks at points of one Sobol sequence over what is not known.

A sample draws the unknowns of all experiments at once. What two experiments rest on alike, such as
one measurement, has one share in both: what is wrong of it moves both sides of a ratio. Experiments
of which nothing is unknown keep the result that they have. A worker carries out a whole sample and
keeps its checks alone; no table is written. Samples go on while the interval of a time, of a rate,
or of what has an error of the model is not known, with the experiments that these checks read.
"""

import hashlib
import json
import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeAlias

import etherweave
from etherweave.api.inputs import read_json
from etherweave.api.machine import build
from etherweave.api.outputs import below, write_bytes, write_json
from etherweave.api.work import Work, WorkCallback, unheard
from etherweave.study import Study, StudyCheck, StudyResult, load_study
from etherweave.study.declared import DeclaredUnknown
from etherweave.study.experiments import RunExperiment
from etherweave.study.results import load_result
from etherweave.study.running import known_times
from etherweave.sweeps import Executor, WorkerError, executor
from etherweave.sweeps.cost import START_S
from etherweave.uncertainty import sampling
from etherweave.uncertainty.check_rows import row_of
from etherweave.uncertainty.coverage import CheckInterval, check_intervals
from etherweave.uncertainty.declared import Declared, range_of
from etherweave.uncertainty.intervals import end_error

SAMPLES = "samples.json"  # A directory with this file has samples of a study.
_KEPT = "samples"  # Directory of samples that are done.
_PART = ".ended"
"""End of a file of a sample that a worker carries out: an octet for each experiment that ended."""
_SECONDS = ("ns", "us", "ms", "s")
Needed: TypeAlias = Mapping[str, Sequence[str]]  # Sampled experiments that each check reads.
Keys: TypeAlias = Mapping[str, Mapping[str, object]]  # Keys of each experiment in a sample.


@dataclass(frozen=True)
class SampledStudy:
    """The checks of a study in every sample."""

    samples: int  # Most of a check.
    unknowns: int  # Different ones, of all experiments.
    experiments: int  # Number of experiments with unknowns that checks read.
    values: Mapping[str, Sequence[float]]
    """Figures by check and sample, of some checks fewer; the same in all samples where no unknown
    changes a check."""
    failures: Mapping[str, int]
    """Why checks have no figure in some samples, and how many figures that are."""
    build: str  # Core that they are of.

    def intervals(self, result: StudyResult) -> list[CheckInterval]:
        """Compute the intervals of all checks."""
        return check_intervals(result.study.name, result.checks, self.values)


def sample_study(
    result: StudyResult,
    samples: int,
    where: Executor = executor(),  # noqa: B008 - frozen, and starts nothing
    on_progress: WorkCallback = unheard,
) -> SampledStudy:
    """Carry out samples of a study, and keep the figures of its checks beside its results.

    A time, a rate or what has an error of the model is drawn until the ends of its interval of 90 %
    are known to 5 % of its median: first 8 times, then half as often again, at most as often as
    ``samples``. Other checks are drawn along where their experiments are. Figures do not depend on
    the executor. ``on_progress`` is called with the work whenever a sample has ended; between two
    calls the work says how many experiments of the running samples have ended. The time left is
    that of all samples of the checks that are not known yet. Raises ``UncertaintyError`` or
    ``ScenarioError`` when samples cannot be drawn; ``WorkerError`` when a worker has died.
    """
    sampling.check_count(samples)
    drawn = sampled_experiments(result.study, result.full, samples)
    needed = _needed(result, drawn)
    home = below(result.directory, _KEPT)
    home.mkdir(parents=True, exist_ok=True)
    keys = list(_keys(drawn, samples))
    rows = list[Mapping[str, float | str]]()
    awaited = {check.id: needed[check.id] for check in _awaited(result) if check.id in needed}
    open_: Needed = needed
    until = min(sampling.SAMPLES_MIN, samples)
    for left in home.glob(f"*{_PART}"):  # Workers that were interrupted have left them.
        left.unlink(missing_ok=True)
    work = _SampleWork(result, samples, where.workers, on_progress, home)
    with where.kept() as kept:
        while open_ and len(rows) < samples:
            work.expect(len(rows), open_)
            batch = list(range(len(rows), until))
            tasks = [(number, (result, open_, keys[number])) for number in batch]
            rows += _carried_out(tasks, home, kept, work.end)
            values = _sampled(rows, needed, 0, 0).values
            open_ = _along(
                needed, {check: awaited[check] for check in awaited if _is_open(values.get(check))}
            )
            until = min(until + until // 2, samples)
    for number in range(len(rows), samples):
        work.end(str(number), True)
    read = {name for names in needed.values() for name in names}
    unknowns = {entry.document for name in read for entry in drawn[name].drawn.entries}
    sampled = _sampled(rows, needed, len(unknowns), len(read))
    write_json(below(result.directory, SAMPLES), asdict(sampled))
    return sampled


class _SampleWork:
    """Samples as work: by the record of the study each takes what its experiments do."""

    def __init__(
        self, result: StudyResult, samples: int, workers: int, on_progress: WorkCallback, home: Path
    ) -> None:
        experiments = result.study.experiments(result.full)
        recorded = known_times(result.study, experiments, result.full)
        self._times = _as_taken(recorded, result.taken_s)
        self._names = [str(number) for number in range(samples)]
        self._expected = dict[str, float]()
        self._work = Work(
            *(self._names, None, workers), in_seconds=True, start_s=START_S, running=self._running
        )
        self._on_progress = on_progress
        self._home, self._experiments = home, 0

    def expect(self, first: int, open_: Needed) -> None:
        """Expect the experiments of some checks in samples from a number on.

        Those without a time take as long as the others on average.
        """
        experiments = {name for names in open_.values() for name in names}
        self._experiments = len(experiments)
        if times := [self._times[name] for name in experiments if name in self._times]:
            sample_s = statistics.fmean(times) * len(experiments)
            self._expected |= dict.fromkeys(self._names[first:], sample_s)
            self._work.expect(self._expected)
        self._on_progress(self._work)

    def end(self, name: str, is_kept: bool) -> None:
        """Take in that a sample has ended."""
        self._work.end(name, is_kept=is_kept)
        self._on_progress(self._work)

    def _running(self) -> str:
        """Count the experiments that have ended of the samples that run."""
        ended = list[int]()
        for part in self._home.glob(f"*{_PART}"):
            with suppress(OSError):  # The sample has just ended.
                ended.append(part.stat().st_size)
        if not ended:
            return ""
        samples = "1 sample" if len(ended) == 1 else f"{len(ended)} samples"
        return f"{sum(ended)} of {len(ended) * self._experiments} experiments of {samples}"


def _as_taken(recorded_s: Mapping[str, float], taken_s: Mapping[str, float]) -> Mapping[str, float]:
    """Scale recorded times of experiments by those that were carried out now, on this machine."""
    both = [name for name in recorded_s if taken_s.get(name)]
    expected_s = sum(recorded_s[name] for name in both)
    pace = sum(taken_s[name] for name in both) / expected_s if expected_s else 1.0
    return {name: taken_s.get(name) or pace * own_s for name, own_s in recorded_s.items()}


def _awaited(result: StudyResult) -> list[StudyCheck]:
    """List checks that samples go on for: times, rates, and what has an error of the model."""
    name = result.study.name
    return [
        check
        for check in result.checks
        if check.unit in _SECONDS or check.unit.endswith("/s") or row_of(name, check, [check.value])
    ]


def _along(needed: Needed, open_: Needed) -> dict[str, Sequence[str]]:
    """List the checks whose experiments are all carried out for those that are not known."""
    carried_out = {name for names in open_.values() for name in names}
    return {check: names for check, names in needed.items() if carried_out.issuperset(names)}


def _is_open(values: Sequence[float] | None) -> bool:
    """Whether the ends of an interval of 90 % are not known to 5 % of the median.

    What had no figure in any sample is not drawn again.
    """
    return values is not None and not end_error(values) <= sampling.PRECISION


def _carried_out(
    batch: Sequence[tuple[int, tuple[StudyResult, Needed, Keys]]],
    home: Path,
    where: Executor,
    on_done: Callable[[str, bool], None],
) -> list[dict[str, float | str]]:
    """Carry out samples, but those that are kept."""
    values: dict[str, dict[str, float | str]] = {}
    tasks = []
    for number, (result, needed, keys) in batch:
        task = (str(result.study.home), result.full, str(result.directory), needed, keys)
        identity, file = _identity(result.study, task), below(home, f"{number}.json")
        kept = _kept(file, identity)
        if kept is None:
            tasks.append((str(number), (*task, str(file), identity)))
        else:
            values[str(number)] = kept
            on_done(str(number), True)
    for name, answer in where.completed(f"{__name__}:measure", tasks, home):
        if isinstance(answer, WorkerError):
            raise answer
        values[name] = answer
        on_done(name, False)
    return [values[str(number)] for number, _ in batch]


def load_sampled(directory: Path) -> SampledStudy | None:
    """Read the samples of a study from the directory of its results; None without any.

    Raises ``ValueError`` when the file is damaged.
    """
    file = directory / SAMPLES
    if not file.exists():
        return None
    try:
        return SampledStudy(**read_json(file))
    except TypeError as error:
        raise ValueError(f"{file}: {error}; expected what `etherweave study` wrote") from None


def _sampled(
    rows: Sequence[Mapping[str, float | str]],
    needed: Mapping[str, Sequence[str]],
    unknowns: int,
    experiments: int,
) -> SampledStudy:
    values: dict[str, list[float]] = {}
    failures: dict[str, int] = {}
    for check in needed:
        for row in [own for own in rows if check in own]:
            if isinstance(value := row[check], str):
                failures[value] = failures.get(value, 0) + 1
            else:
                values.setdefault(check, []).append(value)
    return SampledStudy(len(rows), unknowns, experiments, values, failures, build())


def sampled_experiments(
    study: Study, full: bool, samples: int
) -> dict[str, sampling.SampledScenario]:
    """Draw all experiments of which something is unknown, by name.

    Each has the shares of its own unknowns out of one sequence over those of all.
    """
    scenarios = dict[str, sampling.SampledScenario]()
    for row in study.experiments(full):
        if isinstance(row, RunExperiment):
            stated = [
                each for each in study.declared.unknown if fnmatchcase(row.name, each.experiments)
            ]
            scenario = sampling.sampled_scenario(
                row.file(study.home), row.overrides, samples, _ranges(stated), stated
            )
            if scenario.drawn.entries:
                scenarios[row.name] = scenario
    return sampling.paired(scenarios, samples)


def _ranges(stated: Sequence[DeclaredUnknown]) -> Declared:
    ranged = [unknown for unknown in stated if unknown.low]
    return Declared(
        {key: range_of(f"unknown {key}", own.low, own.high) for own in ranged for key in own.keys}
    )


def _keys(
    drawn: Mapping[str, sampling.SampledScenario], samples: int
) -> Iterator[dict[str, dict[str, object]]]:
    points = {name: list(each.points())[1:] for name, each in drawn.items()}
    for number in range(samples):
        yield {
            name: {key: value for key, value in rows[number].items() if key != "sample"}
            for name, rows in points.items()
        }


def _needed(
    result: StudyResult, drawn: Mapping[str, sampling.SampledScenario]
) -> dict[str, list[str]]:
    """Find which sampled experiments each check reads; those that read none do not vary."""
    values = {}
    for check in result.checks:
        asked = _Asked(result.results)
        result.study.metrics[check.id](asked)
        if names := [name for name in asked.names if name in drawn]:
            values[check.id] = names
    return values


class _Asked(dict[str, Any]):
    """Results, and the names that were asked for."""

    def __init__(self, results: Mapping[str, Any]) -> None:
        super().__init__()
        self._results = results
        self.names: dict[str, None] = {}

    def __getitem__(self, name: str) -> Any:
        self.names[name] = None
        return self._results[name]


def _identity(study: Study, task: tuple[Any, ...]) -> str:
    """Hash what a sample depends on: the core, the study's folder, and the keys."""
    digest = hashlib.sha256(build().encode())
    for file in sorted(study.home.iterdir()):
        if file.is_file():
            digest.update(file.read_bytes())
    digest.update(json.dumps([task[1], *task[3:]], sort_keys=True).encode())
    return digest.hexdigest()


def _kept(file: Path, identity: str) -> dict[str, float | str] | None:
    try:
        facts = read_json(file)
        return dict(facts["values"]) if facts["identity"] == identity else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def measure(
    task: tuple[str, bool, str, dict[str, list[str]], dict[str, dict[str, object]], str, str],
) -> dict[str, float | str]:
    """Carry out a sample in a worker: the figure of each check, or why it has none."""
    home, full, directory, needed, keys, file, identity = task
    study = load_study(Path(home))
    rows = {row.name: row for row in study.experiments(full) if isinstance(row, RunExperiment)}
    part = Path(file).with_suffix(_PART)
    write_bytes(part, b"")
    results = _SampleResults(study, rows, keys, Path(directory), part)
    try:
        values = _figures(study, needed, results)
    finally:
        part.unlink(missing_ok=True)
    write_json(Path(file), {"identity": identity, "values": values})
    return values


def _figures(
    study: Study, needed: Mapping[str, Sequence[str]], results: "_SampleResults"
) -> dict[str, float | str]:
    """Compute the figure of each check; results that no later check needs are let go."""
    left = [name for names in needed.values() for name in names]
    values = dict[str, float | str]()
    for check, names in needed.items():
        try:
            value = float(study.metrics[check](results))
            values[check] = value if math.isfinite(value) else "no figure"
        except (ValueError, RuntimeError) as error:
            values[check] = str(error)
        del left[: len(names)]
        results.keep(set(left))
    return values


class _SampleResults(dict[str, Any]):
    """Results of the experiments of a sample, each made when it is first asked for."""

    def __init__(
        self,
        study: Study,
        experiments: Mapping[str, RunExperiment],
        keys: Mapping[str, Mapping[str, object]],
        directory: Path,
        part: Path,
    ) -> None:
        super().__init__()
        self._study, self._experiments, self._keys = study, experiments, keys
        self._directory, self._part = directory, part
        self._ended = set[str]()

    def __missing__(self, name: str) -> Any:
        keys = self._keys.get(name)
        if keys is None:
            self[name] = load_result(below(self._directory, name))
        else:
            experiment = self._experiments[name]
            result = etherweave.run(
                experiment.file(self._study.home), {**experiment.overrides, **keys}
            )
            self._note_end(name)
            if result.summary["finished"] == "stuck":
                raise RuntimeError(f"{name} is stuck")
            self[name] = result
        return self[name]

    def _note_end(self, name: str) -> None:
        """Count an experiment as ended, for the progress of whoever waits for the sample."""
        if name not in self._ended:
            self._ended.add(name)
            with self._part.open("ab") as file:
                file.write(b".")

    def keep(self, names: set[str]) -> None:
        """Drop the results of other experiments than these."""
        for name in [place for place in self if place in self._keys and place not in names]:
            del self[name]
