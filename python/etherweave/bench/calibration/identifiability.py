"""Identifiability: unknowns and directions of the posterior that data distinguish."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from etherweave.bench.calibration.prior import Array

KNOWN = 0.5
"""Deviation of the posterior over the prior's, up to which an unknown or a direction is known."""
SHARED = 0.3  # Correlation from which another unknown is named, by itself and with all others held.
SHARED_VARIANCE = 0.5
"""Part of an unknown's variance that is left if the others were known, up to which it is shared."""
LOADING_MIN = 0.1  # Part of a direction, squared, from which an unknown is named.
_EDGE = 1e-6


class Direction(NamedTuple):
    """A combination of unknowns that is independent of the other directions in the posterior."""

    width: float  # Deviation of the posterior over that of the prior, in normal scores.
    loadings: dict[str, float]
    """Coefficients of the unknowns that have a part in it, in normal scores."""


def scores(shares: Array) -> Array:
    """Return the standard normal scores of shares of 0 to 1."""
    return np.asarray(ndtri(np.clip(shares, _EDGE, 1 - _EDGE)), dtype=np.float64)


def rank_correlations(values: Array) -> Array:
    """Return the correlations of the normal scores of ranks in columns: a bent ridge is one."""
    ranks = np.argsort(np.argsort(values, axis=0), axis=0)
    return np.atleast_2d(np.corrcoef(ndtri((ranks + 0.5) / len(values)).T))


def partners(names: Sequence[str], shares: Array) -> dict[str, tuple[str, ...]]:
    """Name for each unknown the others that the measurements do not distinguish from it.

    The deviation of an unknown if the others were known is that of its normal scores given theirs,
    by the inverse of their correlations.
    """
    correlation = rank_correlations(shares)
    precision = np.linalg.inv(correlation + _EDGE * np.eye(len(names)))
    left = 1 / np.diag(precision)
    partial = -precision * np.sqrt(np.outer(left, left))
    strength = np.minimum(np.abs(partial), np.abs(correlation))
    groups = {}
    for at, name in enumerate(names):
        others = [
            (strength[at, other], names[other])
            for other in range(len(names))
            if other != at and strength[at, other] >= SHARED
        ]
        is_shared = left[at] <= SHARED_VARIANCE
        groups[name] = (
            tuple(other for _, other in sorted(others, reverse=True)) if is_shared else ()
        )
    return groups


def directions(names: Sequence[str], shares: Array) -> list[Direction]:
    """Return the principal directions of the posterior, the best known first.

    In the prior every direction has the deviation 1.
    """
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(scores(shares).T)))
    return [
        Direction(
            float(np.sqrt(max(value, 0.0))),
            {
                name: round(float(part), 3)
                for name, part in zip(names, vector, strict=True)
                if part**2 >= LOADING_MIN
            },
        )
        for value, vector in zip(values, vectors.T, strict=True)
    ]
