"""Points of curves: one number of each launch that counts, by what was measured where."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from etherweave.bench.campaign import Campaign, Experiment
from etherweave.bench.measurements import Measurement
from etherweave.bench.metrics import Better
from etherweave.bench.statistics.quantiles import median
from etherweave.bench.store import Record
from etherweave.bench.verdict import Verdict, judge

CENTRES = ("p50", "mean", "sum")
"""Statistics that stand for a point, the best first: the median feels no outliers."""


@dataclass(frozen=True)
class Point:
    """What was measured: its numbers can be held against each other."""

    benchmark: str
    program: str
    fabric: str
    hosts: str
    """Joined by commas, in the order of ranks."""
    ranks_per_node: int
    metric: str
    unit: str
    better: str
    """As in :class:`etherweave.bench.metrics.Better`."""
    statistic: str
    size_bytes: int | None
    labels: str
    """``name=value``, joined by blanks."""

    @property
    def words(self) -> str:
        """Name it for people, without its size."""
        statistic = "" if self.statistic == "mean" else self.statistic
        parts = (self.program, self.fabric, self.hosts, self.metric, statistic, self.labels)
        return " ".join(filter(None, parts))

    @property
    def slug(self) -> str:
        """Name it for programs: letters, digits and underscores, its size at the end."""
        size = "" if self.size_bytes is None else f"{self.size_bytes}B"
        ranks = f"{self.ranks_per_node} ranks" if self.ranks_per_node > 1 else ""
        return re.sub(r"[^A-Za-z0-9]+", "_", f"{self.words} {ranks} {size}").strip("_")


class Launched(NamedTuple):
    """A launch and what became of it."""

    record: Record
    experiment: Experiment
    verdict: Verdict

    @property
    def counts(self) -> bool:
        """Whether its numbers enter the statistics."""
        return self.verdict.is_valid and not self.record.is_warm_up


def launched(campaign: Campaign, records: Iterable[Record]) -> list[Launched]:
    """Judge launches."""
    by_name = {one.name: one for one in campaign.experiments}
    return [judged(by_name[record.experiment], record) for record in records]


def judged(experiment: Experiment, record: Record) -> Launched:
    """Judge one launch."""
    verdict = judge(experiment, record.ending, record.text, record.errors)
    return Launched(record, experiment, verdict)


def series(launches: Iterable[Launched]) -> dict[Point, list[list[float]]]:
    """Gather what each launch that counts measured at each point, in the launches' order."""
    found: dict[Point, list[list[float]]] = {}
    for one in launches:
        if one.counts:
            for point, values in _measured(one).items():
                found.setdefault(point, []).append(values)
    return found


def centres(found: Mapping[Point, Sequence[Sequence[float]]]) -> dict[Point, list[float]]:
    """Keep one statistic of each point, as one number of each launch."""
    best: dict[Point, Point] = {}
    for point in found:
        place = replace(point, statistic="")
        if point.better != Better.NEITHER and point.statistic in CENTRES:
            best[place] = min(best.get(place, point), point, key=_rank)
    return {point: [median(values) for values in found[point]] for point in best.values()}


def point_of(experiment: Experiment, one: Measurement) -> Point:
    """Tell which point a measurement belongs to."""
    return Point(
        benchmark=experiment.benchmark,
        program=experiment.program,
        fabric=experiment.fabric,
        hosts=",".join(experiment.hosts),
        ranks_per_node=experiment.ranks_per_node,
        metric=one.metric.name,
        unit=one.metric.unit.value,
        better=one.metric.better.value,
        statistic=one.statistic,
        size_bytes=one.size_bytes,
        labels=" ".join(f"{name}={text}" for name, text in one.labels),
    )


def _measured(one: Launched) -> dict[Point, list[float]]:
    values: dict[Point, list[float]] = defaultdict(list)
    for measurement in one.verdict.measurements:
        values[point_of(one.experiment, measurement)].append(measurement.value)
    return values


def _rank(point: Point) -> int:
    return CENTRES.index(point.statistic)
