"""Predictions of workloads by the simulator, for given constants."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

import etherweave
from etherweave.bench.calibration.constants import Constant
from etherweave.bench.calibration.fit import DRAWS, STEP, Vector
from etherweave.bench.calibration.micro_benchmarks import Centre, seconds
from etherweave.results import Result

DRAWN = (2.5, 97.5)
"""Percentiles at the ends of an interval [%]."""


class Predictor:
    """Simulate one scenario after another with given constants.

    Parameters
    ----------
    constants
        Constants whose values vary.
    """

    def __init__(self, constants: Sequence[Constant]) -> None:
        self.constants = constants

    def settings(self, values: Vector) -> dict[str, object]:
        """Write logarithms of constants as overrides of a scenario."""
        pairs = zip(self.constants, np.exp(values), strict=True)
        return {constant.key: constant.setting(float(value)) for constant, value in pairs}

    def result(self, scenario: Mapping[str, object], values: Vector) -> Result:
        """Simulate a scenario.

        Raises
        ------
        ScenarioError
            When the scenario is wrong.
        """
        return etherweave.run(scenario, self.settings(values))

    def log_seconds(self, scenario: Mapping[str, object], values: Vector, centre: Centre) -> float:
        """Predict the logarithm of a launch's time."""
        return float(np.log(simulated(self.result(scenario, values), centre)))

    def interval(
        self, scenario: Mapping[str, object], values: Vector, draws: Vector, centre: Centre
    ) -> tuple[float, float]:
        """Return the interval of a time that follows from those of the constants [s].

        By derivatives at the fitted values; constants that were held have none.
        """
        middle = self.log_seconds(scenario, values, centre)
        moves = np.zeros(DRAWS)
        for number in np.flatnonzero(np.ptp(draws, axis=0) > 0):
            moved = values.copy()
            moved[number] += STEP
            slope = (self.log_seconds(scenario, moved, centre) - middle) / STEP
            moves += slope * (draws[:, number] - values[number])
        low, high = np.exp(middle + np.percentile(moves, DRAWN))
        return float(low), float(high)


def simulated(result: Result, centre: Centre) -> float:
    """Return the time of a simulated launch [s].

    Raises
    ------
    ValueError
        When the simulation did not end by itself.
    """
    if result.summary["finished"] != "complete":
        raise ValueError(f"the simulation is {result.summary['finished']}; expected its end")
    took = seconds(table(result, "iterations"), table(result, "streams"), centre)
    if took <= 0:
        raise ValueError(
            "simulated iterations take no time; expected ranks that send to each other"
        )
    return took


def median_s(iterations: pl.DataFrame) -> float:
    """Return the median iteration [s]."""
    return float(iterations["duration_ns"].median()) / 1e9  # type: ignore[arg-type]


def table(result: Result, name: str) -> pl.DataFrame:
    """Return a table of a result, empty if the result has none."""
    if name not in result.tables:
        return pl.DataFrame()
    frame = pl.from_arrow(result.tables[name])
    assert isinstance(frame, pl.DataFrame)
    return frame
