"""Constants of hosts and NICs that micro-benchmarks can determine.

Rates, buffers and MTU are not fitted: they stand in data sheets and configurations, and belong into
the scenario.
"""

from typing import NamedTuple


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
