"""Ranking from samples: intervals, and the share of samples in which it holds.

The samples of all fabrics are paired: a sample has the same seed and the same place of every
unknown that fabrics share. So a comparison within a sample is free of what they have in common.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

Samples: TypeAlias = Sequence[float]  # A value of each sample.
_UNITS = ((1e6, "s"), (1e3, "ms"), (1.0, "us"))  # Units of time, each in microseconds.


@dataclass(frozen=True)
class Interval:
    """A value, and where nine of ten samples of it lie."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Samples, value: float | None = None) -> "Interval":
        """Describe at least two samples by their median, or around a value that is known."""
        parts = statistics.quantiles(values, n=20, method="inclusive")
        return cls(statistics.median(values) if value is None else value, parts[0], parts[-1])


def unit_of(time_us: float) -> tuple[float, str]:
    """Choose the unit in which a time is written: its length in microseconds, and its name."""
    return next((pair for pair in _UNITS if time_us >= pair[0]), _UNITS[-1])


def throughput(
    times: Mapping[str, Samples], reference: Mapping[str, float], weights: Mapping[str, float]
) -> list[float]:
    """Compute how much of the mix a fabric does in the time in which the reference does it once.

    Times are of each job that sends, in every sample; weights are shares of the baseline's time.
    Jobs without times take the same on every fabric.
    """
    still = sum(weight for job, weight in weights.items() if job not in times)
    shares = {job: weights[job] / reference[job] for job in times}
    count = len(next(iter(times.values())))
    return [1 / (still + sum(shares[job] * times[job][at] for job in times)) for at in range(count)]


def ranked(scores: Mapping[str, Samples]) -> list[str]:
    """Order fabrics, the best first, by the median of their shares in the scores of a sample."""
    sums = [sum(sample) for sample in zip(*scores.values(), strict=True)]
    medians = {name: statistics.median(over(values, sums)) for name, values in scores.items()}
    return sorted(scores, key=lambda name: -medians[name])


def over(values: Samples, others: Samples) -> list[float]:
    """Divide sample by sample."""
    return [value / other for value, other in zip(values, others, strict=True)]


def ahead(samples: Samples, other: Samples) -> float:
    """Return the share of samples in which one score is larger; equal ones count as half."""
    pairs = zip(samples, other, strict=True)
    return statistics.fmean(1.0 if a > b else 0.5 if a == b else 0.0 for a, b in pairs)


def first(scores: Mapping[str, Samples]) -> dict[str, float]:
    """Return for each fabric the share of samples in which its score is the largest."""
    won = dict.fromkeys(scores, 0.0)
    samples = list(zip(*scores.values(), strict=True))
    for sample in samples:
        best = [name for name, value in zip(scores, sample, strict=True) if value == max(sample)]
        for name in best:
            won[name] += 1 / len(best)
    return {name: count / len(samples) for name, count in won.items()}


def holds(order: Sequence[str], scores: Mapping[str, Samples]) -> float:
    """Return the share of samples in which all fabrics stand in this order."""
    samples = zip(*(scores[name] for name in order), strict=True)
    return statistics.fmean(all(a >= b for a, b in pairwise(sample)) for sample in samples)
