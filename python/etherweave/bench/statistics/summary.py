"""Summary of the launches of one point of a curve, and whether it is stable."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from etherweave.bench.statistics import quantiles
from etherweave.bench.statistics.launches import StoppingRule, is_precise, relative_half_width
from etherweave.bench.statistics.settling import Stability, settling, trend

RATES = frozenset({"B/s", "1/s"})  # Units of amounts per time.
_TREND_LEVEL = 0.01  # Significance level of a trend over launches.
_FENCE = 1.5  # Tukey's: distance of an outlier beyond the quartiles, in distances between them.


@dataclass(frozen=True)
class LaunchSummary:
    """One point: a metric at one size."""

    launches: tuple[float, ...]
    """Median of each launch after its warm-up, in the order of the launches."""
    median: float  # Median of the launches.
    interval: quantiles.Interval | None  # Interval of the median.
    low: float  # The smallest of all values.
    high: float  # The largest of all values.
    outliers: int  # Launches beyond Tukey's fences; they are kept.
    tail: float | None
    """The 99th percentile of all values, the first for rates; ``None`` for too few."""
    doubts: tuple[str, ...]  # Reasons why it is unstable; empty if it is stable.

    @property
    def is_stable(self) -> bool:
        """Whether every series settled, no drift is seen, and the median is precise enough."""
        return not self.doubts


def summarise(
    series: Sequence[Sequence[float]], unit: str, rule: StoppingRule | None = None
) -> LaunchSummary:
    """Summarise the launches of one point.

    ``series`` has the values of each launch, in order; a single value where a benchmark prints only
    one. ``unit`` is ``"s"``, ``"B/s"``, ``"1/s"``, ``"B"`` or ``"1"``.
    """
    assert series and all(series), "a launch without a value"
    rule = rule or StoppingRule()
    settlings = [settling(value) for value in series]
    settled = [times[each.warm_up :] for times, each in zip(series, settlings, strict=True)]
    launches = tuple(quantiles.median(series) for series in settled)
    values = [value for series in settled for value in series]
    doubts = (*_unsettled([each.stability for each in settlings]), *_doubts(launches, rule))
    return LaunchSummary(
        launches=launches,
        median=quantiles.median(launches),
        interval=quantiles.median_interval(launches, rule.confidence),
        low=min(values),
        high=max(values),
        outliers=len(outliers(launches)),
        tail=tail(values, unit, rule.confidence),
        doubts=doubts,
    )


def tail(values: Sequence[float], unit: str, confidence: float) -> float | None:
    """Return the worst percentile, if there are enough values to bound it.

    For rates the worst is the first percentile.
    """
    if len(values) < quantiles.samples_least(0.99, confidence):
        return None
    sign = -1 if unit in RATES else 1
    return sign * quantiles.quantile([sign * value for value in values], 0.99)


def outliers(values: Sequence[float]) -> list[float]:
    """Return the values beyond Tukey's fences."""
    low, high = quantiles.quantile(values, 0.25), quantiles.quantile(values, 0.75)
    reach = _FENCE * (high - low)
    return [value for value in values if not low - reach <= value <= high + reach]


def _unsettled(judged: Sequence[Stability]) -> Iterator[str]:
    count = judged.count(Stability.UNSETTLED)
    if count:
        yield f"{count} of {len(judged)} launches never settled"


def _doubts(launches: Sequence[float], rule: StoppingRule) -> Iterator[str]:
    interval = quantiles.median_interval(launches, rule.confidence)
    if interval is None:
        yield f"{len(launches)} launches are too few for an interval of the median"
    elif not is_precise(launches, rule):
        reach = relative_half_width(launches, interval)
        yield (
            f"the interval of the median is {reach:.1%} wide on one side after {len(launches)} "
            f"launches; expected at most {rule.half_width:.1%}"
        )
    if trend(launches) < _TREND_LEVEL:
        yield "launches drift: later ones differ from earlier ones more than chance explains"
