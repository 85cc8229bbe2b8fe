"""Summary of a campaign: every data point with its interval, and warnings first."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import etherweave
from etherweave.api.units import Unit
from etherweave.bench import statistics
from etherweave.bench.campaigns.campaign import Campaign, Network
from etherweave.bench.campaigns.points import CENTRES, DataPoint, JudgedLaunch, point_of, series
from etherweave.bench.campaigns.runner import ExperimentState, by_experiment, state
from etherweave.bench.environment.findings import Severity
from etherweave.bench.statistics.quantiles import median
from etherweave.bench.statistics.summary import summarise
from etherweave.measurements.benchmark_report import BenchmarkReport, Completeness, Measurement
from etherweave.measurements.references import Reference, compare, references, search

FORMAT = 1
_MAX = 5  # Largest number of warnings of a kind that are listed.


@dataclass(frozen=True)
class Band:
    """Range of published figures that one number is compared with."""

    low: float
    high: float
    count: int
    ratio: float  # Measured over the median of the published.
    sources: tuple[str, ...]


@dataclass(frozen=True)
class PointSummary:
    """A point and its statistics."""

    point: DataPoint
    statistics: "statistics.summary.LaunchSummary"
    band: Band | None

    def facts(self) -> dict[str, Any]:
        """Return it as JSON values, in the point's base unit."""
        own = self.statistics
        interval = own.interval
        return vars(self.point) | {
            "name": self.point.slug,
            "is_central": self.point.statistic in CENTRES,
            "median": own.median,
            "low": interval.low if interval else None,
            "high": interval.high if interval else None,
            "n": len(own.launches),
            "min": own.low,
            "max": own.high,
            "p99": own.tail,
            "outliers": own.outliers,
            "is_stable": own.is_stable,
            "doubts": own.doubts,
            "reference": asdict(self.band) if self.band else None,
        }


@dataclass(frozen=True)
class CampaignSummary:
    """The present state of a campaign."""

    campaign: Campaign
    launches: tuple[JudgedLaunch, ...]
    points: tuple[PointSummary, ...]
    states: Mapping[str, ExperimentState]  # States by the names of experiments.
    warnings: tuple[str, ...]

    @property
    def is_finished(self) -> bool:
        """Whether no launch is left to be made."""
        return ExperimentState.OPEN not in self.states.values()

    @property
    def has_failed(self) -> bool:
        """Whether an experiment gave no number."""
        return ExperimentState.GIVEN_UP in self.states.values()

    def facts(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "format": FORMAT,
            "version": etherweave.__version__,
            "identity": self.campaign.identity,
            "site": self.campaign.site,
            "is_finished": self.is_finished,
            "launches": len(self.launches),
            "networks": [asdict(network) for network in self.campaign.networks],
            "rule": asdict(self.campaign.rule),
            "seed": self.campaign.seed,
            "start_ns": min((launch.record.start_ns for launch in self.launches), default=None),
            "end_ns": max((launch.record.end_ns for launch in self.launches), default=None),
            "warnings": self.warnings,
            "experiments": [*_experiments(self)],
            "points": [point.facts() for point in self.points],
        }


def summary(
    campaign: Campaign,
    launches: Sequence[JudgedLaunch],
    environments: Sequence[Mapping[str, Any]] = (),
) -> CampaignSummary:
    """Summarise launches.

    ``environments`` are as the store holds them: each with its ``findings``.
    """
    points = tuple(_points(campaign, launches))
    parts = by_experiment(campaign, launches)
    states = {name: state(campaign.rule, own) for name, own in parts.items()}
    reasons = (
        *_environment(environments),
        *_given_up(campaign, states),
        *_failed(launches),
        *_suspected(launches),
        *_unstable(points),
    )
    return CampaignSummary(campaign, tuple(launches), points, states, tuple(dict.fromkeys(reasons)))


def _points(campaign: Campaign, launches: Sequence[JudgedLaunch]) -> Iterator[PointSummary]:
    figures = {network.name: among(network) for network in campaign.networks}
    samples = _samples(launches)
    order = {experiment.name: place for place, experiment in enumerate(campaign.experiments)}
    in_order = sorted(launches, key=lambda launch: order[launch.record.experiment])
    for point, values in series(in_order).items():
        launch_summary = summarise(values, point.unit, campaign.rule)
        sample = samples[point]
        median = replace(sample, value=launch_summary.median)
        # Published figures are of a network without another load.
        own = [] if point != point.without_background else figures[point.fabric]
        near = band(point.benchmark, point.program, median, own)
        yield PointSummary(point, launch_summary, near)


def _samples(launches: Sequence[JudgedLaunch]) -> dict[DataPoint, Measurement]:
    """Return one measurement of each data point, for its other properties."""
    return {
        point_of(launch.experiment, measurement): measurement
        for launch in launches
        if launch.counts
        for measurement in launch.verdict.measurements
    }


def _experiments(campaign_summary: CampaignSummary) -> Iterator[dict[str, Any]]:
    parts = by_experiment(campaign_summary.campaign, campaign_summary.launches)
    for experiment in campaign_summary.campaign.experiments:
        own = parts[experiment.name]
        yield {
            "name": experiment.name,
            "program": experiment.program,
            "fabric": experiment.fabric,
            "hosts": experiment.hosts,
            "background": [load.name for load in experiment.background],
            "state": campaign_summary.states[experiment.name].value,
            "launches": len(own),
            "counted": sum(launch.counts for launch in own),
            "invalid": sum(not launch.verdict.is_valid for launch in own),
        }


def _environment(environments: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for facts in environments:
        for finding in facts.get("findings", ()):
            if finding.get("severity") == Severity.WARNING:
                yield f"{finding.get('where')}: {finding.get('what')}"


def _given_up(campaign: Campaign, states: Mapping[str, ExperimentState]) -> Iterator[str]:
    for experiment in campaign.experiments:
        if states[experiment.name] is ExperimentState.GIVEN_UP:
            where = f"{experiment.fabric}, {','.join(experiment.hosts)}"
            yield f"{experiment.program} on {where}: given up, launches fail"


def _failed(launches: Sequence[JudgedLaunch]) -> Iterator[str]:
    reasons = Counter(
        f"{launch.experiment.program} on {launch.experiment.fabric}: {problem}"
        for launch in launches
        for problem in launch.verdict.problems
    )
    for what, count in reasons.most_common(_MAX):
        yield f"{what} ({count} of {len(launches)} launches; they do not count)"
    if len(reasons) > _MAX:
        yield f"{len(reasons) - _MAX} more reasons why launches do not count"


def _suspected(launches: Sequence[JudgedLaunch]) -> Iterator[str]:
    reasons = Counter(
        f"{launch.experiment.program} on {launch.experiment.fabric}: {warning}"
        for launch in launches
        if launch.counts
        for warning in launch.verdict.warnings
    )
    yield from (what for what, _ in reasons.most_common(_MAX))


def _unstable(points: Sequence[PointSummary]) -> Iterator[str]:
    central = [point for point in points if point.point.statistic in CENTRES]
    shaky = [point for point in central if not point.statistics.is_stable]
    if shaky:
        reason = Counter(doubt for row in shaky for doubt in row.statistics.doubts)
        (most, _), *_ = reason.most_common(1)
        yield f"unstable: {len(shaky)} of {len(central)} points, such as: {most}"


def among(network: Network) -> list[Reference]:
    """Choose the figures of a network's kind, and of its rate if there are any.

    Bandwidths of other rates are left out, as they reflect the rate.
    """
    own = search(fabric=network.kind) if network.kind else list(references())
    usable = [entry for entry in own if entry.may_accept]
    alike = [metric for metric in usable if _has_rate(metric, network.rate)]
    return alike or [metric for metric in usable if metric.unit != Unit.BYTES_PER_SECOND]


def band(
    benchmark: str, program: str, measurement: Measurement, figures: Iterable[Reference]
) -> Band | None:
    """Enclose the figures of the same program, metric, statistic, size and test."""
    own = [figure for figure in figures if figure.program == program]
    report = BenchmarkReport(
        benchmark, program, None, 1, (measurement,), Completeness.COMPLETE, None, (), (), ()
    )
    published = [pair.reference for pair in compare(report, own)]
    if not published:
        return None
    values = [figure.value for figure in published]
    sources = dict.fromkeys(f"{figure.source}, {figure.place}" for figure in published)
    ratio = measurement.value / median(values)
    return Band(min(values), max(values), len(values), ratio, tuple(sources))


def _has_rate(row: Reference, rate: float) -> bool:
    return row.link_bits_per_s is not None and abs(row.link_bits_per_s / 8 / rate - 1) < 0.01
