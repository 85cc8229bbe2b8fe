"""Inference of unknowns from measured times: waves of simulations, an emulator, its posterior.

Kennedy and O'Hagan, *Bayesian calibration of computer models*, 2001; waves as in history matching
(Vernon, Goldstein and Bower, Bayesian Analysis 5, 2010). Pure: the model is a function. A measured
logarithm differs from the model's by chance, by the emulator's error, and by a misfit of the model
that is an unknown itself; all three together have the tails of Student's distribution, so that a
micro-benchmark that the model misses by far does not bend all unknowns.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.special import ndtr
from scipy.stats import qmc, t

from etherweave.bench.calibration.emulator import Emulator
from etherweave.bench.calibration.population import Population, population
from etherweave.bench.calibration.prior import Array
from etherweave.bench.statistics.quantiles import median

Model: TypeAlias = Callable[[Array], Array]
"""Model: takes a row of shares for each point, returns logarithms of the times of all targets."""

FIRST_PER_UNKNOWN, FIRST_MIN = 8, 32
"""Simulated points of the first wave, evenly in the prior: for each unknown, and at least."""
FURTHER_PER_UNKNOWN = 5
"""Simulated points of each further wave, from the posterior of the one before."""
WAVES_MAX = 5
SURE = 0.5  # Error of the emulator over that of measurement and model, at which it suffices.
MISFITS = (0.005, 1.0)
"""Prior of the misfit, evenly on a logarithmic scale: no document says what it is."""
DEGREES = 5  # Degrees of freedom of Student's distribution of errors.
DRAWS = 1000
COMMON = 4  # Launches that the spread of all targets counts for, beside a target's own.


class Target(NamedTuple):
    """Measured times of one micro-benchmark."""

    launches: Sequence[float]  # One time of each [s].

    @property
    def median(self) -> float:
        """Median of the launches [s]."""
        return median(self.launches)

    @property
    def variance(self) -> float:
        """Variance of the launches' logarithms; 0 of a single one."""
        if len(self.launches) < 2:
            return 0.0
        return float(np.var(np.log(self.launches), ddof=1))


class Posterior(NamedTuple):
    """Draws of the unknowns that agree with the measured times, as well as the model does."""

    shares: Array
    """Rows are draws of equal weight, columns are shares of the priors of unknowns, 0 to 1."""
    misfits: Array  # Standard deviation of the model's logarithms, of each draw.
    chance: float  # Median standard deviation of the logarithms of measured medians.
    effective: float  # Independent draws that they are worth.
    simulations: int  # Simulated points, of all waves.
    emulator: Array  # Error of the emulator in each target, over that of measurement and model.
    first: Array  # Logarithms of times of the first wave, evenly in the prior.


def deviations(targets: Sequence[Target]) -> Array:
    """Return the standard deviations of the medians' logarithms.

    A few launches that are similar by chance say little of their spread, so each spread is drawn
    towards that of all targets, as if ``COMMON`` more launches had shown it.
    """
    further = np.array([len(target.launches) - 1 for target in targets])
    own = np.array([target.variance for target in targets])
    common = float(np.sum(own * further) / max(np.sum(further), 1))
    variances = (own * further + common * COMMON) / (further + COMMON)
    # Of a median of normal values: sqrt(pi / 2) times that of the mean; of one or two it is that.
    of_median = np.where(further > 1, np.pi / 2, 1.0) / (further + 1)
    return np.asarray(np.sqrt(variances * of_median), dtype=np.float64)


def infer(model: Model, targets: Sequence[Target], unknowns: int, seed: int = 0) -> Posterior:
    """Draw unknowns from their posterior.

    ``model`` predicts a time for each of the measured ``targets``, at any shares of the unknowns.
    """
    import sklearn.gaussian_process
    import sklearn.mixture  # noqa: F401 - only libraries that are loaded have their threads limited
    from threadpoolctl import threadpool_limits

    measured = np.array([np.log(target.median) for target in targets])
    chance = deviations(targets)
    power = int(np.ceil(np.log2(max(FIRST_PER_UNKNOWN * unknowns, FIRST_MIN))))
    points = np.asarray(qmc.Sobol(unknowns, rng=seed).random_base2(power), dtype=np.float64)
    times = first = model(points)
    # More threads add the same numbers in another order.
    with threadpool_limits(1):
        for wave in range(WAVES_MAX):
            emulator = Emulator(points, times)
            posterior = _posterior(emulator, measured, chance, unknowns, seed + wave)
            shares, misfits = ndtr(posterior.draws[:, :-1]), misfit(posterior.draws[:, -1])
            error = _error(emulator, shares, chance, misfits)
            if error.max() <= SURE or wave == WAVES_MAX - 1:
                break
            further = np.unique(shares, axis=0)
            order = np.random.default_rng(seed + wave).permutation(len(further))
            new = further[order[: FURTHER_PER_UNKNOWN * unknowns]]
            points, times = np.vstack([points, new]), np.vstack([times, model(new)])
    return Posterior(
        shares, misfits, float(np.median(chance)), posterior.effective, len(points), error, first
    )


def misfit(score: Array) -> Array:
    """Return the misfit at standard normal scores of its prior."""
    low, high = MISFITS
    return np.asarray(low * (high / low) ** ndtr(score), dtype=np.float64)


def _posterior(
    emulator: Emulator, measured: Array, chance: Array, unknowns: int, seed: int
) -> Population:
    def log_likelihood(points: Array) -> Array:
        means, deviations = emulator.predict(ndtr(points[:, :-1]))
        own = misfit(points[:, -1])[:, np.newaxis]
        scales = np.sqrt(chance**2 + deviations**2 + own**2)
        logarithms = t.logpdf((measured - means) / scales, DEGREES) - np.log(scales)
        return np.asarray(logarithms.sum(axis=1), dtype=np.float64)

    return population(log_likelihood, unknowns + 1, DRAWS, seed)


def _error(emulator: Emulator, shares: Array, chance: Array, misfits: Array) -> Array:
    """Return the error of the emulator in each target, over that of measurement and model."""
    _, deviations = emulator.predict(shares)
    others = np.sqrt(chance**2 + np.median(misfits) ** 2)
    return np.asarray(np.sqrt(np.mean(deviations**2, axis=0)) / others, dtype=np.float64)
