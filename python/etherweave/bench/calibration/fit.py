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
COMMON = 4
"""Launches that the spread of all targets counts for, beside a target's own."""
STRIDES = (1.0, 0.5, 0.25, 0.12, 0.06, 0.03)
"""Of the search, in logarithms of constants: from a factor of 2.7 to 3 %."""
COARSE = 3
"""Of these strides, as many tell how much a constant explains, or another in its place."""
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
MEDIAN_TO_DEVIATION = 1.4826
"""From the median of normal values' amounts to their deviation."""
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
    def variance(self) -> float:
        """Of the launches' logarithms; 0 of a single one."""
        if len(self.launches) < 2:
            return 0.0
        return float(np.var(np.log(self.launches), ddof=1))


def deviations(targets: Sequence[Target]) -> Vector:
    """Give those of the medians' logarithms, at least ``PRECISION``.

    A few launches that are alike by chance say little of how much they differ, so each spread is
    drawn towards that of all targets, as if ``COMMON`` more launches had shown it.
    """
    further = np.array([len(target.launches) - 1 for target in targets])
    own = np.array([target.variance for target in targets])
    common = float(np.sum(own * further) / max(np.sum(further), 1))
    variances = (own * further + common * COMMON) / (further + COMMON)
    # Of a median of normal values: sqrt(pi / 2) times that of the mean; of one or two it is that.
    of_median = np.where(further > 1, np.pi / 2, 1.0) / (further + 1)
    return np.asarray(np.maximum(np.sqrt(variances * of_median), PRECISION), dtype=np.float64)


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
        more than chance. A free one gives way to another that explains more in its place. Those
        that are not free stay at their start, and so does one that the targets do not tell within a
        factor of two beside the others.
    """
    problem = _Problem(model, targets, start, low, high)
    held = _Choice(problem.start, np.zeros(len(start), dtype=bool))
    found = _determined(problem, _needed(problem, _exchanged(problem, _freed(problem, held))))
    return problem.fitted(found.values, found.free)


class _Choice(NamedTuple):
    """Constants, some of which were free to move."""

    values: Vector
    free: Flags


def _freed(problem: "_Problem", begin: _Choice) -> _Choice:
    """Free constants as long as one explains more than chance."""
    found = begin
    while not found.free.all():
        wider = min(
            (
                _with(found.free, int(number), is_free=True)
                for number in np.flatnonzero(~found.free)
            ),
            key=lambda free: problem.cost(problem.search(found.values, free, STRIDES[:COARSE])),
        )
        tried = _Choice(problem.search(found.values, wider, STRIDES), wider)
        if not _is_better(problem, tried, found):
            break
        found = tried
    return found


def _exchanged(problem: "_Problem", found: _Choice) -> _Choice:
    """Let a constant take another's place where that explains more.

    What was freed first may stand for another, and no small step leads from one to the other: the
    time of many messages is that of the slower side.
    """
    for out in np.flatnonzero(found.free):
        for into in np.flatnonzero(~found.free):
            free = _with(_with(found.free, int(out), is_free=False), int(into), is_free=True)
            begin = np.where(found.free & free, found.values, problem.start)
            if problem.cost(problem.search(begin, free, STRIDES[:COARSE])) >= problem.cost(
                found.values
            ):
                continue
            found = _Choice(problem.search(begin, free, STRIDES), free)
            return _exchanged(problem, _freed(problem, found))
    return found


def _needed(problem: "_Problem", found: _Choice) -> _Choice:
    """Hold constants again that explain no more than chance beside those freed after them."""
    for number in np.flatnonzero(found.free):
        without = _held(problem, found, int(number))
        if not _is_better(problem, found, without):
            return _needed(problem, without)
    return found


def _determined(problem: "_Problem", found: _Choice) -> _Choice:
    """Hold the vaguest constant, and fit the others anew, until none is vague."""
    while found.free.any():
        deviations = problem.deviations_of(found.values, found.free)
        if deviations.max() <= VAGUE:
            break
        found = _held(problem, found, int(np.flatnonzero(found.free)[np.argmax(deviations)]))
    return found


def _held(problem: "_Problem", found: _Choice, number: int) -> _Choice:
    """Put a free constant back to where it was, and fit the others anew."""
    free = _with(found.free, number, is_free=False)
    begin = np.where(free, found.values, problem.start)
    return _Choice(problem.search(begin, free, STRIDES), free)


def _is_better(problem: "_Problem", tried: _Choice, before: _Choice) -> bool:
    """Tell whether a wider choice explains more than chance would."""
    gain = problem.cost(before.values) - problem.cost(tried.values)
    return gain > CHANCE * max(problem.misfit(tried.values, tried.free), 1.0)


def _with(free: Flags, number: int, *, is_free: bool) -> Flags:
    changed = free.copy()
    changed[number] = is_free
    return changed


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
        self.deviations = deviations(targets)
        self.further = sum(len(target.launches) - 1 for target in targets)
        self.foretold: dict[bytes, Vector] = {}

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
        key = values.tobytes()
        if key not in self.foretold:
            self.foretold[key] = self.model(values)
        return np.asarray((self.foretold[key] - self.wanted) / self.deviations, dtype=np.float64)

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
        return self._distance(found) / self._surplus(free)

    def _variance(self, found: Vector, free: Flags) -> float:
        """Tell the residuals' variance by their mean and by their median, whichever is more.

        Large ones do not count as their square in the mean: where most are large it is too small.
        """
        middle = MEDIAN_TO_DEVIATION * float(np.median(np.abs(self.residuals(found))))
        by_median = middle**2 * len(self.wanted) / self._surplus(free)
        return max(self.misfit(found, free), by_median)

    def _known_by(self, found: Vector, free: Flags) -> int:
        """Count the values that tell variances: launches, too, unless the misfit outweighs them."""
        surplus = self._surplus(free)
        return surplus if self._variance(found, free) > 1 else surplus + self.further

    def _surplus(self, free: Flags) -> int:
        """Count the targets beyond the constants."""
        return max(len(self.wanted) - int(free.sum()), 1)

    def deviations_of(self, found: Vector, free: Flags) -> Vector:
        """Give those of the free constants, in logarithms."""
        return np.sqrt(np.diag(self._spread(found, free)))

    def _spread(self, found: Vector, free: Flags) -> Vector:
        return _covariance(self.derivatives(found, free), self._variance(found, free))

    def fitted(self, found: Vector, free: Flags) -> Fit:
        """Draw the interval."""
        draws = np.tile(found, (DRAWS, 1))
        if free.any():
            random = np.random.default_rng(0)
            spread = self._spread(found, free)
            moves = random.multivariate_normal(np.zeros(int(free.sum())), spread, DRAWS)
            # Student's: variances are themselves known only by so many values.
            known = self._known_by(found, free)
            scale = np.sqrt(random.chisquare(known, (DRAWS, 1)) / known)
            draws[:, free] = found[free] + moves / scale
        return Fit(found, free, np.clip(draws, self.low, self.high))
