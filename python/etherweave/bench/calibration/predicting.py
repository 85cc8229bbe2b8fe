"""What the simulator foretells of workloads, with constants as they are tried."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

import etherweave
from etherweave.bench.calibration.constants import Constant
from etherweave.bench.calibration.fit import DRAWS, STEP, Vector
from etherweave.bench.calibration.probes import Centre, seconds
from etherweave.results import Result

DRAWN = (2.5, 97.5)
"""Ends of an interval [%]."""


class Forecaster:
    """Simulates one scenario after another with given constants.

    Parameters
    ----------
    constants
        Whose values vary.
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
            When it is wrong.
        """
        return etherweave.run(scenario, self.settings(values))

    def log_seconds(self, scenario: Mapping[str, object], values: Vector, centre: Centre) -> float:
        """Foretell the logarithm of a launch's time."""
        return float(np.log(simulated(self.result(scenario, values), centre)))

    def interval(
        self, scenario: Mapping[str, object], values: Vector, draws: Vector, centre: Centre
    ) -> tuple[float, float]:
        """Tell how far the interval of the constants moves a time [s].

        By its derivatives at the fitted values: constants that were held have none.
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
    """Tell the time of a simulated launch [s].

    Raises
    ------
    ValueError
        When it did not come to its end.
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
    """Tell the median iteration [s]."""
    return float(iterations["duration_ns"].median()) / 1e9  # type: ignore[arg-type]


def table(result: Result, name: str) -> pl.DataFrame:
    """Give a table of a result, without rows when there is none."""
    if name not in result.tables:
        return pl.DataFrame()
    frame = pl.from_arrow(result.tables[name])
    assert isinstance(frame, pl.DataFrame)
    return frame
