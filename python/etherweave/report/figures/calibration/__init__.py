"""The sections of a calibration: one file and one line each."""

from etherweave.report.calibration import Calibrated
from etherweave.report.figures.calibration import constants, errors, iterations, tests
from etherweave.report.section import Builder

CALIBRATION: list[Builder[Calibrated]] = [
    errors.section,
    iterations.section,
    tests.latencies,
    tests.bandwidths,
    constants.section,
]
"""In the order of the page; those without anything to show stay away."""
