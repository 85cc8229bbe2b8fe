"""The error of the model, apart from that of its parameters: measured over simulated times.

Rows of studies compare a simulated figure with one that a system has published. The logarithm of
the measured over the simulated time has Student's t distribution about zero, whose scale depends
on what is extrapolated: the kind of metric, the interconnect, the transport, the size, and whether
constants are fitted to the same benchmark. Each of them has an effect that is drawn towards zero,
so that classes of few systems have what all have.
What parameters do to a row is part of its scale, and none of the model's.
"""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from etherweave.uncertainty.check_rows import KINDS, CheckRow, Conditions, check_rows
from etherweave.uncertainty.intervals import Interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

DEGREES = 4
"""Degrees of Student's distribution (Lange, Little and Taylor, JASA 84, 1989: robust models)."""
SCALE, SCALE_FACTOR = 0.1, 3.0
"""Prior of the scale of all rows: its middle, and one standard deviation as a factor."""
SCALE_EFFECT = math.log(2)
"""Standard deviation of effects on the logarithm of the scale."""
_PLACES = 27  # Places of the logarithm of the scale at which its normal distribution is taken.
_TAIL = 64  # Quantiles of Student's distribution at each of these places.


@dataclass(frozen=True)
class ModelError:
    """Ratio of measured to simulated times under certain conditions."""

    conditions: Conditions
    rows: int  # Rows of this kind.
    systems: Sequence[str]  # Systems that have them.
    half: Interval  # Interval of 50 % of a row of a further system.
    most: Interval  # Interval of 90 %.
    covered: float | None
    """Part of rows of this kind within 90 % of what all other systems say, the mean over systems;
    None for fewer than two, or where it was not asked for."""
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

    def at(self, shares: Sequence[float]) -> list[float]:
        """Return the measured over the simulated time at shares of the distribution."""
        import numpy as np

        values: list[float] = np.exp(np.interp(shares, self._shares, self._logarithms)).tolist()
        return values

    def interval(self, level: float) -> Interval:
        """Return the interval in the middle that has a share of the distribution."""
        return Interval(*self.at([(1 - level) / 2, (1 + level) / 2]))

    def applied(self, values: Sequence[float], count: int, *, is_time: bool) -> list[float]:
        """Multiply each value with a number of quantiles of the error; of rates, divide."""
        factors = self.at([(at + 0.5) / count for at in range(count)])
        if not is_time:
            factors = [1 / factor for factor in factors]
        return [value * factor for value in values for factor in factors]


class Estimate:
    """Effects of all conditions on the error of the model, by the rows that it is made of.

    The maximum of the posterior of a sum of effects on the logarithm of the scale; their
    covariance is that of its curvature there (Laplace's method).
    """

    def __init__(self, rows: Iterable[CheckRow]) -> None:
        import numpy as np
        from scipy.optimize import minimize

        self.rows = list(rows)
        every = sorted({name for row in self.rows for name in row.conditions if name})
        self._places = {name: place for place, name in enumerate(every, start=1)}
        count = len(every) + 1
        table = _Table(
            np.array([self._column(row.conditions) for row in self.rows]).reshape(-1, count),
            np.array([row.error for row in self.rows]),
            np.array([row.spread for row in self.rows]),
            np.array(_weights(self.rows)),
            np.array([math.log(SCALE), *[0.0] * (count - 1)]),
            np.array([math.log(SCALE_FACTOR), *[SCALE_EFFECT] * (count - 1)]),
        )

        def loss(places: "NDArray") -> "tuple[float, NDArray]":  # type: ignore[type-arg]
            return _loss(table, places)

        # Effects over the deviations of their priors are all of one size.
        places = minimize(loss, np.zeros(count), jac=True, method="BFGS").x
        self._middle = table.means + table.deviations * places
        inverse = np.linalg.inv(_curvature(loss, places))
        self._covariance = inverse * np.outer(table.deviations, table.deviations)

    def _column(self, conditions: Conditions) -> list[float]:
        column = [1.0] + [0.0] * len(self._places)
        for name in conditions:
            if name in self._places:
                column[self._places[name]] = 1.0
        return column

    def further(self, conditions: Conditions, spread: float = 0.0) -> Further:
        """Predict a row of a further system.

        ``spread`` is the deviation of the logarithm of its simulated figure, which parameters have.
        """
        import numpy as np
        from scipy.stats import norm, t

        own = np.array(self._column(conditions))
        unseen = sum(name not in self._places for name in conditions if name)
        variance = own @ self._covariance @ own + unseen * SCALE_EFFECT**2
        places = norm.ppf((np.arange(_PLACES) + 0.5) / _PLACES)
        logarithms = own @ self._middle + math.sqrt(variance) * places / places.std()
        scales = np.hypot(np.exp(logarithms), spread)
        tail = t.ppf((np.arange(_TAIL) + 0.5) / _TAIL, DEGREES)
        every = np.sort((scales[:, None] * tail).ravel())
        return Further(every, (np.arange(len(every)) + 0.5) / len(every))

    def effects(self) -> list[Effect]:
        """List what each condition does to the width of an interval."""
        errors = []
        for name, place in self._places.items():
            own = [row for row in self.rows if name in row.conditions]
            middle = float(self._middle[place])
            deviation = math.sqrt(float(self._covariance[place, place]))
            ends = [math.exp(middle + sign * 1.645 * deviation) for sign in (-1, 1)]
            systems = len({row.system for row in own})
            errors.append(Effect(name, len(own), systems, math.exp(middle), Interval(*ends)))
        return errors


@dataclass(frozen=True)
class _Table:
    """Rows as numbers, and the normal priors of effects."""

    columns: "NDArray"  # type: ignore[type-arg]
    """Effects that each row has."""
    errors: "NDArray"  # type: ignore[type-arg]
    spreads: "NDArray"  # type: ignore[type-arg]
    weights: "NDArray"  # type: ignore[type-arg]
    means: "NDArray"  # type: ignore[type-arg]
    """Priors of effects on the logarithm of the scale."""
    deviations: "NDArray"  # type: ignore[type-arg]


def _loss(table: _Table, priors: "NDArray") -> "tuple[float, NDArray]":  # type: ignore[type-arg]
    """Return the negative logarithm of the posterior, but for a constant, and its gradient.

    Effects are in the deviations of their priors from the means of these.
    """
    import numpy as np

    own = np.exp(table.columns @ (table.means + table.deviations * priors))
    scale = np.hypot(own, table.spreads)
    places = table.errors / scale
    reach = 1 + places**2 / DEGREES
    loss = table.weights @ ((DEGREES + 1) / 2 * np.log(reach) + np.log(scale))
    pull = (DEGREES + 1) / DEGREES * places**2 / reach
    by_scale = table.columns.T @ (table.weights * (1 - pull) * (own / scale) ** 2)
    gradient = by_scale * table.deviations + priors
    return float(loss + priors @ priors / 2), gradient


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
    """Estimate the error of the model for every kind of metric, by default from shipped rows."""
    known = check_rows() if rows is None else rows
    estimate, covered = Estimate(known), _covered(known)
    return [_error(estimate, Conditions(kind), covered.get(kind)) for kind in KINDS]


def errors_at(
    conditions: Iterable[Conditions], rows: Sequence[CheckRow] | None = None
) -> list[ModelError]:
    """Estimate the error of the model under several conditions, but not what it covers."""
    estimate = Estimate(check_rows() if rows is None else rows)
    return [_error(estimate, condition) for condition in conditions]


def _error(estimate: Estimate, conditions: Conditions, covered: float | None = None) -> ModelError:
    own = [row for row in estimate.rows if row.conditions.kind == conditions.kind]
    further = estimate.further(conditions)
    systems = list(dict.fromkeys(row.system for row in own))
    half, most = further.interval(0.5), further.interval(0.9)
    return ModelError(conditions, len(own), systems, half, most, covered, further)


def without_each_system(rows: Sequence[CheckRow]) -> dict[str, Estimate]:
    """Estimate the error of the model for each system by all others."""
    systems = dict.fromkeys(row.system for row in rows)
    return {name: Estimate(row for row in rows if row.system != name) for name in systems}


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
