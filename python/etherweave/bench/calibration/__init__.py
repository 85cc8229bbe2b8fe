"""Calibration: constants of hosts from micro-benchmarks, tried on what they were not fitted to."""

from etherweave.bench.calibration.calibrating import Calibration, Compared, Fitted, calibrate
from etherweave.bench.calibration.observations import CalibrationError, Observation

__all__ = ["Calibration", "CalibrationError", "Compared", "Fitted", "Observation", "calibrate"]
