"""Calibration: fit constants of hosts to micro-benchmarks, and test them on other workloads."""

from etherweave.bench.calibration.calibration import (
    Calibration,
    ComparedWorkload,
    FittedConstant,
    calibrate,
)
from etherweave.bench.calibration.measured import CalibrationError, MeasuredWorkload

__all__ = [
    "Calibration",
    "CalibrationError",
    "ComparedWorkload",
    "FittedConstant",
    "MeasuredWorkload",
    "calibrate",
]
