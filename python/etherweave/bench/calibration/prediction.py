"""Constants of hosts that profiles say nothing of, and times of simulated launches.

Rates, buffers and MTU are not inferred: they stand in data sheets and configurations, and belong
into the scenario.
"""

from tomllib import loads
from typing import NamedTuple

import polars as pl

from etherweave.api.results import Result
from etherweave.bench.calibration.micro_benchmarks import Centre, ChallengeTest, seconds
from etherweave.measurements.challenge import figures


class Constant(NamedTuple):
    """A time of a scenario that documents may say nothing of."""

    key: str  # Dotted key of a scenario.
    low_ns: float  # Least value where no profile has a distribution [ns].
    high_ns: float  # Greatest value there [ns].
    meaning: str  # Description for tables.


_TCP = (
    Constant("host.cpu.interrupt", 50, 100_000, "from a frame's arrival to the interrupt handler"),
    Constant("host.cpu.send_call", 50, 50_000, "a send call"),
    Constant("host.cpu.receive_call", 50, 50_000, "a receive call"),
    Constant("host.cpu.send_per_kib", 5, 10_000, "copying 1 KiB to the kernel"),
    Constant("host.cpu.receive_per_kib", 5, 10_000, "copying 1 KiB from the kernel"),
    Constant("host.cpu.receive_batch", 20, 50_000, "interrupt side of a batch of frames"),
    Constant("host.mpi_tcp.send_overhead", 10, 50_000, "MPI's share of a send"),
    Constant("host.mpi_tcp.handling_overhead", 10, 50_000, "MPI's share of a received message"),
    Constant("host.mpi_tcp.poll", 20, 50_000, "looking for messages where there are none"),
)
_ROCE = (
    Constant("nic.transmit_latency", 10, 20_000, "from doorbell to first bit"),
    Constant("nic.context_switch", 1, 2_000, "the NIC's change of connection"),
    Constant("host.mpi_roce.send_overhead", 5, 20_000, "MPI's share of a send"),
    Constant("host.mpi_roce.handling_overhead", 5, 20_000, "MPI's share of a received message"),
)
CONSTANTS: dict[str, tuple[Constant, ...]] = {"tcp": _TCP, "roce": _ROCE}
"""Constants by the transport of the scenario."""


def simulated(result: Result, centre: Centre) -> float:
    """Return the time of a simulated launch [s].

    Raises ``ValueError`` when the simulation did not end by itself.
    """
    if result.summary["finished"] != "complete":
        raise ValueError(f"the simulation is {result.summary['finished']}; expected its end")
    iterations = table(result, "iterations")
    if isinstance(centre, ChallengeTest):
        ((kind, facts),) = loads(result.resolved)["job"][0]["workload"].items()
        (took,) = (
            row.seconds for row in figures(kind, facts, iterations) if row.test == centre.test
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
