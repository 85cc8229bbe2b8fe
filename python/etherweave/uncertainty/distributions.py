"""Distributions of figures: where a share of 0 to 1 lies in them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from statistics import NormalDist

from etherweave.sweeps.points import scaled

TAIL = 0.005  # Part of a normal distribution that is left out at each end.


@dataclass(frozen=True)
class Range:
    """A number with a unit, evenly between two ends."""

    low: object
    high: object
    scale: str = "linear"  # ``log``: evenly on a logarithmic scale.

    def at(self, share: float) -> object:
        """Return the value at a share of the range."""
        axis: Mapping[str, object] = {
            "from": self.low,
            "to": self.high,
            "scale": self.scale,
            "count": None,
        }
        return scaled(axis, [share])[0]

    @property
    def ends(self) -> Sequence[object]:
        """Values that a scenario must accept."""
        return [self.at(0.0), self.at(1.0)]


@dataclass(frozen=True)
class Quantiles:
    """A number with a unit, by its values at even shares: evenly between each two."""

    values: Sequence[object]  # Two or more, of one unit, in ascending order.

    def at(self, share: float) -> object:
        """Return the value at a share."""
        place = share * (len(self.values) - 1)
        first = min(int(place), len(self.values) - 2)
        return Range(self.values[first], self.values[first + 1]).at(place - first)

    @property
    def ends(self) -> Sequence[object]:
        """Values that a scenario must accept."""
        return [self.at(0.0), self.at(1.0)]


@dataclass(frozen=True)
class Choice:
    """One of several values."""

    values: Sequence[object]
    weights: Sequence[float]  # One for each, above 0.

    @cached_property
    def _shares(self) -> list[float]:
        return list(accumulate(weight / sum(self.weights) for weight in self.weights))

    def at(self, share: float) -> object:
        """Return the value at a share of all weights."""
        place = sum(share >= end for end in self._shares[:-1])
        return self.values[place]

    @property
    def ends(self) -> Sequence[object]:
        """Values that a scenario must accept."""
        return self.values


def normal(share: float) -> float:
    """Return the quantile of a standard normal distribution, cut off at 0.5 and 99.5 %.

    Examples
    --------
    >>> normal(0.5), round(normal(0.0), 3), round(normal(1.0), 3)
    (0.0, -2.576, 2.576)
    """
    return NormalDist().inv_cdf(TAIL + (1 - 2 * TAIL) * share)


def share_below(score: float) -> float:
    """Return the share of :func:`normal` that lies below a score.

    Examples
    --------
    >>> share_below(0.0), round(share_below(normal(0.75)), 9), share_below(9.0)
    (0.5, 0.75, 1.0)
    """
    share = (NormalDist().cdf(score) - TAIL) / (1 - 2 * TAIL)
    return min(max(share, 0.0), 1.0)
