"""Fit constants of hosts to micro-benchmarks, and compare predictions of other workloads."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from tomllib import loads
from typing import Any

import numpy as np
import polars as pl

import etherweave
from etherweave.bench.calibration.fit import Fit, Target, Vector, fit
from etherweave.bench.calibration.measured import MICRO, CalibrationError, MeasuredWorkload
from etherweave.bench.calibration.prediction import (
    CONSTANTS,
    DRAWN,
    Constant,
    Predictor,
    median_s,
    simulated,
    table,
)
from etherweave.bench.statistics.quantiles import median, median_interval
from etherweave.units import size_of, time_of

CALIBRATION_FILE = "calibration.json"
"""File of a calibration in its directory."""
SIZE_TESTS = ("osu_latency", "osu_bw")
"""Workloads that are drawn against the size of a message."""
SHARES = tuple(at / 20 for at in range(21))
"""Shares of iterations for quantiles, from the shortest to the longest."""
LEAST = 3
"""Least number of micro-benchmarks for a fit."""


@dataclass(frozen=True)
class CalibratedConstant:
    """A constant with its interval."""

    key: str
    meaning: str
    before_ns: float
    """Value of the scenario [ns]."""
    value_ns: float
    low_ns: float
    """Lower end of the 95 % interval, by launches' spread and the model's misfit [ns]."""
    high_ns: float
    """Upper end of the 95 % interval [ns]."""
    is_determined: bool
    """Whether the benchmarks determine it within a factor of two; else it keeps its value."""


@dataclass(frozen=True)
class ComparedWorkload:
    """A workload, measured and predicted: times of an iteration, or of all streams together."""

    name: str
    is_held_out: bool
    """Whether no constant was fitted to it."""
    launches: int
    measured_s: float
    """Median of the launches [s]."""
    measured_low_s: float
    """Its 95 % interval [s]; the extremes if there are few launches."""
    measured_high_s: float
    predicted_s: float
    predicted_low_s: float
    """Its interval by the intervals of the constants [s]."""
    predicted_high_s: float
    measured_median_s: float
    """Median of the launches' median iterations [s]."""
    predicted_median_s: float
    launches_s: tuple[float, ...] = ()
    """Of each launch [s]."""
    predicted_iterations_s: tuple[float, ...] = ()
    """Of a held-out workload, quantiles of its iterations at :data:`SHARES` [s]."""
    test: str = ""
    """Key of the workload in a scenario."""
    size_bytes: int | None = None
    """Of a message, if the workload is one of :data:`SIZE_TESTS` [bytes]."""
    window: int = 1
    """Messages of an iteration of ``osu_bw``."""

    @property
    def error(self) -> float:
        """Relative error of an iteration: 0.1 is a prediction that is 10 % too long."""
        return self.predicted_s / self.measured_s - 1

    @property
    def error_of_median(self) -> float:
        """Relative error of the median iteration."""
        return self.predicted_median_s / self.measured_median_s - 1

    def facts(self) -> dict[str, Any]:
        """Return it as values of JSON."""
        return {**vars(self), "error": self.error, "error_of_median": self.error_of_median}


@dataclass(frozen=True)
class Calibration:
    """Fitted constants, and workloads compared with their predictions."""

    constants: tuple[CalibratedConstant, ...]
    micro_benchmarks: tuple[ComparedWorkload, ...]
    held_out: tuple[ComparedWorkload, ...]

    @property
    def typical_error(self) -> float | None:
        """Median of the held-out workloads' absolute errors of their median iterations."""
        errors = [abs(one.error_of_median) for one in self.held_out]
        return median(errors) if errors else None

    @property
    def typical_error_of_mean(self) -> float | None:
        """Median of the held-out workloads' absolute errors of their mean iterations."""
        errors = [abs(one.error) for one in self.held_out]
        return median(errors) if errors else None

    @property
    def worst_error(self) -> float | None:
        """Largest absolute error of a held-out workload, of its mean or median iteration."""
        errors = [max(abs(one.error), abs(one.error_of_median)) for one in self.held_out]
        return max(errors, default=None)

    def facts(self) -> dict[str, Any]:
        """Return it as values of JSON; names end with the unit."""
        return {
            "constants": [vars(one) for one in self.constants],
            "micro_benchmarks": [one.facts() for one in self.micro_benchmarks],
            "held_out": [one.facts() for one in self.held_out],
            "typical_error": self.typical_error,
            "typical_error_of_mean": self.typical_error_of_mean,
            "worst_error": self.worst_error,
        }

    def settings(self) -> dict[str, str]:
        """Return the constants that were determined, as overrides of a scenario."""
        return {one.key: f"{round(one.value_ns)}ns" for one in self.constants if one.is_determined}


def calibrate(
    workloads: Sequence[MeasuredWorkload], report: Callable[[str], None] = lambda what: None
) -> Calibration:
    """Fit the constants of hosts to micro-benchmarks, and compare predictions of other workloads.

    Parameters
    ----------
    workloads
        All on the same fabric, with the same transport.
    report
        Called with a sentence about each step.

    Raises
    ------
    CalibrationError
        When there are too few micro-benchmarks, or one cannot be simulated to its end.
    """
    micro_benchmarks = [one for one in workloads if one.is_micro_benchmark]
    held_out = [one for one in workloads if not one.is_micro_benchmark]
    if len(micro_benchmarks) < LEAST:
        known = ", ".join(sorted(MICRO))
        raise CalibrationError(
            f"{len(micro_benchmarks)} micro-benchmarks; expected at least {LEAST} sizes of {known}"
        )
    constants = CONSTANTS[_common_transport(workloads)]
    calibrator = _Calibrator(Predictor(constants), micro_benchmarks)
    report(f"fitting {len(constants)} constants to {len(micro_benchmarks)} micro-benchmarks")
    fitted = calibrator.fit()
    report(f"predicting {len(held_out)} held-out workloads")
    return Calibration(
        calibrator.constants(fitted),
        tuple(calibrator.compared(one, fitted, is_held_out=False) for one in micro_benchmarks),
        tuple(calibrator.compared(one, fitted, is_held_out=True) for one in held_out),
    )


def _common_transport(workloads: Sequence[MeasuredWorkload]) -> str:
    """Return the transport that all measured workloads share."""
    first = _transport(workloads[0])
    for one in workloads:
        if (transport := _transport(one)) != first:
            raise CalibrationError(
                f"{one.name}: measured over {transport}, but {workloads[0].name} over {first}; "
                "expected one transport"
            )
    return first


def _transport(workload: MeasuredWorkload) -> str:
    (name,) = _resolved(workload)["transport"]
    return str(name)


def _resolved(workload: MeasuredWorkload) -> dict[str, Any]:
    """Return a workload's scenario with every default."""
    return loads(etherweave.resolve(workload.scenario))


class _Calibrator:
    def __init__(self, predictor: Predictor, micro_benchmarks: Sequence[MeasuredWorkload]) -> None:
        self.predictor, self.micro_benchmarks = predictor, micro_benchmarks
        resolved = _resolved(micro_benchmarks[0])
        before = [1e9 * time_of(_at(resolved, one.key)) for one in predictor.constants]
        self.before = np.array(before)

    def fit(self) -> Fit:
        constants = self.predictor.constants
        low = np.log([one.low_ns for one in constants])
        high = np.log([one.high_ns for one in constants])
        targets = [Target(benchmark.launches) for benchmark in self.micro_benchmarks]
        return fit(self._times, targets, np.log(np.maximum(self.before, 1.0)), low, high)

    def _times(self, values: Vector) -> Vector:
        return np.array(
            [self._log_seconds(benchmark, values) for benchmark in self.micro_benchmarks]
        )

    def _log_seconds(self, benchmark: MeasuredWorkload, values: Vector) -> float:
        try:
            return self.predictor.log_seconds(benchmark.scenario, values, benchmark.centre)
        except ValueError as error:
            raise CalibrationError(f"{benchmark.name}: {error}") from None

    def constants(self, fitted: Fit) -> tuple[CalibratedConstant, ...]:
        ends = np.exp(np.percentile(fitted.draws, DRAWN, axis=0))
        return tuple(
            self._fitted(constant, number, fitted, ends)
            for number, constant in enumerate(self.predictor.constants)
        )

    def _fitted(
        self, constant: Constant, number: int, fitted: Fit, ends: Vector
    ) -> CalibratedConstant:
        return CalibratedConstant(
            constant.key,
            constant.meaning,
            float(self.before[number]),
            float(np.exp(fitted.values[number])),
            float(ends[0, number]),
            float(ends[1, number]),
            bool(fitted.is_determined[number]),
        )

    def compared(
        self, one: MeasuredWorkload, fitted: Fit, *, is_held_out: bool
    ) -> ComparedWorkload:
        try:
            result = self.predictor.result(one.scenario, fitted.values)
            predicted = simulated(result, one.centre)
            ends = self.predictor.interval(one.scenario, fitted.values, fitted.draws, one.centre)
        except ValueError as error:
            raise CalibrationError(f"{one.name}: {error}") from None
        iterations = table(result, "iterations")
        middle = predicted if iterations.is_empty() else median_s(iterations)
        interval = median_interval(one.launches)
        test, size, window = _workload(loads(result.resolved))
        return ComparedWorkload(
            name=one.name,
            is_held_out=is_held_out,
            launches=len(one.launches),
            measured_s=median(one.launches),
            measured_low_s=interval.low if interval else min(one.launches),
            measured_high_s=interval.high if interval else max(one.launches),
            predicted_s=predicted,
            predicted_low_s=ends[0],
            predicted_high_s=ends[1],
            measured_median_s=median(one.medians),
            predicted_median_s=middle if one.medians != one.launches else predicted,
            launches_s=one.launches,
            predicted_iterations_s=_quantiles(iterations) if is_held_out else (),
            test=test,
            size_bytes=size,
            window=window,
        )


def _quantiles(iterations: pl.DataFrame) -> tuple[float, ...]:
    if iterations.is_empty():
        return ()
    found = np.quantile(iterations["duration_ns"].to_numpy() / 1e9, SHARES)
    return tuple(float(one) for one in found)


def _workload(resolved: dict[str, Any]) -> tuple[str, int | None, int]:
    """Return a scenario's only workload, and of :data:`SIZE_TESTS` the size and the window."""
    ((test, facts),) = dict(resolved["job"][0]["workload"]).items()
    if test not in SIZE_TESTS:
        return test, None, 1
    return test, size_of(facts["bytes"]), facts.get("window", 1)


def _at(resolved: dict[str, Any], key: str) -> str:
    value: Any = resolved
    for part in key.split("."):
        value = value[part]
    return str(value)
