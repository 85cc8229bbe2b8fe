"""Whether published figures lie inside the intervals of checks, how wide these are, and scores.

Three distributions stand beside a published figure: that of the parameters, which samples have;
that of the error of the model, from the rows of all other systems; and both together, each sample
times each of so many quantiles of that error. Of checks without a number of their own, such as
"above 97 Gb/s", an interval is right where it meets the bounds.
"""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from etherweave.study import StudyCheck
from etherweave.uncertainty.check_rows import KINDS, TIMES, CheckRow, check_rows, has_figure, row_of
from etherweave.uncertainty.intervals import Interval
from etherweave.uncertainty.model_errors import Estimate, Further, without_each_system

LEVEL = 0.9
_PARAMETERS = 31  # Quantiles of the distribution by parameters of a check row.
QUANTILES = 64  # Number of quantiles of the error of the model, by which each sample is multiplied.
OTHER, FITTED, STATEMENT = "other", "fitted", "statement"
"""Kinds of checks of which no error of the model is known."""


@dataclass(frozen=True)
class Predicted:
    """A distribution beside a published figure."""

    interval: Interval  # Interval of 90 %.
    width: float  # Width of the interval over the median.
    is_inside: bool
    """Whether the interval has the published figure, or meets the bounds of a statement."""
    score: float  # Continuous ranked probability score over the published figure; NaN without one.
    place: float  # Share of the distribution below the published figure; NaN without one.


@dataclass(frozen=True)
class CheckInterval:
    """A check with its intervals."""

    study: str
    check: StudyCheck
    kind: str
    system: str
    parameters: Predicted
    model: Predicted | None
    """Distribution by the error of the model alone; None where it is not known."""
    together: Predicted
    """Distribution by both; without an error of the model, that of the parameters."""


def check_intervals(
    study: str,
    checks: Iterable[StudyCheck],
    values: Mapping[str, Sequence[float]],
    known: Sequence[CheckRow] | None = None,
) -> list[CheckInterval]:
    """Compute the intervals of checks, of figures in samples by check; others are the same in all.

    ``known`` are the rows by which the error of the model is known, by default those that come with
    Etherweave. Rows of the same system are left out.
    """
    rows = check_rows() if known is None else known
    every, others = Estimate(rows), without_each_system(rows)
    return [
        _of(study, check, values.get(check.id) or [check.value], every, others)
        for check in checks
        if math.isfinite(check.value)
    ]


def row_intervals(rows: Sequence[CheckRow] | None = None) -> list[CheckInterval]:
    """Compute the intervals of check rows, by default of those that come with Etherweave.

    Parameters have a lognormal distribution about the simulated figure, with the row's spread.
    """
    known = check_rows() if rows is None else rows
    every, others = Estimate(known), without_each_system(known)
    intervals = []
    for row in known:
        bounds = (row.published / 2, row.published * 2)
        check = StudyCheck(row.id, "", row.published, bounds, row.unit, row.simulated)
        error = others.get(row.system, every).further(row.conditions)
        intervals.append(_with_model(row, check, _lognormal(row), error))
    return intervals


def _lognormal(row: CheckRow) -> list[float]:
    if not row.spread:
        return [row.simulated]
    places = [NormalDist().inv_cdf((at + 0.5) / _PARAMETERS) for at in range(_PARAMETERS)]
    return [row.simulated * math.exp(row.spread * place) for place in places]


def _of(
    study: str,
    check: StudyCheck,
    values: Sequence[float],
    every: Estimate,
    others: Mapping[str, Estimate],
) -> CheckInterval:
    """Compute the intervals of a check; the error of the model is by all systems but its own."""
    row = row_of(study, check, values)
    if row is None:
        parameters = predicted(check, values)
        return CheckInterval(study, check, _other(check), "", parameters, None, parameters)
    error = others.get(row.system, every).further(row.conditions)
    return _with_model(row, check, values, error)


def _with_model(
    row: CheckRow, check: StudyCheck, values: Sequence[float], error: Further
) -> CheckInterval:
    is_time = check.unit in TIMES
    middle = [statistics.median(values)]
    alone = predicted(check, error.applied(middle, QUANTILES, is_time=is_time))
    both = predicted(check, error.applied(values, QUANTILES, is_time=is_time))
    kind, parameters = row.conditions.kind, predicted(check, values)
    return CheckInterval(row.study, check, kind, row.system, parameters, alone, both)


def _other(check: StudyCheck) -> str:
    """Return the kind of a check that does not measure the error of the model."""
    if check.is_fitted:
        return FITTED
    return OTHER if has_figure(check) else STATEMENT


def predicted(check: StudyCheck, values: Sequence[float]) -> Predicted:
    """Compare values of a figure, each as likely as the others, with what was published."""
    import numpy as np

    ends = [(1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2]
    low, median, high = map(float, np.quantile(values, ends, method="median_unbiased"))
    width = (high - low) / abs(median) if median else math.inf if high > low else 0.0
    is_number = has_figure(check) or check.is_fitted
    figure = check.expected if is_number and check.expected is not None else math.nan
    if math.isnan(figure):
        least, largest = check.tolerance
        is_inside = (least is None or high >= least) and (largest is None or low <= largest)
    else:
        is_inside = _reaches(low, figure) and _reaches(figure, high)
    score = crps(values, figure) / abs(figure) if figure else math.nan
    return Predicted(Interval(low, high), width, is_inside, score, _place(values, figure))


def _reaches(low: float, high: float) -> bool:
    """Whether one figure is at most another, but for rounding."""
    return low <= high or math.isclose(low, high, rel_tol=1e-9)


def _place(values: Sequence[float], figure: float) -> float:
    """Return the share of values below a figure; equal ones count as half."""
    if math.isnan(figure):
        return math.nan
    return statistics.fmean(0.5 if value == figure else float(value < figure) for value in values)


def crps(values: Sequence[float], figure: float) -> float:
    """Return the continuous ranked probability score of equally likely values.

    It is the mean distance from the figure, less half of the mean distance between two values
    (Gneiting and Raftery, JASA 102, 2007, equation 21); of one value it is the distance.

    Examples
    --------
    >>> crps([1.0], 3.0), crps([1.0, 3.0], 2.0)
    (2.0, 0.5)
    """
    ordered, count = sorted(values), len(values)
    between = math.fsum((2 * at - count + 1) * value for at, value in enumerate(ordered))
    return statistics.fmean(abs(value - figure) for value in ordered) - between / count**2


@dataclass(frozen=True)
class Coverage:
    """Share of intervals of a kind of distribution that have the published figure."""

    covered: float  # Part of the rows.
    width: float  # Median.
    score: float  # Mean of the scores over the published figures; NaN of statements.


@dataclass(frozen=True)
class KindCoverage:
    """Coverage of a kind of checks."""

    kind: str
    rows: int
    systems: int
    parameters: Coverage
    model: Coverage
    """Interval by the error of the model alone, or by parameters where it is not known."""
    together: Coverage
    distance: float
    """Mean distance of the medians, over the published figures: the score of a point."""


def coverage(rows: Sequence[CheckInterval]) -> list[KindCoverage]:
    """Sum up checks by kind; all kinds with an error of the model also together.

    Those whose run is that of another check are left out.
    """
    rows = [row for row in rows if not row.check.is_repeat]
    measured = [row for row in rows if row.kind in KINDS]
    groups = {kind: [row for row in rows if row.kind == kind] for kind in KINDS}
    groups["all of these"] = measured
    groups |= {kind: [row for row in rows if row.kind == kind] for kind in (OTHER, FITTED)}
    groups["all with a figure"] = [row for row in rows if row.kind != STATEMENT]
    groups[STATEMENT] = [row for row in rows if row.kind == STATEMENT]
    return [_summed(kind, own) for kind, own in groups.items() if own]


def _summed(kind: str, rows: Sequence[CheckInterval]) -> KindCoverage:
    parameters = _coverage([row.parameters for row in rows])
    model = _coverage([row.model or row.parameters for row in rows])
    together = _coverage([row.together for row in rows])
    distances = [
        abs(row.check.value / row.check.expected - 1)
        for row in rows
        if row.kind != STATEMENT and row.check.expected
    ]
    distance = statistics.fmean(distances) if distances else math.nan
    systems = {row.system or row.study for row in rows}
    return KindCoverage(kind, len(rows), len(systems), parameters, model, together, distance)


def _coverage(predicteds: Sequence[Predicted]) -> Coverage:
    scores = [figure.score for figure in predicteds if not math.isnan(figure.score)]
    return Coverage(
        statistics.fmean(bool(figure.is_inside) for figure in predicteds),
        statistics.median(figure.width for figure in predicteds),
        statistics.fmean(scores) if scores else math.nan,
    )
