"""Calibration: fit constants of hosts to micro-benchmarks, and test them on other workloads."""

from etherweave.bench.calibration.calibration import (
    CalibratedConstant,
    Calibration,
    ComparedWorkload,
    calibrate,
)
from etherweave.bench.calibration.measured import CalibrationError, MeasuredWorkload

__all__ = [
    "CalibratedConstant",
    "Calibration",
    "CalibrationError",
    "ComparedWorkload",
    "MeasuredWorkload",
    "calibrate",
]
