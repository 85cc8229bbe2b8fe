"""What may be fitted: constants of hosts and cards that micro-benchmarks can tell.

What a data sheet, a configuration or the fabric itself says (rates, buffers, MTU) is no constant to
be fitted: it belongs into the scenario.
"""

import re
from typing import NamedTuple

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ps|ns|us|ms|s)")
_NANOSECONDS = {"ps": 1e-3, "ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


class Constant(NamedTuple):
    """A time of a scenario that measurements decide."""

    key: str
    """Dotted, in a scenario."""
    low_ns: float
    """Least value that is tried [ns]."""
    high_ns: float
    """Greatest [ns]."""
    meaning: str

    def setting(self, value_ns: float) -> str:
        """Write a value as a scenario has it."""
        return f"{round(value_ns)}ns"


_TCP = (
    Constant("host.cpu.interrupt", 50, 100_000, "from a frame's arrival to the interrupt handler"),
    Constant("host.cpu.send_call", 50, 50_000, "a send call"),
    Constant("host.cpu.receive_call", 50, 50_000, "a receive call"),
    Constant("host.cpu.send_per_kib", 5, 10_000, "copying 1 KiB to the kernel"),
    Constant("host.cpu.receive_per_kib", 5, 10_000, "copying 1 KiB from the kernel"),
    Constant("host.cpu.receive_batch", 20, 50_000, "interrupt side of a batch of frames"),
    Constant("host.mpi_tcp.send_overhead", 10, 50_000, "MPI's share of a send"),
    Constant("host.mpi_tcp.handling_overhead", 10, 50_000, "MPI's share of an arrived message"),
)
_ROCE = (
    Constant("nic.transmit_latency", 10, 20_000, "from doorbell to first bit"),
    Constant("nic.context_switch", 1, 2_000, "the card's change of connection"),
    Constant("host.mpi_roce.send_overhead", 5, 20_000, "MPI's share of a send"),
    Constant("host.mpi_roce.handling_overhead", 5, 20_000, "MPI's share of an arrived message"),
)
CONSTANTS: dict[str, tuple[Constant, ...]] = {"tcp": _TCP, "roce": _ROCE}
"""By the scenario's transport."""


def nanoseconds(duration: str) -> float:
    """Read a duration as a resolved scenario writes it [ns]."""
    found = _DURATION.fullmatch(duration)
    assert found, f"a duration that the core wrote: {duration}"
    return float(found[1]) * _NANOSECONDS[found[2]]
