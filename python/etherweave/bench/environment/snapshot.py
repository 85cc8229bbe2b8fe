"""The state of a host at one moment, as values that can be written as JSON and read back."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from etherweave.api.inputs import decoded

FORMAT = 1


@dataclass(frozen=True)
class Gap:
    """Something that could not be read."""

    topic: str  # Topic that checks name.
    source: str  # The file or the command.
    reason: str


@dataclass(frozen=True)
class Processor:
    """The processors, those online."""

    model: str = ""
    online: str = ""  # List as Linux writes it: ``0-3,8``.
    governors: dict[str, int] = field(default_factory=dict)
    """How many processors have which; empty where the kernel does not scale frequencies."""
    frequency_hz_min: float | None = None  # Frequency of the slowest processor, now.
    frequency_hz_max: float | None = None  # The highest that the hardware has.
    smt: bool | None = None  # Whether several threads share a core.


@dataclass(frozen=True)
class NumaMemory:
    """The memory."""

    nodes: dict[str, str] = field(default_factory=dict)  # Processors of each NUMA node.
    balancing: bool | None = None  # Whether the kernel moves pages between nodes.


@dataclass(frozen=True)
class Load:
    """Other load of the host."""

    one_minute: float | None = None  # Load average.
    running: dict[str, int] = field(default_factory=dict)
    """Programs with threads that run or wait for a processor, without this one."""


@dataclass(frozen=True)
class ProcessPlacement:
    """Where this process may run, and its variables for communication libraries."""

    allowed: str = ""  # Processors, as Linux lists them.
    variables: dict[str, str] = field(default_factory=dict)
    """Environment variables of MPI, UCX, libfabric and NCCL."""


@dataclass(frozen=True)
class Pcie:
    """The PCIe slot of a NIC."""

    width: int  # Lanes in use.
    width_max: int  # Lanes of the NIC.
    speed: float  # Transfers per second and lane, now [GT/s].
    speed_max: float  # Highest rate of the NIC [GT/s].


@dataclass(frozen=True)
class NetworkInterface:
    """A network interface."""

    state: str = ""
    mtu: int | None = None
    rate: float | None = None  # Rate of the link [bit/s].
    duplex: str = ""
    driver: str = ""
    firmware: str = ""
    node: int | None = None  # NUMA node of the NIC.
    pcie: Pcie | None = None
    counters: dict[str, int] = field(default_factory=dict)
    """Counters of the kernel, by their names in ``statistics``."""
    driver_counters: dict[str, int] = field(default_factory=dict)
    """Counters of the driver, by its own names."""
    offloads: dict[str, bool] = field(default_factory=dict)
    pause_received: bool | None = None  # Whether it obeys global pause frames.
    pause_sent: bool | None = None
    fec: str = ""  # Forward error correction in use.
    pfc: tuple[int, ...] | None = None  # Priorities that may be paused; ``None`` where unknown.
    ecn: tuple[int, ...] | None = None
    """Priorities on which RoCE reacts to and reports ECN marks; ``None`` where unknown."""
    classes: dict[str, int] = field(default_factory=dict)  # Traffic classes by priority (ETS).
    dscp: dict[str, int] = field(default_factory=dict)
    """Priorities by the code point of packets (DCB APP)."""
    qdiscs: tuple[str, ...] = ()  # Kinds of its queueing disciplines, root first.


@dataclass(frozen=True)
class RdmaPort:
    """A port of an RDMA device."""

    state: str = ""
    link_layer: str = ""
    interface: str = ""
    gids: dict[str, str] = field(default_factory=dict)
    """Types by index, of those that are set: ``RoCE v2``."""
    counters: dict[str, int] = field(default_factory=dict)
    hardware_counters: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class RdmaDevice:
    """An RDMA device."""

    firmware: str = ""
    ports: dict[str, RdmaPort] = field(default_factory=dict)


@dataclass(frozen=True)
class NetworkPath:
    """The path to another host."""

    interface: str  # Interface that the routing uses.
    mtu: int  # Size of the packets that were sent with "do not fragment" [bytes].
    passes: bool  # Whether one was answered.
    message: str  # Message of ping if not.


@dataclass(frozen=True)
class Snapshot:
    """A host at one moment."""

    format: int
    host: str
    boot: str  # Differs after each start, and between hosts.
    taken_s: float  # Seconds since 1970.
    kernel: str = ""
    processor: Processor = field(default_factory=Processor)
    memory: NumaMemory = field(default_factory=NumaMemory)
    load: Load = field(default_factory=Load)
    placement: ProcessPlacement = field(default_factory=ProcessPlacement)
    interfaces: dict[str, NetworkInterface] = field(default_factory=dict)
    traffic: dict[str, int] = field(default_factory=dict)
    """Bytes received and sent by every interface, the loopback included."""
    rdma: dict[str, RdmaDevice] = field(default_factory=dict)
    tcp: dict[str, str] = field(default_factory=dict)  # Settings below ``net``, with dots.
    tcp_counters: dict[str, int] = field(default_factory=dict)
    paths: dict[str, NetworkPath] = field(default_factory=dict)
    """Paths to other hosts that were asked for."""
    gaps: tuple[Gap, ...] = ()

    def facts(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)


def snapshot(text: str) -> Snapshot:
    """Read a snapshot from JSON; raises ``ValueError`` when it is none, or of another format."""
    try:
        data = json.loads(text)
    except RecursionError:
        raise ValueError("nests too deeply for a snapshot") from None
    if isinstance(data, dict) and "snapshot" in data:
        data = data["snapshot"]
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ValueError(f"no snapshot of format {FORMAT}")
    return decoded(Snapshot, data, "snapshot")
