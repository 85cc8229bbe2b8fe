"""Two sets of launches side by side: how much more or less, and whether chance explains it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from etherweave.bench.statistics.quantiles import CONFIDENCE, Interval, median
from etherweave.bench.statistics.ranks import coverage, critical_rank


class Outcome(StrEnum):
    """What a comparison shows."""

    MORE = "more"
    LESS = "less"
    NO_DIFFERENCE_SEEN = "no difference seen"
    """The interval holds zero: a difference may be there, smaller than the interval is wide."""
    TOO_FEW = "too few launches"


@dataclass(frozen=True)
class Comparison:
    """A candidate against a baseline."""

    shift: float
    """By how much the candidate is above the baseline, in the values' unit."""
    interval: Interval | None
    """Of the shift; ``None`` for too few launches."""
    baseline: float
    """The baseline's median."""

    @property
    def outcome(self) -> Outcome:
        """What it shows."""
        if self.interval is None:
            return Outcome.TOO_FEW
        if self.interval.low > 0:
            return Outcome.MORE
        return Outcome.LESS if self.interval.high < 0 else Outcome.NO_DIFFERENCE_SEEN

    @property
    def relative(self) -> float | None:
        """The shift as a share of the baseline's median; ``None`` if that is zero."""
        return self.shift / abs(self.baseline) if self.baseline else None


def compare(
    baseline: Sequence[float], candidate: Sequence[float], confidence: float = CONFIDENCE
) -> Comparison:
    """Compare by the median of all differences between a candidate's and a baseline's value.

    The shift of Hodges and Lehmann ("Estimates of location based on rank tests", 1963); the
    interval holds the shifts that Mann and Whitney's test does not reject (Hollander and Wolfe,
    *Nonparametric Statistical Methods*, section 4.3). With ties the closed interval covers at least
    as much (Noether, "Wilcoxon confidence intervals for location parameters in the discrete case",
    JASA 62, 1967).

    Parameters
    ----------
    baseline, candidate
        One number of each launch, of either at least one.
    confidence
        The least probability that the interval encloses the true shift.
    """
    differences = sorted(new - old for new in candidate for old in baseline)
    return Comparison(
        median(differences),
        _interval(differences, len(baseline), len(candidate), confidence),
        median(baseline),
    )


def _interval(
    differences: Sequence[float], first: int, second: int, confidence: float
) -> Interval | None:
    rank = critical_rank(first, second, confidence)
    if rank == 0:
        return None
    low, high = differences[rank - 1], differences[-rank]
    return Interval(low, high, coverage(first, second, rank))
