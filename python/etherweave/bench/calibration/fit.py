"""Fits constants to logarithms of times, and tells how sure they are.

Pure: the model is a function. Logarithms, because an error of 10 % counts alike for 8 us and for
8 ms, and constants are positive. The search asks for no derivatives: what a simulator foretells has
steps, where a batch of packets becomes two.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from etherweave.bench.statistics.quantiles import median

Vector: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
Model: TypeAlias = Callable[[Vector], Vector]
"""From logarithms of constants to logarithms of the times that they foretell."""

PRECISION = 0.02
"""No time counts as known better than that, however alike its launches were."""
STRIDES = (1.0, 0.5, 0.25, 0.12, 0.06, 0.03)
"""Of the search, in logarithms of constants: from a factor of 2.7 to 3 %."""
COARSE = 3
"""Of these strides, as many tell how much a constant explains."""
CHANCE = 2.0
"""What a further constant explains by chance: twice the misfit of a target (Akaike)."""
GAIN = 0.01
"""A move that gains less is none: constants that explain nothing stay where they are."""
PULL = 3.0
"""Deviation of the weak belief that constants are what they were: a factor of 20, in logarithms."""
STEP = 0.1
"""Of the differences that stand for derivatives, in logarithms: beyond the model's small steps."""
VAGUE = 0.7
"""A constant whose logarithm deviates by more (a factor of two) is not determined."""
DRAWS = 1000
"""Of the interval."""


class Target(NamedTuple):
    """What was measured of one probe."""

    launches: Sequence[float]
    """One time of each [s]."""

    @property
    def median(self) -> float:
        """Of the launches [s]."""
        return median(self.launches)

    @property
    def deviation(self) -> float:
        """Of the median's logarithm, by the launches' own spread, at least ``PRECISION``."""
        if len(self.launches) < 2:
            return PRECISION
        # Of a median of normal values: sqrt(pi / 2) times that of the mean.
        spread = float(np.std(np.log(self.launches), ddof=1))
        return max(spread * float(np.sqrt(np.pi / 2 / len(self.launches))), PRECISION)


class Fit(NamedTuple):
    """Constants as fitted."""

    values: Vector
    """Logarithms; those that are not determined are where they began."""
    is_determined: Flags
    draws: Vector
    """Logarithms, ``DRAWS`` rows: where chance and the model's own misfit might have put them."""


def fit(model: Model, targets: Sequence[Target], start: Vector, low: Vector, high: Vector) -> Fit:
    """Find the constants that come closest to what was measured.

    Parameters
    ----------
    model
        Foretells as many times as there are targets.
    targets
        What was measured.
    start, low, high
        Logarithms of the constants where the search begins, and of their bounds.

    Returns
    -------
    Fit
        Constants are freed one after another, the one first that explains most, until none explains
        more than chance. Those that remain stay at their start, and so does one that the
        targets do not tell within a factor of two beside those before it.
    """
    problem = _Problem(model, targets, start, low, high)
    free = np.zeros(len(start), dtype=bool)
    untried = np.ones(len(start), dtype=bool)
    found = problem.start
    while untried.any():
        number = problem.most_telling(found, untried)
        untried[number] = False
        wider = free.copy()
        wider[number] = True
        tried = problem.search(found, wider, STRIDES)
        gain = problem.cost(found) - problem.cost(tried)
        if gain <= CHANCE * max(problem.misfit(tried, wider), 1.0):
            break
        if problem.deviations_of(tried, wider).max() <= VAGUE:
            free, found = wider, tried
    return problem.fitted(found, free)


def _covariance(jacobian: Vector, misfit: float) -> Vector:
    """Give that of the constants: chance, widened by what the model cannot explain."""
    # A constant without any effect gets a variance beyond all limits, and no division by zero.
    information = jacobian.T @ jacobian + 1e-9 * np.eye(jacobian.shape[1])
    return np.asarray(np.linalg.inv(information) * max(misfit, 1.0), dtype=np.float64)


class _Problem:
    """Targets and a model, with constants free or held."""

    def __init__(
        self, model: Model, targets: Sequence[Target], start: Vector, low: Vector, high: Vector
    ) -> None:
        self.model, self.start = model, np.clip(start, low, high)
        self.low, self.high = low, high
        self.wanted = np.array([np.log(target.median) for target in targets])
        self.deviations = np.array([target.deviation for target in targets])

    def most_telling(self, begin: Vector, untried: Flags) -> int:
        """Find the constant that explains most alone, beside those that were found."""
        costs = {}
        for number in np.flatnonzero(untried):
            alone = np.arange(len(begin)) == number
            costs[int(number)] = self.cost(self.search(begin, alone, STRIDES[:COARSE]))
        return min(costs, key=lambda number: costs[number])

    def search(self, begin: Vector, free: Flags, strides: Sequence[float]) -> Vector:
        """Try each free constant up and down, with ever smaller strides (compass search)."""
        best, least = begin, self.cost(begin)
        for stride in strides:
            has_moved = True
            while has_moved:
                has_moved = False
                for number in np.flatnonzero(free):
                    for sign in (-stride, stride):
                        tried = self._moved(best, int(number), sign)
                        cost = self.cost(tried)
                        if cost < least - GAIN:
                            best, least, has_moved = tried, cost, True
                            break
        return best

    def _moved(self, values: Vector, number: int, way: float) -> Vector:
        moved = values.copy()
        moved[number] = np.clip(moved[number] + way, self.low[number], self.high[number])
        return moved

    def cost(self, values: Vector) -> float:
        """Sum residuals: squares of small ones, and large ones as they are.

        A probe that the model misses by far must not bend all constants.
        """
        pull = float(np.sum(((values - self.start) / PULL) ** 2))
        return self._distance(values) + pull

    def _distance(self, values: Vector) -> float:
        return float(np.sum(2 * (np.sqrt(1 + self.residuals(values) ** 2) - 1)))

    def residuals(self, values: Vector) -> Vector:
        """Tell how far the model is from the targets, in their deviations."""
        return np.asarray((self.model(values) - self.wanted) / self.deviations, dtype=np.float64)

    def derivatives(self, values: Vector, free: Flags) -> Vector:
        """Give those of the residuals, a column for each free constant."""
        columns = [self._derivative(values, int(number)) for number in np.flatnonzero(free)]
        return np.array(columns).reshape(len(columns), len(self.wanted)).T

    def _derivative(self, values: Vector, number: int) -> Vector:
        below, above = values.copy(), values.copy()
        below[number] -= STEP
        above[number] += STEP
        difference = self.residuals(above) - self.residuals(below)
        return np.asarray(difference / (2 * STEP), dtype=np.float64)

    def misfit(self, found: Vector, free: Flags) -> float:
        """Give the mean of the residuals, squared unless large, per target beyond the constants."""
        surplus = max(len(self.wanted) - int(free.sum()), 1)
        return self._distance(found) / surplus

    def deviations_of(self, found: Vector, free: Flags) -> Vector:
        """Give those of the free constants, in logarithms."""
        return np.sqrt(np.diag(self._spread(found, free)))

    def _spread(self, found: Vector, free: Flags) -> Vector:
        return _covariance(self.derivatives(found, free), self.misfit(found, free))

    def fitted(self, found: Vector, free: Flags) -> Fit:
        """Draw the interval."""
        draws = np.tile(found, (DRAWS, 1))
        if free.any():
            random = np.random.default_rng(0)
            spread = self._spread(found, free)
            draws[:, free] = random.multivariate_normal(found[free], spread, DRAWS)
        return Fit(found, free, np.clip(draws, self.low, self.high))
