"""When enough launches are made."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from etherweave.bench.statistics.quantiles import CONFIDENCE, Interval, median, median_interval


@dataclass(frozen=True)
class Rule:
    """How sure one wants to be, and what it may cost."""

    half_width: float = 0.05
    """The interval of the median reaches no further on either side, as a share of the median."""
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
                "expected at least 1, and no more at least than at most"
            )


class Decision(StrEnum):
    """Whether to launch once more."""

    GO_ON = "go on"
    PRECISE = "precise"
    CAPPED = "capped"
    """The median is not known as well as wanted, and no launch is left."""


def decide(values: Sequence[float], rule: Rule) -> Decision:
    """Decide after each launch.

    Sequential stopping by the width of an interval (Hoefler and Belli). Since it stops when the
    width happens to be small, the interval covers less than its confidence says: nothing to speak
    of from ten launches on if the precision is easily reached, noticeably if it is just reached
    before the cap (a test simulates both).

    Parameters
    ----------
    values
        One number of each launch so far.
    rule
        When to stop.
    """
    if len(values) < rule.launches_min:
        return Decision.GO_ON
    if is_precise(values, rule):
        return Decision.PRECISE
    return Decision.GO_ON if len(values) < rule.launches_max else Decision.CAPPED


def is_precise(values: Sequence[float], rule: Rule) -> bool:
    """Whether the median is known as well as the rule wants."""
    interval = median_interval(values, rule.confidence) if values else None
    return interval is not None and relative_half_width(values, interval) <= rule.half_width


def relative_half_width(values: Sequence[float], interval: Interval) -> float:
    """Return how far the interval reaches from the median on its longer side, as a share of it."""
    middle = median(values)
    reach = max(interval.high - middle, middle - interval.low)
    if reach == 0:
        return 0.0
    return reach / abs(middle) if middle else float("inf")
