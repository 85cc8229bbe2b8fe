"""Points of curves: one number of each launch that counts, by what was measured where."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from etherweave.bench.campaigns.campaign import Campaign, CampaignExperiment
from etherweave.bench.campaigns.store import LaunchRecord
from etherweave.bench.launchers.launcher import Ending
from etherweave.bench.statistics.quantiles import median
from etherweave.bench.texts.document import Document, UnrecognisedError, parse
from etherweave.measurements.benchmark_report import BenchmarkReport, Completeness, Measurement
from etherweave.measurements.metrics import Better

CENTRES = ("p50", "mean", "sum")
"""Statistics that represent a data point, the best first: outliers do not affect the median."""


@dataclass(frozen=True)
class DataPoint:
    """Identity of a measured quantity: numbers of one data point can be compared."""

    benchmark: str
    program: str
    fabric: str
    hosts: str  # Joined by commas, in the order of ranks.
    ranks_per_node: int
    metric: str
    unit: str
    better: str  # Direction of better values, see :class:`etherweave.measurements.metrics.Better`.
    statistic: str
    size_bytes: int | None
    labels: str  # ``name=value``, joined by blanks; the background's is the last.

    @property
    def words(self) -> str:
        """Name for people, without the size."""
        statistic = "" if self.statistic == "mean" else self.statistic
        parts = (self.program, self.fabric, self.hosts, self.metric, statistic, self.labels)
        return " ".join(filter(None, parts))

    @property
    def without_background(self) -> "DataPoint":
        """The same point where nothing loads the network beside the benchmark."""
        return replace(self, labels=re.sub(r"(?:^| )background=\S+$", "", self.labels))

    @property
    def slug(self) -> str:
        """Name for programs: letters, digits and underscores, the size at the end."""
        size = "" if self.size_bytes is None else f"{self.size_bytes}B"
        ranks = f"{self.ranks_per_node} ranks" if self.ranks_per_node > 1 else ""
        return re.sub(r"[^A-Za-z0-9]+", "_", f"{self.words} {ranks} {size}").strip("_")


@dataclass(frozen=True)
class LaunchVerdict:
    """The verdict on one launch."""

    reports: tuple[BenchmarkReport, ...]  # Those of the benchmark that was launched.
    problems: tuple[str, ...]  # Why it does not count; empty if it does.

    @property
    def is_valid(self) -> bool:
        """Whether its numbers may be used."""
        return not self.problems

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """Measurements of all its reports, in order."""
        return tuple(measurement for report in self.reports for measurement in report.measurements)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Suspicions about numbers that count."""
        return tuple(dict.fromkeys(text for report in self.reports for text in report.warnings))


class JudgedLaunch(NamedTuple):
    """A launch with its verdict."""

    record: LaunchRecord
    experiment: CampaignExperiment
    verdict: LaunchVerdict

    @property
    def counts(self) -> bool:
        """Whether its numbers enter the statistics."""
        return self.verdict.is_valid and not self.record.is_warm_up


def judged_launches(campaign: Campaign, records: Iterable[LaunchRecord]) -> list[JudgedLaunch]:
    """Judge launches."""
    by_name = {experiment.name: experiment for experiment in campaign.experiments}
    return [judged_launch(by_name[record.experiment], record) for record in records]


def judged_launch(experiment: CampaignExperiment, record: LaunchRecord) -> JudgedLaunch:
    """Judge one launch."""
    verdict = judge(experiment, record.ending, record.text, record.errors)
    return JudgedLaunch(record, experiment, verdict)


def series(launches: Iterable[JudgedLaunch]) -> dict[DataPoint, list[list[float]]]:
    """Gather what each launch that counts measured at each point, in the launches' order."""
    samples: dict[DataPoint, list[list[float]]] = {}
    for launch in launches:
        if launch.counts:
            for point, values in _measured(launch).items():
                samples.setdefault(point, []).append(values)
    return samples


def centres(samples: Mapping[DataPoint, Sequence[Sequence[float]]]) -> dict[DataPoint, list[float]]:
    """Keep one statistic of each point, as one number of each launch."""
    best: dict[DataPoint, DataPoint] = {}
    for point in samples:
        place = replace(point, statistic="")
        if point.better != Better.NEITHER and point.statistic in CENTRES:
            best[place] = min(best.get(place, point), point, key=_rank)
    return {point: [median(values) for values in samples[point]] for point in best.values()}


def point_of(experiment: CampaignExperiment, measurement: Measurement) -> DataPoint:
    """Return the data point that a measurement belongs to.

    Options of the program and the load beside it are among its labels: points of other options or
    of another load are others.
    """
    background = ",".join(load.name for load in experiment.background)
    of_launch = (("options", ",".join(experiment.options)), ("background", background))
    own = [(name, text) for name, text in of_launch if text]
    return DataPoint(
        benchmark=experiment.benchmark,
        program=experiment.program,
        fabric=experiment.fabric,
        hosts=",".join(experiment.hosts),
        ranks_per_node=experiment.ranks_per_node,
        metric=measurement.metric.name,
        unit=measurement.metric.unit.value,
        better=measurement.metric.better.value,
        statistic=measurement.statistic,
        size_bytes=measurement.size_bytes,
        labels=" ".join(f"{name}={text}" for name, text in (*measurement.labels, *own)),
    )


def _measured(launch: JudgedLaunch) -> dict[DataPoint, list[float]]:
    values: dict[DataPoint, list[float]] = defaultdict(list)
    for measurement in launch.verdict.measurements:
        values[point_of(launch.experiment, measurement)].append(measurement.value)
    return values


def _rank(point: DataPoint) -> int:
    return CENTRES.index(point.statistic)


_SHOWN = 200  # Part shown of a program's last words [characters].


def judge(experiment: CampaignExperiment, ending: str, text: str, errors: str) -> LaunchVerdict:
    """Judge a launch by how it ended and what it wrote."""
    how = f"{ending.replace('_', ' ')}{_last_words(errors)}"
    ended = [] if ending == Ending.DONE else [how]
    try:
        document = parse(text)
    except UnrecognisedError as error:
        return LaunchVerdict((), tuple(ended or [f"{error}{_last_words(errors)}"]))
    own = tuple(report for report in document.reports if report.benchmark == experiment.benchmark)
    return LaunchVerdict(own, (*ended, *_problems(experiment, document, own)))


def _last_words(errors: str) -> str:
    # Open MPI frames its messages by rules of dashes.
    lines = [line.strip() for line in errors.splitlines() if line.strip(" \t-=*")]
    return f": {lines[-1][:_SHOWN]}" if lines else ""


def _problems(
    experiment: CampaignExperiment, document: Document, own: Sequence[BenchmarkReport]
) -> Iterator[str]:
    for failure in document.failures:
        yield f"line {failure.line}: {failure.reason}"
    if not own and not document.failures:
        others = ", ".join(report.benchmark for report in document.reports)
        yield f"text of {others}; expected one of {experiment.benchmark}"
    for report in own:
        if report.completeness is Completeness.PARTIAL:
            yield "the text is incomplete"
        if report.valid is False:
            yield "failed its own verification"
    yield from _missing(experiment, own)


def _missing(experiment: CampaignExperiment, own: Sequence[BenchmarkReport]) -> Iterator[str]:
    """Report the sizes that were planned and not printed."""
    seen = {measurement.size_bytes for report in own for measurement in report.measurements}
    if own and (gone := [size for size in experiment.sizes if size not in seen]):
        yield f"no result for {', '.join(f'{size:,} B' for size in gone[:5])}"
