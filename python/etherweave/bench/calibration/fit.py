"""Fit of constants to the logarithms of times, with intervals.

Pure: the model is a function. Logarithms, because an error of 10 % counts alike for 8 us and for
8 ms, and constants are positive. The search is a compass search, without derivatives: predictions
of a simulator have steps, where a batch of packets becomes two. scipy's ``least_squares`` (with
``soft_l1``) and ``minimize`` (Powell) stop at such steps: neither finds the hidden
``nic.context_switch`` of a simulated cluster, which a test demands.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from etherweave.bench.statistics.quantiles import median

Vector: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
Model: TypeAlias = Callable[[Vector], Vector]
"""From logarithms of constants to logarithms of the times that they predict."""

PRECISION = 0.02
"""Least relative deviation of a measured time, however similar its launches are."""
COMMON = 4
"""Launches that the spread of all targets counts for, beside a target's own."""
STRIDES = (1.0, 0.5, 0.25, 0.12, 0.06, 0.03)
"""Of the search, in logarithms of constants: from a factor of 2.7 to 3 %."""
COARSE = STRIDES[:3]
"""Strides that rank the candidates for the next constant."""
CHANCE = 2.0
"""Cost that a further constant removes by chance: twice the misfit of a target (Akaike)."""
GAIN = 0.01
"""Least decrease of the cost by a move: constants that explain nothing keep their values."""
PRIOR_DEVIATION = 3.0
"""Of a constant's logarithm around its start: a factor of 20."""
STEP = 0.1
"""Of the differences that stand for derivatives, in logarithms: beyond the model's small steps."""
VAGUE = 0.7
"""Deviation of a constant's logarithm from which on it is not determined: a factor of two."""
MEDIAN_TO_DEVIATION = 1.4826
"""From the median of the absolute values of normal residuals to their standard deviation."""
DRAWS = 1000
"""Samples of the constants, from which intervals are taken."""


class Target(NamedTuple):
    """Measured times of one micro-benchmark."""

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
    """Return the standard deviations of the medians' logarithms, at least ``PRECISION``.

    A few launches that are similar by chance say little of their spread, so each spread is drawn
    towards that of all targets, as if ``COMMON`` more launches had shown it.
    """
    further = np.array([len(target.launches) - 1 for target in targets])
    own = np.array([target.variance for target in targets])
    common = float(np.sum(own * further) / max(np.sum(further), 1))
    variances = (own * further + common * COMMON) / (further + COMMON)
    # Of a median of normal values: sqrt(pi / 2) times that of the mean; of one or two it is that.
    of_median = np.where(further > 1, np.pi / 2, 1.0) / (further + 1)
    return np.asarray(np.maximum(np.sqrt(variances * of_median), PRECISION), dtype=np.float64)


class Fit(NamedTuple):
    """Constants that were fitted."""

    values: Vector
    """Logarithms; constants that are not determined keep their start."""
    is_determined: Flags
    draws: Vector
    """Logarithms, ``DRAWS`` rows: samples by chance and by the model's misfit."""


def fit(model: Model, targets: Sequence[Target], start: Vector, low: Vector, high: Vector) -> Fit:
    """Find the constants whose predictions are nearest to the measured times.

    Parameters
    ----------
    model
        Predicts one time for each target.
    targets
        Measured times.
    start, low, high
        Logarithms of the constants where the search begins, and of their bounds.

    Returns
    -------
    Fit
        Constants are freed one after another, the one first that explains most, until none explains
        more than chance. A free one gives way to another that explains more in its place. Those
        that are not free keep their start, and so does one that the targets do not determine within
        a factor of two beside the others.
    """
    problem = _Problem(model, targets, start, low, high)
    held = _Choice(problem.start, np.zeros(len(start), dtype=bool))
    chosen = _determined(problem, _needed(problem, _exchanged(problem, _freed(problem, held))))
    return problem.fitted(chosen.values, chosen.free)


class _Choice(NamedTuple):
    """Constants, some of which are free to move."""

    values: Vector
    free: Flags


def _freed(problem: "_Problem", begin: _Choice) -> _Choice:
    """Free constants as long as one explains more than chance."""
    chosen = begin
    while not chosen.free.all():
        wider = min(
            (
                _with(chosen.free, int(number), is_free=True)
                for number in np.flatnonzero(~chosen.free)
            ),
            key=lambda free: problem.cost(problem.search(chosen.values, free, COARSE)),
        )
        tried = _Choice(problem.search(chosen.values, wider, STRIDES), wider)
        if not _is_better(problem, tried, chosen):
            break
        chosen = tried
    return chosen


def _exchanged(problem: "_Problem", chosen: _Choice) -> _Choice:
    """Let a constant take another's place where that explains more.

    What was freed first may stand for another, and no small step leads from one to the other: the
    time of many messages is that of the slower side.
    """
    for out in np.flatnonzero(chosen.free):
        for into in np.flatnonzero(~chosen.free):
            free = _with(_with(chosen.free, int(out), is_free=False), int(into), is_free=True)
            begin = np.where(chosen.free & free, chosen.values, problem.start)
            coarse = problem.search(begin, free, COARSE)
            if problem.cost(coarse) >= problem.cost(chosen.values):
                continue
            better = _Choice(problem.search(begin, free, STRIDES), free)
            return _exchanged(problem, _freed(problem, better))
    return chosen


def _needed(problem: "_Problem", chosen: _Choice) -> _Choice:
    """Hold constants again that explain no more than chance beside those freed after them."""
    for number in np.flatnonzero(chosen.free):
        without = _held(problem, chosen, int(number))
        if not _is_better(problem, chosen, without):
            return _needed(problem, without)
    return chosen


def _determined(problem: "_Problem", chosen: _Choice) -> _Choice:
    """Hold the vaguest constant, and fit the others anew, until none is vague."""
    while chosen.free.any():
        deviations = problem.deviations_of(chosen.values, chosen.free)
        if deviations.max() <= VAGUE:
            break
        chosen = _held(problem, chosen, int(np.flatnonzero(chosen.free)[np.argmax(deviations)]))
    return chosen


def _held(problem: "_Problem", chosen: _Choice, number: int) -> _Choice:
    """Put a free constant back to its start, and fit the others anew."""
    free = _with(chosen.free, number, is_free=False)
    begin = np.where(free, chosen.values, problem.start)
    return _Choice(problem.search(begin, free, STRIDES), free)


def _is_better(problem: "_Problem", tried: _Choice, before: _Choice) -> bool:
    """Return whether a wider choice explains more than chance would."""
    gain = problem.cost(before.values) - problem.cost(tried.values)
    return gain > CHANCE * max(problem.misfit(tried.values, tried.free), 1.0)


def _with(free: Flags, number: int, *, is_free: bool) -> Flags:
    changed = free.copy()
    changed[number] = is_free
    return changed


def _covariance(jacobian: Vector, misfit: float) -> Vector:
    """Return that of the constants: chance, widened by what the model cannot explain."""
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
        self.measured = np.array([np.log(target.median) for target in targets])
        self.deviations = deviations(targets)
        self.further = sum(len(target.launches) - 1 for target in targets)
        self.predicted: dict[bytes, Vector] = {}

    def search(self, begin: Vector, free: Flags, strides: Sequence[float]) -> Vector:
        """Try each free constant up and down, with smaller and smaller strides."""
        best, least = begin, self.cost(begin)
        for stride in strides:
            has_moved = True
            while has_moved:
                has_moved = False
                for number in np.flatnonzero(free):
                    for step in (-stride, stride):
                        tried = self._moved(best, int(number), step)
                        cost = self.cost(tried)
                        if cost < least - GAIN:
                            best, least, has_moved = tried, cost, True
                            break
        return best

    def _moved(self, values: Vector, number: int, step: float) -> Vector:
        moved = values.copy()
        moved[number] = np.clip(moved[number] + step, self.low[number], self.high[number])
        return moved

    def cost(self, values: Vector) -> float:
        """Sum residuals, small ones squared and large ones twice, and the prior near the start.

        A micro-benchmark that the model misses by far must not bend all constants.
        """
        prior = float(np.sum(((values - self.start) / PRIOR_DEVIATION) ** 2))
        return self._distance(values) + prior

    def _distance(self, values: Vector) -> float:
        return float(np.sum(2 * (np.sqrt(1 + self.residuals(values) ** 2) - 1)))

    def residuals(self, values: Vector) -> Vector:
        """Return the distances of the model from the targets, in their deviations."""
        key = values.tobytes()
        if key not in self.predicted:
            self.predicted[key] = self.model(values)
        return np.asarray((self.predicted[key] - self.measured) / self.deviations, dtype=np.float64)

    def derivatives(self, values: Vector, free: Flags) -> Vector:
        """Return those of the residuals, a column for each free constant."""
        columns = [self._derivative(values, int(number)) for number in np.flatnonzero(free)]
        return np.array(columns).reshape(len(columns), len(self.measured)).T

    def _derivative(self, values: Vector, number: int) -> Vector:
        below, above = values.copy(), values.copy()
        below[number] -= STEP
        above[number] += STEP
        difference = self.residuals(above) - self.residuals(below)
        return np.asarray(difference / (2 * STEP), dtype=np.float64)

    def misfit(self, values: Vector, free: Flags) -> float:
        """Return the mean of the residuals, squared unless large, per target beyond constants."""
        return self._distance(values) / self._surplus(free)

    def _variance(self, values: Vector, free: Flags) -> float:
        """Return the residuals' variance by their mean or by their median, whichever is more.

        Large ones do not count as their square in the mean: where most are large it is too small.
        """
        middle = MEDIAN_TO_DEVIATION * float(np.median(np.abs(self.residuals(values))))
        by_median = middle**2 * len(self.measured) / self._surplus(free)
        return max(self.misfit(values, free), by_median)

    def _degrees(self, values: Vector, free: Flags) -> int:
        """Return the degrees of freedom of the variance: launches too, unless misfit dominates."""
        surplus = self._surplus(free)
        return surplus if self._variance(values, free) > 1 else surplus + self.further

    def _surplus(self, free: Flags) -> int:
        """Count the targets beyond the constants."""
        return max(len(self.measured) - int(free.sum()), 1)

    def deviations_of(self, values: Vector, free: Flags) -> Vector:
        """Return those of the free constants, in logarithms."""
        return np.sqrt(np.diag(self._spread(values, free)))

    def _spread(self, values: Vector, free: Flags) -> Vector:
        return _covariance(self.derivatives(values, free), self._variance(values, free))

    def fitted(self, values: Vector, free: Flags) -> Fit:
        """Draw samples of the constants, and give the fit."""
        draws = np.tile(values, (DRAWS, 1))
        if free.any():
            random = np.random.default_rng(0)
            spread = self._spread(values, free)
            moves = random.multivariate_normal(np.zeros(int(free.sum())), spread, DRAWS)
            # Student's: the variance itself is an estimate.
            degrees = self._degrees(values, free)
            scale = np.sqrt(random.chisquare(degrees, (DRAWS, 1)) / degrees)
            draws[:, free] = values[free] + moves / scale
        return Fit(values, free, np.clip(draws, self.low, self.high))
