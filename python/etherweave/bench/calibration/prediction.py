"""Constants of hosts that are fitted, and predictions of workloads by the simulator for them.

Rates, buffers and MTU are not fitted: they stand in data sheets and configurations, and belong into
the scenario.
"""

from collections.abc import Mapping, Sequence
from tomllib import loads
from typing import NamedTuple

import numpy as np
import polars as pl

import etherweave
from etherweave.bench.calibration.fit import DRAWS, STEP, Vector
from etherweave.bench.calibration.micro_benchmarks import Centre, ChallengeTest, seconds
from etherweave.bench.challenge import figures
from etherweave.results import Result


class Constant(NamedTuple):
    """A time of a scenario that is fitted to measurements."""

    key: str
    """Dotted key of a scenario."""
    low_ns: float
    """Least value of the fit [ns]."""
    high_ns: float
    """Greatest value of the fit [ns]."""
    meaning: str
    """Description for tables."""

    def setting(self, value_ns: float) -> str:
        """Write a value as in a scenario."""
        return f"{round(value_ns)}ns"


_TCP = (
    Constant("host.cpu.interrupt", 50, 100_000, "from a frame's arrival to the interrupt handler"),
    Constant("host.cpu.send_call", 50, 50_000, "a send call"),
    Constant("host.cpu.receive_call", 50, 50_000, "a receive call"),
    Constant("host.cpu.send_per_kib", 5, 10_000, "copying 1 KiB to the kernel"),
    Constant("host.cpu.receive_per_kib", 5, 10_000, "copying 1 KiB from the kernel"),
    Constant("host.cpu.receive_batch", 20, 50_000, "interrupt side of a batch of frames"),
    Constant("host.mpi_tcp.send_overhead", 10, 50_000, "MPI's share of a send"),
    Constant("host.mpi_tcp.handling_overhead", 10, 50_000, "MPI's share of a received message"),
)
_ROCE = (
    Constant("nic.transmit_latency", 10, 20_000, "from doorbell to first bit"),
    Constant("nic.context_switch", 1, 2_000, "the NIC's change of connection"),
    Constant("host.mpi_roce.send_overhead", 5, 20_000, "MPI's share of a send"),
    Constant("host.mpi_roce.handling_overhead", 5, 20_000, "MPI's share of a received message"),
)
CONSTANTS: dict[str, tuple[Constant, ...]] = {"tcp": _TCP, "roce": _ROCE}
"""By the transport of the scenario."""


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
        self._last: tuple[object, Result] | None = None

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
        asked = (scenario, self.settings(values))
        if self._last is None or self._last[0] != asked:
            # Figures of one run, such as both of rings, follow each other.
            self._last = (asked, etherweave.run(*asked))
        return self._last[1]

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
    iterations = table(result, "iterations")
    if isinstance(centre, ChallengeTest):
        ((kind, facts),) = loads(result.resolved)["job"][0]["workload"].items()
        (took,) = (
            one.seconds for one in figures(kind, facts, iterations) if one.test == centre.test
        )
    else:
        took = seconds(iterations, table(result, "streams"), centre)
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
