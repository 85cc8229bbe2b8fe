"""Two campaigns side by side: better, worse, or not decided by so many launches."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from etherweave.bench.metrics import Better
from etherweave.bench.points import Point, centres, launched, series
from etherweave.bench.statistics.comparison import Direction, LaunchComparison, compare
from etherweave.bench.statistics.quantiles import CONFIDENCE
from etherweave.bench.store import Store

Numbers = Mapping[Point, Sequence[float]]
"""One number of each launch that counts, by points."""

IGNORABLE = ("fabric", "hosts", "ranks_per_node")
"""Fields of a point that may differ between two that are held against each other."""


class Verdict(StrEnum):
    """What a difference means to the metric."""

    BETTER = "better"
    WORSE = "worse"
    UNDECIDED = "undecided"
    """An interval that holds zero, or too few launches: no proof of equality."""


@dataclass(frozen=True)
class Difference:
    """One point in both."""

    point: Point
    """As in the candidate."""
    comparison: LaunchComparison
    launches: tuple[int, int]
    """Of the baseline and of the candidate."""

    @property
    def verdict(self) -> Verdict:
        """Whether the candidate is better."""
        direction = self.comparison.direction
        if direction not in (Direction.MORE, Direction.LESS):
            return Verdict.UNDECIDED
        is_better = (direction is Direction.MORE) == (self.point.better == Better.HIGHER)
        return Verdict.BETTER if is_better else Verdict.WORSE

    def facts(self) -> dict[str, Any]:
        """Give it as what JSON can hold, in the point's base unit."""
        found = self.comparison
        return vars(self.point) | {
            "baseline": found.baseline,
            "shift": found.shift,
            "low": found.interval.low if found.interval else None,
            "high": found.interval.high if found.interval else None,
            "relative": found.relative,
            "outcome": found.direction.value,
            "verdict": self.verdict.value,
            "launches": self.launches,
        }


def numbers_of(store: Store) -> dict[Point, list[float]]:
    """Take the numbers of a store: of each point one statistic, the median if there is one."""
    return centres(series(launched(store.campaign, store.records())))


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

    Parameters
    ----------
    baseline, candidate
        Their numbers.
    ignore
        Fields of points, of :data:`IGNORABLE`, that may differ.
    confidence
        The least probability that all intervals enclose the true shifts.

    Raises
    ------
    ValueError
        When two points of one side are the same but for what is ignored.
    """
    fields = tuple(ignore)
    before, now = _blurred(baseline, fields), _blurred(candidate, fields)
    common = [place for place in now if place in before]
    each = 1 - (1 - confidence) / max(len(common), 1)
    return [
        Difference(
            now[place],
            compare(baseline[before[place]], candidate[now[place]], each),
            (len(baseline[before[place]]), len(candidate[now[place]])),
        )
        for place in common
    ]


def _blurred(numbers: Numbers, ignore: Sequence[str]) -> dict[Point, Point]:
    found: dict[Point, Point] = {}
    for point in numbers:
        blank = replace(point, **{name: _BLANK[name] for name in ignore})
        if blank in found:
            raise ValueError(
                f"{point.words}: several without regard to {', '.join(ignore)}; "
                "expected results in which it is one"
            )
        found[blank] = point
    return found


_BLANK: dict[str, Any] = {"fabric": "", "hosts": "", "ranks_per_node": 0}
