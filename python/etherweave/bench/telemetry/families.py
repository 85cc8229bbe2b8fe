"""Families of counters: names in tables and in Prometheus, units, meanings."""

from dataclasses import dataclass
from typing import NamedTuple

PREFIX = "etherweave"
_UNITS = {"s": "seconds", "j": "joules", "bytes": "bytes"}
"""Units in OpenMetrics, by the ends of columns' names."""


class Column(NamedTuple):
    """A counter: it only grows."""

    name: str  # Name in tables, with its unit at the end.
    meaning: str

    @property
    def unit(self) -> str:
        """Unit in OpenMetrics: ``seconds``, ``joules``, ``bytes``, or empty for a mere count."""
        return _UNITS.get(self.name.rpartition("_")[2], "")

    @property
    def is_whole(self) -> bool:
        """Whether it counts things, rather than an amount with fractions."""
        return self.unit not in ("seconds", "joules")


@dataclass(frozen=True)
class Family:
    """Counters of things of one kind."""

    name: str
    keys: tuple[str, ...]  # Keys of the things: columns of tables, labels in Prometheus.
    columns: tuple[Column, ...]

    def metric(self, column: Column) -> str:
        """Name a counter in OpenMetrics, where ``_total`` is added to it."""
        stem, _, _ = column.name.rpartition("_")
        name = column.name if column.is_whole else f"{stem}_{column.unit}"
        return f"{PREFIX}_{self.name}_{name}"


_BOTH_DIRECTIONS = (
    Column("received_bytes", "Bytes that arrived."),
    Column("sent_bytes", "Bytes that left."),
    Column("received_packets", "Packets that arrived."),
    Column("sent_packets", "Packets that left."),
)
_PAUSES = (
    Column("received_pauses", "Pause frames that arrived and stopped this host."),
    Column("sent_pauses", "Pause frames by which this host stopped its neighbour."),
)

PROCESSOR = Family(
    "processor",
    ("cpu",),
    (
        Column("user_s", "Time in programs."),
        Column("system_s", "Time in the kernel for programs."),
        Column("softirq_s", "Time in soft interrupts, among them the network's."),
        Column("irq_s", "Time in hard interrupts."),
        Column("stolen_s", "Time that a hypervisor gave to others."),
        Column("idle_s", "Time without work."),
    ),
)
INTERFACE = Family(
    "interface",
    ("interface",),
    (
        *_BOTH_DIRECTIONS,
        Column("received_drops", "Packets dropped after they arrived."),
        Column("sent_drops", "Packets dropped before they left."),
        Column("received_errors", "Packets that arrived damaged."),
        *_PAUSES,
    ),
)
PRIORITY = Family(
    "priority",
    ("interface", "priority"),
    (
        *_BOTH_DIRECTIONS,
        *_PAUSES,
        Column("paused_s", "Time for which received pauses stopped this priority."),
        Column("pausing_s", "Time for which sent pauses stopped this priority of the neighbour."),
    ),
)
RDMA = Family(
    "rdma",
    ("device", "port"),
    (
        *_BOTH_DIRECTIONS,
        Column("sent_cnps", "Congestion notifications sent."),
        Column("handled_cnps", "Congestion notifications received, at which the sender slows."),
        Column("marked_packets", "Packets that arrived with a mark of congestion."),
        Column("out_of_sequence", "Packets that arrived out of order: something was lost."),
        Column("sequence_errors", "Negative acknowledgements received: something was lost."),
        Column("timeouts", "Acknowledgements that did not come in time."),
        Column("out_of_buffer", "Packets dropped for lack of a receive request."),
    ),
)
ENERGY = Family(
    "energy",
    ("domain",),
    (Column("used_j", "Energy by the processor's model or meter (RAPL), or a host's meter."),),
)
FAMILIES = (PROCESSOR, INTERFACE, PRIORITY, RDMA, ENERGY)
