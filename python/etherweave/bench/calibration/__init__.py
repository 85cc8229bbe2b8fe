"""Calibration: infer unknowns of hosts from micro-benchmarks, and test them on other workloads."""

from etherweave.bench.calibration.calibration import (
    CalibratedChoice,
    CalibratedConstant,
    Calibration,
    ComparedWorkload,
    calibrate,
)
from etherweave.bench.calibration.measured import CalibrationError, MeasuredWorkload
from etherweave.bench.calibration.prior import Prior, UnknownKey

__all__ = [
    "CalibratedChoice",
    "CalibratedConstant",
    "Calibration",
    "CalibrationError",
    "ComparedWorkload",
    "MeasuredWorkload",
    "Prior",
    "UnknownKey",
    "calibrate",
]
