"""Gaussian-process emulator of simulated times: what the simulator would say, and how sure that is.

Rasmussen and Williams, *Gaussian Processes for Machine Learning*, 2006, by scikit-learn. The
logarithm of each time has a linear trend in the shares of the unknowns, a smooth rest with a length
of its own for each unknown, and steps, which are noise.
"""

import warnings
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cho_solve

from etherweave.bench.calibration.prior import Array

if TYPE_CHECKING:
    from sklearn.gaussian_process import GaussianProcessRegressor

_FACTORS = (1e-3, 1e3)  # Bounds of the parts of the kernel, relative to the variance of an output.
_LENGTHS = (0.2, 100.0)
"""Bounds of the lengths of the kernel, in standard deviations of the learnt points."""
_NOISE = (1e-7, 1.0)
"""Bounds of the part of the variance that is not smooth: steps of the simulator."""


class Emulator:
    """Prediction of logarithms of times, learnt from simulations.

    ``points`` are shares of the unknowns in each simulation, 0 to 1; ``times`` are logarithms of
    the simulated times, a column for each output.
    """

    def __init__(self, points: Array, times: Array) -> None:
        spread = points.std(axis=0)
        self._middle, self._spread = points.mean(axis=0), np.where(spread > 0, spread, 1.0)
        scaled = self._scaled(points)
        self._processes = [_learnt(scaled, column) for column in times.T]
        self._cautions = [_caution(process) for process in self._processes]

    def _scaled(self, points: Array) -> Array:
        return np.asarray((points - self._middle) / self._spread, dtype=np.float64)

    def predict(self, points: Array) -> tuple[Array, Array]:
        """Return means and standard deviations of the logarithms of times, a column an output."""
        scaled = self._scaled(points)
        predicts = [process.predict(scaled, return_std=True) for process in self._processes]
        means, deviations = (np.column_stack(columns) for columns in zip(*predicts, strict=True))
        return means, deviations * self._cautions


def _learnt(points: Array, times: Array) -> "GaussianProcessRegressor":
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel

    lengths = np.full(points.shape[1], 3.0)
    kernel = (
        ConstantKernel(1.0, _FACTORS) * RBF(lengths, _LENGTHS)
        + ConstantKernel(1.0, _FACTORS) * DotProduct(1.0, _FACTORS)
        + WhiteKernel(1e-4, _NOISE)
    )
    process = GaussianProcessRegressor(kernel, normalize_y=True)
    with warnings.catch_warnings():
        # An unknown without any effect has the largest length, which is no mistake.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return process.fit(points, times)


def _caution(process: "GaussianProcessRegressor") -> float:
    """Return by how much an output is predicted worse than its process says, at least 1.

    Each simulation is predicted from all others, in closed form (Rasmussen and Williams, 5.12): a
    time that has kinks, such as that of the slower one of two sides, is less smooth than learnt.
    """
    inverse = cho_solve((process.L_, True), np.eye(len(process.L_)))
    errors = process.alpha_ / np.sqrt(np.diag(inverse))
    return max(float(np.sqrt(np.mean(errors**2))), 1.0)
