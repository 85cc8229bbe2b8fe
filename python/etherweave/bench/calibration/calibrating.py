"""From measurements to constants, and how well these foretell what they were not fitted to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from tomllib import loads
from typing import Any

import numpy as np
import polars as pl

import etherweave
from etherweave.bench.amounts import size_of
from etherweave.bench.calibration.constants import CONSTANTS, Constant, nanoseconds
from etherweave.bench.calibration.fit import Fit, Target, Vector, fit
from etherweave.bench.calibration.observations import MICRO, CalibrationError, Observation
from etherweave.bench.calibration.predicting import (
    DRAWN,
    Forecaster,
    median_s,
    simulated,
    table,
)
from etherweave.bench.statistics.quantiles import median, median_interval

FOUND = "calibration.json"
"""Holds a calibration."""
BY_SIZE = ("osu_latency", "osu_bw")
"""Tests that are drawn against the size of a message."""
SHARES = tuple(at / 20 for at in range(21))
"""Of iterations: from the shortest to the longest."""
LEAST = 3
"""Probes without which nothing is fitted."""


@dataclass(frozen=True)
class Fitted:
    """A constant."""

    key: str
    meaning: str
    before_ns: float
    """What the scenario says [ns]."""
    value_ns: float
    low_ns: float
    """Where the 95 % interval begins: chance of launches, and what the model leaves unexplained."""
    high_ns: float
    is_determined: bool
    """Whether the probes tell it within a factor of two; else it stays what it was."""


@dataclass(frozen=True)
class Compared:
    """A workload, measured and foretold. Times of an iteration, or of all streams together."""

    name: str
    is_held_out: bool
    """Whether no constant was fitted to it."""
    launches: int
    measured_s: float
    """Median of the launches [s]."""
    measured_low_s: float
    """Its interval [s]; of few launches their extremes."""
    measured_high_s: float
    foretold_s: float
    foretold_low_s: float
    """As far as the constants' interval moves it [s]."""
    foretold_high_s: float
    measured_median_s: float
    """Median of the launches' median iterations [s]."""
    foretold_median_s: float
    launches_s: tuple[float, ...] = ()
    """Of each launch [s]."""
    foretold_iterations_s: tuple[float, ...] = ()
    """Of a held-out workload, :data:`SHARES` of whose iterations take at most so long [s]."""
    test: str = ""
    """What its workload is called in a scenario."""
    size_bytes: int | None = None
    """Of a message, where the workload is one of :data:`BY_SIZE` [bytes]."""
    window: int = 1
    """Messages of an iteration of ``osu_bw``."""

    @property
    def error(self) -> float:
        """Of an iteration: 0.1 means foretold 10 % too long."""
        return self.foretold_s / self.measured_s - 1

    @property
    def error_of_median(self) -> float:
        """Of the median iteration."""
        return self.foretold_median_s / self.measured_median_s - 1

    def facts(self) -> dict[str, Any]:
        """Give it as JSON can hold it."""
        return {**vars(self), "error": self.error, "error_of_median": self.error_of_median}


@dataclass(frozen=True)
class Calibration:
    """What a calibration found."""

    constants: tuple[Fitted, ...]
    probes: tuple[Compared, ...]
    held_out: tuple[Compared, ...]

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
        """Give it as JSON can hold it; times in the units of their names."""
        return {
            "constants": [vars(one) for one in self.constants],
            "probes": [one.facts() for one in self.probes],
            "held_out": [one.facts() for one in self.held_out],
            "typical_error": self.typical_error,
            "typical_error_of_mean": self.typical_error_of_mean,
            "worst_error": self.worst_error,
        }

    def settings(self) -> dict[str, str]:
        """Give the constants that were determined, as overrides of a scenario."""
        return {one.key: f"{round(one.value_ns)}ns" for one in self.constants if one.is_determined}


def calibrate(
    observations: Sequence[Observation], tell: Callable[[str], None] = lambda what: None
) -> Calibration:
    """Fit the constants of hosts to micro-benchmarks, and hold the fitted against other workloads.

    Parameters
    ----------
    observations
        All on the same fabric, with the same transport.
    tell
        Called with what is done next.

    Raises
    ------
    CalibrationError
        When there are too few probes, or one cannot be simulated to its end.
    """
    probes = [one for one in observations if one.is_probe]
    held_out = [one for one in observations if not one.is_probe]
    if len(probes) < LEAST:
        known = ", ".join(sorted(MICRO))
        raise CalibrationError(
            f"{len(probes)} micro-benchmarks; expected at least {LEAST} sizes of {known}"
        )
    constants = CONSTANTS[_common_transport(observations)]
    work = _Work(Forecaster(constants), probes)
    tell(f"fitting {len(constants)} constants to {len(probes)} micro-benchmarks")
    found = work.fit()
    tell(f"foretelling {len(held_out)} held-out workloads")
    return Calibration(
        work.constants(found),
        tuple(work.compared(one, found, is_held_out=False) for one in probes),
        tuple(work.compared(one, found, is_held_out=True) for one in held_out),
    )


def _common_transport(observations: Sequence[Observation]) -> str:
    """Tell the transport of all, whose constants are fitted."""
    first = _transport(observations[0])
    for one in observations:
        if (transport := _transport(one)) != first:
            raise CalibrationError(
                f"{one.name}: measured over {transport}, but {observations[0].name} over {first}; "
                "expected one transport"
            )
    return first


def _transport(observation: Observation) -> str:
    (name,) = _resolved(observation)["transport"]
    return str(name)


def _resolved(observation: Observation) -> dict[str, Any]:
    """Give an observation's scenario with every default."""
    return loads(etherweave.resolve(observation.scenario))


class _Work:
    def __init__(self, forecaster: Forecaster, probes: Sequence[Observation]) -> None:
        self.forecaster, self.probes = forecaster, probes
        resolved = _resolved(probes[0])
        self.before = np.array(
            [nanoseconds(_at(resolved, one.key)) for one in forecaster.constants]
        )

    def fit(self) -> Fit:
        constants = self.forecaster.constants
        low = np.log([one.low_ns for one in constants])
        high = np.log([one.high_ns for one in constants])
        targets = [Target(probe.launches) for probe in self.probes]
        return fit(self._times, targets, np.log(np.maximum(self.before, 1.0)), low, high)

    def _times(self, values: Vector) -> Vector:
        return np.array([self._log_seconds(probe, values) for probe in self.probes])

    def _log_seconds(self, probe: Observation, values: Vector) -> float:
        try:
            return self.forecaster.log_seconds(probe.scenario, values, probe.centre)
        except ValueError as error:
            raise CalibrationError(f"{probe.name}: {error}") from None

    def constants(self, found: Fit) -> tuple[Fitted, ...]:
        ends = np.exp(np.percentile(found.draws, DRAWN, axis=0))
        return tuple(
            self._fitted(constant, number, found, ends)
            for number, constant in enumerate(self.forecaster.constants)
        )

    def _fitted(self, constant: Constant, number: int, found: Fit, ends: Vector) -> Fitted:
        return Fitted(
            constant.key,
            constant.meaning,
            float(self.before[number]),
            float(np.exp(found.values[number])),
            float(ends[0, number]),
            float(ends[1, number]),
            bool(found.is_determined[number]),
        )

    def compared(self, one: Observation, found: Fit, *, is_held_out: bool) -> Compared:
        try:
            result = self.forecaster.result(one.scenario, found.values)
            foretold = simulated(result, one.centre)
            ends = self.forecaster.interval(one.scenario, found.values, found.draws, one.centre)
        except ValueError as error:
            raise CalibrationError(f"{one.name}: {error}") from None
        iterations = table(result, "iterations")
        middle = foretold if iterations.is_empty() else median_s(iterations)
        interval = median_interval(one.launches)
        test, size, window = _workload(loads(result.resolved))
        return Compared(
            name=one.name,
            is_held_out=is_held_out,
            launches=len(one.launches),
            measured_s=median(one.launches),
            measured_low_s=interval.low if interval else min(one.launches),
            measured_high_s=interval.high if interval else max(one.launches),
            foretold_s=foretold,
            foretold_low_s=ends[0],
            foretold_high_s=ends[1],
            measured_median_s=median(one.medians),
            foretold_median_s=middle if one.medians != one.launches else foretold,
            launches_s=one.launches,
            foretold_iterations_s=_quantiles(iterations) if is_held_out else (),
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
    """Tell a scenario's only workload, and of a test by size its size and window."""
    ((test, facts),) = dict(resolved["job"][0]["workload"]).items()
    if test not in BY_SIZE:
        return test, None, 1
    return test, size_of(facts["bytes"]), facts.get("window", 1)


def _at(resolved: dict[str, Any], key: str) -> str:
    value: Any = resolved
    for part in key.split("."):
        value = value[part]
    return str(value)
