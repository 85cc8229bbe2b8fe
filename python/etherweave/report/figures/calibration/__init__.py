"""The exhibits of a calibration: one file and one line each."""

from etherweave.report.calibration import Calibrated
from etherweave.report.exhibit import Maker
from etherweave.report.figures.calibration import constants, errors, iterations, tests

CALIBRATION: list[Maker[Calibrated]] = [
    errors.exhibit,
    iterations.exhibit,
    tests.latencies,
    tests.bandwidths,
    constants.exhibit,
]
"""In the order of the page; those without anything to show stay away."""
