"""The error of the model, apart from that of its parameters: measured over simulated times.

Rows of studies compare a simulated figure with one that a system has published. The logarithm of
the measured over the simulated time has Student's t distribution about zero, whose scale depends
on what is extrapolated: the size, whether constants are fitted to the same benchmark, both of these
together, and whether a link limits it.
Each of them has an effect that is drawn towards zero, so that classes of few systems have what all
have.
What is not modelled takes time: above zero the scale is larger than below, but of ratios.
What parameters do to a row is part of its scale, and none of the model's.
"""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING

from etherweave.uncertainty.check_rows import KINDS, RATIO, CheckRow, Conditions, check_rows
from etherweave.uncertainty.intervals import Interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

SCALE, SCALE_FACTOR = 0.1, 3.0
"""Prior of the scale of all rows: its middle, and one standard deviation as a factor."""
LONGER = "longer over shorter than simulated"
"""Name of the effect of the side on the scale."""
_PLACES = 27  # Places of the logarithm of the scale at which its normal distribution is taken.
_SKEWS = 5  # Places of the skewness.
_TAIL = 64  # Quantiles of Student's distribution at each of these places.


@dataclass(frozen=True)
class Form:
    """Form of the distribution of the error of the model."""

    degrees: float = 4
    """Degrees of Student's distribution (Lange, Little, Taylor, JASA 84, 1989: robust models)."""
    effect: float = math.log(2) / 2
    """Standard deviation of effects on the logarithm of the scale."""
    skewness: float = 0.1
    """Standard deviation of the logarithm by which the scale is larger above 0, smaller below."""
    left_out: Sequence[str] = ("kind",)  # Conditions without an effect.
    together: Sequence[tuple[str, str]] = (("size_class", "fit"),)
    """Conditions with an effect of each pair of their values, beside those of their own."""

    def names(self, conditions: Conditions) -> list[str]:
        """Name what has an effect on the scale of a row."""
        values = conditions._asdict()
        pairs = [(values[first], values[second]) for first, second in self.together]
        return self.used(conditions) + [", ".join(pair) for pair in pairs if all(pair)]

    def used(self, conditions: Conditions) -> list[str]:
        """List the conditions that have an effect of their own."""
        values = conditions._asdict().items()
        return [value for name, value in values if value and name not in self.left_out]


FORM = Form()
FORMS = {
    "as it is": FORM,
    "sides alike": replace(FORM, skewness=1e-6),
    "size and fit apart": replace(FORM, together=()),
    "both of these": replace(FORM, skewness=1e-6, together=()),
    "the kind, too": replace(FORM, left_out=()),
    "kind and size together, too": replace(FORM, together=(*FORM.together, ("kind", "size_class"))),
    "kind and fit together, too": replace(FORM, together=(*FORM.together, ("kind", "fit"))),
    "limit and size together, too": replace(
        FORM, together=(*FORM.together, ("limit", "size_class"))
    ),
    "3 degrees": replace(FORM, degrees=3),
    "6 degrees": replace(FORM, degrees=6),
    "effects of a factor of 1.2": replace(FORM, effect=math.log(2) / 4),
    "effects of a factor of 2": replace(FORM, effect=math.log(2)),
    "no limit": replace(FORM, left_out=(*FORM.left_out, "limit")),
    "no size": replace(FORM, left_out=(*FORM.left_out, "size_class"), together=()),
}
"""Forms of which the scores are compared; the first holds."""


@dataclass(frozen=True)
class ModelError:
    """Ratio of measured to simulated times under certain conditions."""

    conditions: Conditions
    shared: Sequence[str]  # Kind, or all conditions with an effect, that the rows share.
    rows: int  # Rows under these conditions.
    systems: Sequence[str]  # Systems that have them.
    half: Interval  # Interval of 50 % of a row of a further system.
    most: Interval  # Interval of 90 %.
    covered: float | None
    """Part of rows of a kind within 90 % of what all other systems say, the mean over systems; None
    for fewer than two, and under several conditions."""
    further: "Further" = field(repr=False, compare=False)  # Distribution of a further row.

    @property
    def kind(self) -> str:
        """Kind of metric."""
        return self.conditions.kind


@dataclass(frozen=True)
class Effect:
    """Effect of a condition on the width of an interval."""

    condition: str
    rows: int
    systems: int
    factor: float  # Scale with it over that without any.
    interval: Interval  # Interval of 90 % of that factor.


@dataclass(frozen=True)
class Further:
    """Distribution of measured over simulated time, of a row of a further system."""

    _logarithms: "NDArray"  # type: ignore[type-arg]
    """Ascending."""
    _shares: "NDArray"  # type: ignore[type-arg]
    """Share of the distribution up to the middle of each."""
    ratio_min: float = 0.0
    """Smallest ratio to the median simulated time: a link carries the bytes no faster."""

    def at(self, shares: Sequence[float]) -> list[float]:
        """Return the measured over the simulated time at shares of the distribution."""
        import numpy as np

        values: list[float] = np.exp(np.interp(shares, self._shares, self._logarithms)).tolist()
        return values

    @classmethod
    def mixed(cls, parts: "Sequence[Further]") -> "Further":
        """Mix distributions, each as likely as the others."""
        import numpy as np

        every = np.sort(np.concatenate([part._logarithms for part in parts]))
        return cls(every, (np.arange(len(every)) + 0.5) / len(every))

    def score(self, logarithm: float) -> float:
        """Return the continuous ranked probability score over a logarithm, the smaller the better.

        That of equally likely values (Gneiting and Raftery, JASA 102, 2007, equation 21).
        """
        import numpy as np

        count = len(self._logarithms)
        between = (2 * np.arange(count) - count + 1) @ self._logarithms / count**2
        return float(np.abs(self._logarithms - logarithm).mean() - between)

    def interval(self, level: float) -> Interval:
        """Return the interval in the middle that has a share of the distribution."""
        return Interval(*self.at([(1 - level) / 2, (1 + level) / 2]))

    def applied(self, values: Sequence[float], count: int, *, is_time: bool) -> list[float]:
        """Multiply each value with a number of quantiles of the error; of rates, divide.

        None is moved beyond the bound of :data:`ratio_min`.
        """
        factors = self.at([(at + 0.5) / count for at in range(count)])
        if not is_time:
            factors = [1 / factor for factor in factors]
        moved = [(value, value * factor) for value in values for factor in factors]
        if not self.ratio_min:
            return [value for _, value in moved]
        middle = statistics.median(values)
        if is_time:
            bound = self.ratio_min * middle
            return [max(value, min(before, bound)) for before, value in moved]
        bound = middle / self.ratio_min
        return [min(value, max(before, bound)) for before, value in moved]


class Estimate:
    """Effects of all conditions on the error of the model, by the rows that it is made of.

    The maximum of the posterior of a sum of effects on the logarithm of the scale; their
    covariance is that of its curvature there (Laplace's method).
    """

    def __init__(self, rows: Iterable[CheckRow], form: Form = FORM) -> None:
        import numpy as np
        from scipy.optimize import minimize

        self.rows, self._form = list(rows), form
        every = sorted({name for row in self.rows for name in form.names(row.conditions)})
        self._places = {name: place for place, name in enumerate(every, start=1)}
        count = len(every) + 1
        table = _Table(
            np.array([self._column(row.conditions) for row in self.rows]).reshape(-1, count),
            np.array([row.error for row in self.rows]),
            np.array([row.spread for row in self.rows]),
            np.array(_weights(self.rows)),
            np.array([_is_skewed(row.conditions) for row in self.rows], float),
            np.array([math.log(SCALE), *[0.0] * count]),
            np.array([math.log(SCALE_FACTOR), *[form.effect] * (count - 1), form.skewness]),
            form.degrees,
        )

        def loss(places: "NDArray") -> "tuple[float, NDArray]":  # type: ignore[type-arg]
            return _loss(table, places)

        # Effects over the deviations of their priors are all of one size.
        places = minimize(loss, np.zeros(count + 1), jac=True, method="BFGS").x
        self._middle = table.means + table.deviations * places
        inverse = np.linalg.inv(_curvature(loss, places))
        self._covariance = inverse * np.outer(table.deviations, table.deviations)
        tails = (np.arange(_TAIL) + 0.5) / _TAIL
        self._steps = math.sqrt(self._covariance[-1, -1]) * _normal(_SKEWS)
        # Quantiles at each step of the skewness, of rows without and with one.
        self._tails = [
            [
                _quantiles(tails, (self._middle[-1] + step) * own, form.degrees)
                for step in self._steps
            ]
            for own in (False, True)
        ]

    def _column(self, conditions: Conditions) -> list[float]:
        column = [1.0] + [0.0] * len(self._places)
        for name in self._form.names(conditions):
            if name in self._places:
                column[self._places[name]] = 1.0
        return column

    def further(self, conditions: Conditions, spread: float = 0.0) -> Further:
        """Predict a row of a further system.

        ``spread`` is the deviation of the logarithm of its simulated figure, which parameters have.
        """
        import numpy as np

        own = np.array([*self._column(conditions), 0.0])
        unseen = sum(name not in self._places for name in self._form.names(conditions))
        with_skew = float(own @ self._covariance[:, -1]) / float(self._covariance[-1, -1])
        variance = own @ self._covariance @ own + unseen * self._form.effect**2
        variance -= with_skew**2 * self._covariance[-1, -1]
        deviations = math.sqrt(variance) * _normal(_PLACES)
        tails = self._tails[_is_skewed(conditions)]
        parts = []
        for step, quantiles in zip(self._steps, tails, strict=True):
            scales = np.exp(own @ self._middle + with_skew * step + deviations)
            parts.append(np.hypot(scales, spread)[:, None] * quantiles)
        every = np.sort(np.concatenate(parts).ravel())
        return Further(every, (np.arange(len(every)) + 0.5) / len(every))

    def further_of_kind(self, kind: str) -> Further:
        """Predict a row of a kind, under conditions that the rows of this kind have."""
        own = [row.conditions for row in self.rows if row.conditions.kind == kind]
        parts = {each: self.further(each) for each in (own or [Conditions(kind)])}
        return Further.mixed([parts[each] for each in own] or [*parts.values()])

    def effects(self) -> list[Effect]:
        """List what each condition does to the width of an interval, and what the side does."""
        names = self._form.names
        classes = [
            self._effect(name, [row for row in self.rows if name in names(row.conditions)], place)
            for name, place in self._places.items()
        ]
        skewed = [row for row in self.rows if _is_skewed(row.conditions)]
        return [*classes, self._effect(LONGER, skewed, -1, 2.0)]

    def _effect(
        self, name: str, rows: Sequence[CheckRow], place: int, sides: float = 1.0
    ) -> Effect:
        middle = sides * float(self._middle[place])
        deviation = sides * math.sqrt(float(self._covariance[place, place]))
        ends = [math.exp(middle + sign * 1.645 * deviation) for sign in (-1, 1)]
        systems = len({row.system for row in rows})
        return Effect(name, len(rows), systems, math.exp(middle), Interval(*ends))


def _is_skewed(conditions: Conditions) -> bool:
    """Whether a mechanism that is missing makes a figure wrong to one side: not a ratio."""
    return conditions.kind != RATIO


@cache
def _normal(count: int) -> "NDArray":  # type: ignore[type-arg]
    """Return places of a standard normal distribution, each as likely as the others."""
    import numpy as np
    from scipy.special import ndtri

    places = ndtri((np.arange(count) + 0.5) / count)
    scaled: NDArray = places / places.std()  # type: ignore[type-arg]
    return scaled


def _quantiles(
    shares: "NDArray",  # type: ignore[type-arg]
    skew: float,
    degrees: float,
) -> "NDArray":  # type: ignore[type-arg]
    """Return quantiles of Student's distribution, its scale exp(skew) above 0 and exp(-skew) below.

    Its density is that of Fernández and Steel, JASA 93, 1998, equation 1.
    """
    import numpy as np
    from scipy.special import stdtrit

    below = 1 / (1 + math.exp(2 * skew))
    shorter = stdtrit(degrees, np.minimum(shares / below / 2, 0.5)) * math.exp(-skew)
    longer = stdtrit(degrees, np.maximum(1 - (1 - shares) / (1 - below) / 2, 0.5)) * math.exp(skew)
    quantiles: NDArray = np.where(shares < below, shorter, longer)  # type: ignore[type-arg]
    return quantiles


@dataclass(frozen=True)
class _Table:
    """Rows as numbers, and the normal priors of effects."""

    columns: "NDArray"  # type: ignore[type-arg]
    """Effects that each row has."""
    errors: "NDArray"  # type: ignore[type-arg]
    spreads: "NDArray"  # type: ignore[type-arg]
    weights: "NDArray"  # type: ignore[type-arg]
    skewed: "NDArray"  # type: ignore[type-arg]
    """1 of rows whose scale depends on the side, 0 of others."""
    means: "NDArray"  # type: ignore[type-arg]
    """Priors of effects on the logarithm of the scale, and last of the skewness."""
    deviations: "NDArray"  # type: ignore[type-arg]
    degrees: float


def _loss(table: _Table, priors: "NDArray") -> "tuple[float, NDArray]":  # type: ignore[type-arg]
    """Return the negative logarithm of the posterior, but for a constant, and its gradient.

    Effects are in the deviations of their priors from the means of these.
    """
    import numpy as np

    effects = table.means + table.deviations * priors
    own, skew = np.exp(table.columns @ effects[:-1]), effects[-1] * table.skewed
    scale, side = np.hypot(own, table.spreads), np.sign(table.errors)
    places = table.errors / scale * np.exp(-side * skew)
    reach = 1 + places**2 / table.degrees
    density = (table.degrees + 1) / 2 * np.log(reach) + np.log(scale) + np.log(np.cosh(skew))
    pull = (table.degrees + 1) / table.degrees * places**2 / reach
    by_scale = table.columns.T @ (table.weights * (1 - pull) * (own / scale) ** 2)
    by_skew = table.weights @ (table.skewed * (np.tanh(skew) - side * pull))
    gradient = np.append(by_scale, by_skew) * table.deviations + priors
    return float(table.weights @ density + priors @ priors / 2), gradient


def _curvature(
    loss: "Callable[[NDArray], tuple[float, NDArray]]",  # type: ignore[type-arg]
    middle: "NDArray",  # type: ignore[type-arg]
) -> "NDArray":  # type: ignore[type-arg]
    """Return the second derivatives at the maximum, by differences of the gradient."""
    import numpy as np

    step = 1e-4
    rows = [
        (loss(middle + step * row)[1] - loss(middle - step * row)[1]) / (2 * step)
        for row in np.eye(len(middle))
    ]
    matrix = np.array(rows)
    symmetric: NDArray = (matrix + matrix.T) / 2  # type: ignore[type-arg]
    return symmetric


def _weights(rows: Sequence[CheckRow]) -> list[float]:
    """Weigh rows: those of one curve and class of size count as one."""
    curves = [(row.system, row.conditions, row.curve) for row in rows]
    counts = Counter(curves)
    return [1 / counts[curve] for curve in curves]


def model_errors(rows: Sequence[CheckRow] | None = None) -> list[ModelError]:
    """Estimate the error of the model for every kind of metric, by default from shipped rows.

    It is that of a row under conditions that the rows of the kind have.
    """
    known = check_rows() if rows is None else rows
    estimate, covered = Estimate(known), _covered(known)
    return [
        _error(
            Conditions(kind),
            [kind],
            [row for row in known if row.conditions.kind == kind],
            estimate.further_of_kind(kind),
            covered.get(kind),
        )
        for kind in KINDS
    ]


def errors_at(
    conditions: Iterable[Conditions], rows: Sequence[CheckRow] | None = None
) -> list[ModelError]:
    """Estimate the error of the model under several conditions, but not what it covers."""
    known = check_rows() if rows is None else rows
    estimate = Estimate(known)

    def error(own: Conditions) -> ModelError:
        shared = FORM.used(own)
        alike = [row for row in known if FORM.used(row.conditions) == shared]
        return _error(own, shared, alike, estimate.further(own))

    return [error(own) for own in conditions]


def _error(
    conditions: Conditions,
    shared: Sequence[str],
    rows: Sequence[CheckRow],
    further: Further,
    covered: float | None = None,
) -> ModelError:
    systems = list(dict.fromkeys(row.system for row in rows))
    half, most = further.interval(0.5), further.interval(0.9)
    return ModelError(conditions, shared, len(rows), systems, half, most, covered, further)


def without_each_system(rows: Sequence[CheckRow], form: Form = FORM) -> dict[str, Estimate]:
    """Estimate the error of the model for each system by all others."""
    systems = dict.fromkeys(row.system for row in rows)
    return {name: Estimate((row for row in rows if row.system != name), form) for name in systems}


def form_score(form: Form, rows: Sequence[CheckRow] | None = None) -> float:
    """Return the mean score of the rows, each in the distribution by all other systems."""
    known = check_rows() if rows is None else rows
    estimates = without_each_system(known, form)
    return statistics.fmean(
        estimates[row.system].further(row.conditions, row.spread).score(row.error) for row in known
    )


def _covered(rows: Sequence[CheckRow]) -> Mapping[str, float]:
    """Count the rows of each kind within what all other systems say, the mean over systems."""
    estimates = without_each_system(rows)
    inside: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for row in rows:
        low, high = estimates[row.system].further(row.conditions, row.spread).interval(0.9)
        inside[row.conditions.kind, row.system].append(low <= math.exp(row.error) <= high)
    shares: dict[str, list[float]] = defaultdict(list)
    for (kind, _), own in inside.items():
        shares[kind].append(statistics.fmean(own))
    return {kind: statistics.fmean(own) for kind, own in shares.items() if len(own) > 1}
