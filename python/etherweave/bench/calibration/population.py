"""Population Monte Carlo: draws from a density whose logarithm can be computed at any point.

Cappé et al., *Adaptive importance sampling in general mixture classes*, Statistics and Computing
18, 2008. Points of a round come from a mixture of normal distributions, which scikit-learn fits to
the weighted points of the round before; the first ones come from the prior. While too few points
have any weight, the likelihood is raised to a power below one.
"""

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp
from scipy.stats import norm

from etherweave.bench.calibration.prior import Array

if TYPE_CHECKING:
    from sklearn.mixture import GaussianMixture

POINTS_MIN, PER_DIMENSION = 4000, 1000  # Points of a round: at least, and for each dimension.
ROUNDS_MAX = 25
"""Most rounds; a density that is not met by then has few points of weight, which is reported."""
ENOUGH = 480  # Independent draws that the points of a round are worth, by which the rounds end.
TEMPERED = 0.08  # Part of the points that have weight at a power of the likelihood below one.
COMPONENTS = 4  # Normal distributions of the mixture.
WIDER = 1.2
"""Factor of the deviations of the mixture over those of the points that it is fitted to."""
FROM_PRIOR = 0.1  # Part of the points that come from the prior in every round.


class Population(NamedTuple):
    """Draws of equal weight."""

    draws: Array  # Rows are draws, columns are standard normal in the prior.
    effective: float  # Independent draws that they are worth.


def population(
    log_likelihood: Callable[[Array], Array], dimensions: int, count: int, seed: int
) -> Population:
    """Draw from a posterior, whose prior is a standard normal distribution in each dimension.

    ``log_likelihood`` takes rows of points, and returns the logarithm of the likelihood of each.
    """
    random = np.random.default_rng(seed)
    size = max(POINTS_MIN, PER_DIMENSION * dimensions)
    mixture: GaussianMixture | None = None
    best: tuple[float, Array, Array] | None = None
    for _ in range(ROUNDS_MAX):
        points, log_proposal = _proposed(mixture, (size, dimensions), random)
        prior = norm.logpdf(points).sum(axis=1) - log_proposal
        likelihood = log_likelihood(points)
        weights = _weights(prior + likelihood)
        if best is None or _effective(weights) > best[0]:
            best = (_effective(weights), points, weights)
        if best[0] >= ENOUGH:
            break
        power = _power(prior, likelihood)
        mixture = _fitted(points[_drawn(_weights(prior + power * likelihood), size // 2, random)])
    assert best is not None, "there is at least one round"
    effective, points, weights = best
    return Population(points[_drawn(weights, count, random)], effective)


def _proposed(
    mixture: "GaussianMixture | None", shape: tuple[int, int], random: np.random.Generator
) -> tuple[Array, Array]:
    """Return the points of a round, and the logarithm of the density that they come from."""
    points = random.standard_normal(shape)
    log_prior = norm.logpdf(points).sum(axis=1)
    if mixture is None:
        return points, log_prior
    own = round((1 - FROM_PRIOR) * shape[0])
    parts = random.choice(len(mixture.weights_), own, p=mixture.weights_)
    factors = np.linalg.cholesky(mixture.covariances_)
    moves = random.standard_normal((own, shape[1]))
    points[:own] = mixture.means_[parts] + np.einsum("nij,nj->ni", factors[parts], moves)
    log_prior = norm.logpdf(points).sum(axis=1)
    own_density = mixture.score_samples(points) + np.log(1 - FROM_PRIOR)
    return points, np.logaddexp(own_density, log_prior + np.log(FROM_PRIOR))


def _fitted(points: Array) -> "GaussianMixture":
    """Fit a mixture, and widen it: its tails must not end before those of the density."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    mixture = GaussianMixture(COMPONENTS, reg_covar=1e-5, random_state=0, max_iter=30, tol=1e-2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # A proposal may be a rough one.
        mixture.fit(points)
    mixture.covariances_ = mixture.covariances_ * WIDER**2
    mixture.precisions_cholesky_ = mixture.precisions_cholesky_ / WIDER
    return mixture


def _power(prior: Array, likelihood: Array) -> float:
    """Return the power of the likelihood, up to 1, at which enough points have weight."""

    def surplus(power: float) -> float:
        return _effective(_weights(prior + power * likelihood)) - TEMPERED * len(prior)

    if surplus(1.0) >= 0:
        return 1.0
    if surplus(0.0) <= 0:
        return 0.0
    return float(brentq(surplus, 0.0, 1.0, xtol=1e-6))


def _weights(logarithms: Array) -> Array:
    return np.asarray(np.exp(logarithms - logsumexp(logarithms)), dtype=np.float64)


def _effective(weights: Array) -> float:
    """Return how many independent draws weighted points are worth (Kish)."""
    return float(1 / np.sum(weights**2))


def _drawn(weights: Array, count: int, random: np.random.Generator) -> Array:
    """Draw points by their weights, at even steps of the sum of weights."""
    steps = (np.arange(count) + random.random()) / count
    return np.searchsorted(np.cumsum(weights), np.minimum(steps, 1 - 1e-12)).clip(
        max=len(weights) - 1
    )
