"""Results as `etherweave measure` leaves them, with given times of iterations."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import polars as pl

import etherweave
from etherweave.api.results import Measured, Result, Summary
from etherweave.api.scenario import Overrides
from etherweave.bench.calibration import MeasuredWorkload
from etherweave.bench.calibration.measured import alone
from etherweave.bench.calibration.prediction import simulated

FOUR_HOSTS: dict[str, object] = {
    "name": "four",
    "topology": {"single_switch": {"hosts": 4, "rate": "10Gb/s"}},
    "transport": {"tcp": {}},
    "flow_control": {"none": {}},
}
"""A scenario without a job."""
LATENCY = {"name": "latency-8", "workload": {"osu_latency": {"bytes": "8B", "iterations": 30}}}


def measured(times_ns: Sequence[Sequence[float]]) -> Result:
    """Make a result of launches, each with the durations of its iterations [ns]."""
    simulated = etherweave.run(alone(FOUR_HOSTS, LATENCY))
    rows = [
        (turn, at, time) for turn, times in enumerate(times_ns) for at, time in enumerate(times)
    ]
    launches, numbers, durations = zip(*rows, strict=True)
    iterations = pl.DataFrame(
        {
            "job": ["latency-8"] * len(rows),
            "rank": pl.Series([0] * len(rows), dtype=pl.UInt64),
            "host": ["host0"] * len(rows),
            "iteration": pl.Series(numbers, dtype=pl.UInt64),
            "start_ns": [0.0] * len(rows),
            "duration_ns": durations,
            "launch": pl.Series(launches, dtype=pl.UInt64),
        }
    )
    streams = simulated.to_polars("streams").with_columns(launch=pl.lit(0, dtype=pl.UInt64))
    tables = {"iterations": iterations.to_arrow(), "streams": streams.to_arrow()}
    summary = measured_summary(simulated, measurement(len(times_ns)))
    return replace(simulated, tables=tables, summary=summary)


def slowed(simulated: Result, slower: Sequence[float], facts: Measured) -> Result:
    """Pretend that a simulation was measured in launches, each so many times slower."""
    launches = [(by, pl.lit(at, dtype=pl.UInt64).alias("launch")) for at, by in enumerate(slower)]
    time, rate = pl.col("duration_ns"), pl.col("goodput_gbps")
    rows, streams = simulated.to_polars("iterations"), simulated.to_polars("streams")
    tables = {
        "iterations": pl.concat([rows.with_columns(time * by, launch) for by, launch in launches]),
        "streams": pl.concat([streams.with_columns(rate / by, launch) for by, launch in launches]),
    }
    return replace(
        simulated,
        tables={name: table.to_arrow() for name, table in tables.items()},
        summary=measured_summary(simulated, facts),
    )


def measured_summary(simulated: Result, facts: Measured) -> Summary:
    """Return the summary of a simulation without the simulator's figures, as of a measurement."""
    kept = {key: simulated.summary.get(key) for key in Summary.__required_keys__}
    return cast("Summary", kept | {"finished": "complete", "fingerprint": None, "measured": facts})


def measurement(launches: int) -> Measured:
    """Return how a result was measured, for a number of launches."""
    return Measured(
        launcher="local",
        command=["mpirun"],
        compiler="cc",
        launches=launches,
        ranks=2,
        hosts=1,
        messages=0,
        payload_bytes=0,
        clock_error_ns_max=0.0,
        start_missed_ns_max=0.0,
    )


def measured_with(
    hidden: Overrides, name: str, scenario: dict[str, Any], seed: int
) -> MeasuredWorkload:
    """Play a cluster with hidden constants: six launches, which differ by 1 %."""
    true = simulated(etherweave.run(scenario, hidden), "mean")
    random = np.random.default_rng(seed)
    launches = tuple(true * float(np.exp(random.normal(0, 0.01))) for _ in range(6))
    return MeasuredWorkload(name, scenario, launches, launches, "mean")
