"""Comparisons of campaigns: better, worse, or undecided; pairwise, and over time."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Any

from etherweave.bench.campaigns.points import DataPoint, centres, judged_launches, series
from etherweave.bench.campaigns.store import Store, is_store
from etherweave.bench.statistics.comparison import Direction, LaunchComparison, compare
from etherweave.bench.statistics.quantiles import CONFIDENCE
from etherweave.measurements.metrics import Better

Numbers = Mapping[DataPoint, Sequence[float]]  # One number of each launch that counts, by points.


class IgnoredField(StrEnum):
    """Field of a data point that may differ between two that are compared."""

    FABRIC = "fabric"
    HOSTS = "hosts"
    RANKS_PER_NODE = "ranks_per_node"
    BACKGROUND = "background"


class DifferenceVerdict(StrEnum):
    """Meaning of a difference for the metric."""

    BETTER = "better"
    WORSE = "worse"
    UNDECIDED = "undecided"
    """An interval that holds zero, or too few launches: no proof of equality."""


@dataclass(frozen=True)
class Difference:
    """One data point in both campaigns."""

    point: DataPoint  # Point of the candidate.
    comparison: LaunchComparison
    launches: tuple[int, int]  # Numbers of launches of the baseline and of the candidate.

    @property
    def verdict(self) -> DifferenceVerdict:
        """Whether the candidate is better."""
        direction = self.comparison.direction
        if direction not in (Direction.MORE, Direction.LESS):
            return DifferenceVerdict.UNDECIDED
        is_better = (direction is Direction.MORE) == (self.point.better == Better.HIGHER)
        return DifferenceVerdict.BETTER if is_better else DifferenceVerdict.WORSE

    def facts(self) -> dict[str, Any]:
        """Return it as JSON values, in the point's base unit."""
        comparison = self.comparison
        return vars(self.point) | {
            "baseline": comparison.baseline,
            "shift": comparison.shift,
            "low": comparison.interval.low if comparison.interval else None,
            "high": comparison.interval.high if comparison.interval else None,
            "relative": comparison.relative,
            "outcome": comparison.direction.value,
            "verdict": self.verdict.value,
            "launches": self.launches,
        }


def numbers_of(store: Store) -> dict[DataPoint, list[float]]:
    """Return one statistic of each data point of a store, the median if there is one."""
    return centres(series(judged_launches(store.campaign, store.records())))


def differences(
    baseline: Numbers,
    candidate: Numbers,
    *,
    ignore: Iterable[str] = (),
    confidence: float = CONFIDENCE,
) -> list[Difference]:
    """Compare what both have measured, in the candidate's order.

    The confidence is that of all intervals together: each of m points is compared at 1 - (1 -
    confidence) / m (Bonferroni), so that a hundred sizes do not make a difference by chance.

    ``ignore`` names fields of points that may differ; ``confidence`` is the least probability that
    all intervals enclose the true shifts. Raises ``ValueError`` when two points of one side are the
    same but for what is ignored.
    """
    fields = tuple(ignore)
    before, now = _without(baseline, fields), _without(candidate, fields)
    common = [point for point in now if point in before]
    each = 1 - (1 - confidence) / max(len(common), 1)
    return [
        Difference(
            now[point],
            compare(baseline[before[point]], candidate[now[point]], each),
            (len(baseline[before[point]]), len(candidate[now[point]])),
        )
        for point in common
    ]


def _without(numbers: Numbers, ignore: Sequence[str]) -> dict[DataPoint, DataPoint]:
    points: dict[DataPoint, DataPoint] = {}
    for point in numbers:
        blank = _blank(point, ignore)
        if blank in points:
            raise ValueError(
                f"{point.words}: several without regard to {', '.join(ignore)}; "
                "expected results in which it is one"
            )
        points[blank] = point
    return points


def _blank(point: DataPoint, ignore: Sequence[str]) -> DataPoint:
    kept = point.without_background if IgnoredField.BACKGROUND in ignore else point
    return replace(kept, **{name: _BLANK[name] for name in ignore if name in _BLANK})


_BLANK: dict[str, Any] = {"fabric": "", "hosts": "", "ranks_per_node": 0}


def separating_fields(baseline: Numbers, candidate: Numbers) -> list[str]:
    """Name the fields without regard to which two results have points in common.

    Each alone where that is enough, otherwise all of them; empty where points differ in more.
    """
    every = [field.value for field in IgnoredField]
    for fields in (*([field] for field in every), every):
        if {_blank(row, fields) for row in baseline} & {_blank(row, fields) for row in candidate}:
            return fields
    return []


DEPTH = 4  # Depth of directories in which results are searched.


@dataclass(frozen=True)
class HistoryEntry:
    """A campaign in a history."""

    directory: Path
    site: str
    start_ns: int  # Time of its first launch, since 1970 [ns].
    numbers: Numbers


@dataclass(frozen=True)
class HistoryStep:
    """Step from one campaign to the next, or from a baseline to one."""

    before: str  # Name of the campaign or baseline that the entry is compared with.
    entry: HistoryEntry
    differences: tuple[Difference, ...]

    @property
    def regressions(self) -> tuple[Difference, ...]:
        """Differences for the worse."""
        return tuple(row for row in self.differences if row.verdict is DifferenceVerdict.WORSE)


def entries(directory: Path, site: str | None = None) -> list[HistoryEntry]:
    """Find the campaigns below a directory that have launches that count, the oldest first.

    Raises ``StoreError`` when one is damaged.
    """
    campaigns = [entry for path in _stores(directory, DEPTH) if (entry := _entry(path))]
    wanted = [entry for entry in campaigns if site in (None, entry.site)]
    return sorted(wanted, key=lambda entry: (entry.start_ns, str(entry.directory)))


def steps(
    history_entries: Iterable[HistoryEntry], baseline: tuple[str, Numbers] | None = None
) -> list[HistoryStep]:
    """Compare each campaign with the one before it on its cluster, or all with a baseline."""
    if baseline:
        name, numbers = baseline
        return [_step(name, numbers, entry) for entry in history_entries]
    sites: dict[str, list[HistoryEntry]] = {}
    for entry in history_entries:
        sites.setdefault(entry.site, []).append(entry)
    made = [
        _step(str(before.directory), before.numbers, entry)
        for own in sites.values()
        for before, entry in pairwise(own)
    ]
    return sorted(made, key=lambda step: step.entry.start_ns)


def _step(name: str, before: Numbers, entry: HistoryEntry) -> HistoryStep:
    return HistoryStep(name, entry, tuple(differences(before, entry.numbers)))


def _stores(directory: Path, depth: int) -> Iterator[Path]:
    if is_store(directory):
        yield directory
    elif depth:
        for path in sorted(directory.iterdir()):
            if path.is_dir() and not path.is_symlink():
                yield from _stores(path, depth - 1)


def _entry(path: Path) -> HistoryEntry | None:
    store = Store.open(path)
    numbers = numbers_of(store)
    if not numbers:
        return None
    start = min(record.start_ns for record in store.records())
    return HistoryEntry(path, store.campaign.site, start, numbers)
