"""Launches: in which order, and how many.

The order is shuffled, so that a drift of the machine affects all experiments alike.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from etherweave.bench.statistics.quantiles import CONFIDENCE, Interval, median, median_interval


class PlannedLaunch(NamedTuple):
    """One start of one experiment."""

    round: int  # Number of the round, from 0.
    experiment: str


def shuffled(experiments: Iterable[str], rounds: int, seed: int) -> list[PlannedLaunch]:
    """Order launches in rounds, each with every experiment once in a random order.

    Complete blocks in random order (Lilja, *Measuring Computer Performance*, 2000): a
    machine that becomes slower affects all experiments, and one that needs no further round can end
    without loss of balance among the others. The order is a function of seed and names on any
    platform, whatever the order of ``experiments``.

    ``experiments`` are named once each; ``seed`` is stored with the result.
    """
    names = sorted(experiments)
    assert len(set(names)) == len(names), "an experiment is named twice"
    return [
        PlannedLaunch(number, name)
        for number in range(rounds)
        for name in sorted(names, key=lambda name: _hash(seed, number, name))
    ]


def _hash(seed: int, number: int, name: str) -> bytes:
    return hashlib.sha256(f"{seed}/{number}/{name}".encode()).digest()


@dataclass(frozen=True)
class StoppingRule:
    """Required precision of the median, and the number of launches that it may take."""

    half_width: float = 0.05
    """Largest distance from the median to an end of its interval, as a share of the median."""
    confidence: float = CONFIDENCE
    launches_min: int = 10
    """More than the 6 whose median has an interval at 95 %: see :func:`decide`."""
    launches_max: int = 30

    def __post_init__(self) -> None:
        if not 0 < self.half_width < 1:
            raise ValueError(f"half-width {self.half_width}; expected a share between 0 and 1")
        if not 0.5 <= self.confidence < 1:
            raise ValueError(f"confidence {self.confidence}; expected 0.5 up to below 1")
        if not 1 <= self.launches_min <= self.launches_max:
            raise ValueError(
                f"launches from {self.launches_min} to {self.launches_max}; "
                "expected at least 1, and a minimum up to the maximum"
            )


class StoppingDecision(StrEnum):
    """Whether to launch once more."""

    CONTINUE = "continue"
    PRECISE = "precise"
    CAPPED = "capped"  # The median is not known as precisely as required, and no launch is left.


def decide(values: Sequence[float], rule: StoppingRule) -> StoppingDecision:
    """Decide after each launch whether another one is needed.

    Sequential stopping by the width of an interval (Hoefler and Belli). Since it stops when the
    width happens to be small, the interval covers less than its confidence: negligibly from ten
    launches on if the precision is easily reached, noticeably if it is just reached before the
    maximum (a test simulates both).

    ``values`` has one number of each launch so far.
    """
    if len(values) < rule.launches_min:
        return StoppingDecision.CONTINUE
    if is_precise(values, rule):
        return StoppingDecision.PRECISE
    is_last = len(values) >= rule.launches_max
    return StoppingDecision.CAPPED if is_last else StoppingDecision.CONTINUE


def is_precise(values: Sequence[float], rule: StoppingRule) -> bool:
    """Whether the median is known as precisely as the rule requires."""
    interval = median_interval(values, rule.confidence) if values else None
    return interval is not None and relative_half_width(values, interval) <= rule.half_width


def relative_half_width(values: Sequence[float], interval: Interval) -> float:
    """Return the larger distance from the median to an end of its interval, as a share of it."""
    middle = median(values)
    reach = max(interval.high - middle, middle - interval.low)
    if reach == 0:
        return 0.0
    return reach / abs(middle) if middle else float("inf")
