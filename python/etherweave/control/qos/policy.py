"""Policy of a fabric's switches and hosts, independent of their systems, as plain values.

A *priority* is what a frame carries and PFC pauses; a *traffic class* is the queue that ETS
serves. A lossless priority has a priority group, and headroom in it, of its own at every port.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from etherweave.api.code_points import octet

PRIORITIES = range(8)  # Priorities of 802.1Q.
DSCPS = range(64)  # Code points of RFC 2474.
EOS_POLLS = 2  # Polls within the shorter of both times of a watchdog that EOS requires.
TRIMMING = "switch.trimming"  # Key of a setting that files of SONiC alone have.
TRIMMED_CLASS = 8
"""SONiC's class of packets as they are trimmed, where ports give them a code point. No code point
maps to it, so that ports leave other packets as they are, those trimmed before among them."""


class PolicyError(ValueError):
    """A scenario needs what switches do not support: what, where, and what is expected."""


class WatchdogError(PolicyError):
    """Switches, or files of their system, do not have the watchdog of a scenario."""


class CapacityError(PolicyError):
    """The buffer of a scenario does not take the headroom that a device needs."""


class FlowControl(StrEnum):
    """Flow control of links."""

    NONE = "none"
    GLOBAL_PAUSE = "global_pause"
    PFC = "pfc"


@dataclass(frozen=True, slots=True)
class Priority:
    """A priority and its traffic."""

    number: int
    dscps: tuple[int, ...]  # Code points that switches map to it.
    mark: int  # The code point that hosts write.
    traffic_class: int  # The traffic class, and queue, that it maps to.
    is_lossless: bool

    @property
    def octet(self) -> int:
        """Traffic class octet of RoCE applications: the code point and ECT(0) (RFC 3168)."""
        return octet(self.mark)


@dataclass(frozen=True, slots=True)
class TrafficClass:
    """A queue of every port."""

    number: int
    weight: int
    """Share of the port [%]; 0: strict priority if the class is used, otherwise nothing."""
    is_used: bool
    """Whether a job or congestion notifications belong to it; without jobs, all lossless ones."""
    is_lossless: bool

    @property
    def kind(self) -> str:
        """How it is served: ``strict``, before all that have a weight, or ``ets``."""
        return "strict" if self.is_used and not self.weight else "ets"

    @property
    def is_scheduled(self) -> bool:
        """Whether it has a scheduler: all but lossy, unused ones without a weight."""
        return bool(self.weight) or self.is_used or self.is_lossless


@dataclass(frozen=True, slots=True)
class Marking:
    """ECN marking of lossless queues; where there are none, of those that jobs use."""

    minimum_bytes: int
    maximum_bytes: int
    percent: int  # Share of packets marked just below the maximum.


@dataclass(frozen=True, slots=True)
class Threshold:
    """Limit of a group or queue in the shared pool; one of both is given."""

    alpha: float | None  # Limit as a multiple of the free memory.
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class BufferPolicy:
    """Packet memory of every switch."""

    buffer_bytes: int
    reserve_bytes: int  # Reserve per port and lossless priority; per port for all lossy ones.
    xon_offset_bytes: int
    ingress: Threshold
    egress: Threshold


@dataclass(frozen=True, slots=True)
class SonicForm:
    """Parts of SONiC's configuration."""

    is_whole: bool = False
    """Whether it has PORT, PORTCHANNEL and DEVICE_METADATA, for a switch without configuration."""
    is_dynamic: bool = False  # The switch computes headroom itself, in the dynamic buffer model.
    over_subscription: int = 0
    """Sum of headroom over a pool that all groups share; 0: each group has its own."""


@dataclass(frozen=True, slots=True)
class Watchdog:
    """Times after which a paused queue is dropped and restored."""

    detect_ms: int
    restore_ms: int
    poll_ms: int
    action: str = "drop"  # ``drop``, ``forward`` or ``alert``.

    def poll_within(self, polls: int) -> int:
        """Return the time of a poll of which ``polls`` fit into both other times [ms]."""
        return min(self.poll_ms, self.detect_ms // polls, self.restore_ms // polls)


@dataclass(frozen=True, slots=True)
class Trimming:
    """Headers of packets that find no room, which go on in a queue of their own."""

    size_bytes: int
    dscp: int  # Their code point.
    last_hop_dscp: int  # That of packets trimmed on the way to a host.
    priority: int
    queue: int  # Queue in the switch that trims.
    next_queue: int  # Queue in those that follow, by the code point.

    @property
    def is_by_class(self) -> bool:
        """Whether ports have code points of their own."""
        return self.dscp != self.last_hop_dscp

    def mark(self, *, is_last_hop: bool) -> int:
        """Return the code point of packets trimmed on their way to a host, or to a switch."""
        return self.last_hop_dscp if is_last_hop else self.dscp


@dataclass(frozen=True, slots=True)
class CagePort:
    """Place of a port on the front: a cage, or a part of one that is broken out."""

    cage: int  # Number on the front, from 1.
    first_lane: int  # First lane of the cage on the switch, from 0.
    cage_lanes: int
    legs: int = 1  # Ports of the cage.
    leg: int = 0

    def __post_init__(self) -> None:
        """Reject parts that a cage does not have."""
        if not (0 <= self.leg < self.legs <= self.cage_lanes):
            text = f"part {self.leg} of {self.legs} of a cage of {self.cage_lanes} lanes"
            raise ValueError(f"{text}; expected a lane at least for each part, counted from 0")

    @property
    def lanes(self) -> range:
        """Lanes of the port on the switch."""
        width = self.cage_lanes // self.legs
        first = self.first_lane + self.leg * width
        return range(first, first + width)


@dataclass(frozen=True, slots=True)
class HostPorts:
    """Kind of all ports that lead to hosts."""

    vlan: int | None  # VLAN of access ports; none: ports are routed.


@dataclass(frozen=True, slots=True)
class PortPolicy:
    """A port of a switch and the device at the other end of its cable."""

    number: int  # Number of the port, from 0.
    peer: str
    peer_port: int
    is_host: bool
    rate_mbps: int
    length_m: float
    cable_m: int  # The length that tables of switches have for it: rounded up [m].
    headroom_bytes: int  # Headroom of each lossless priority, for ``cable_m``.
    bundle: int | None
    """The port channel that it belongs to, from 1: links in parallel to one switch."""
    place: CagePort | None = None  # Its cage, if the front panel is known.

    @property
    def cage(self) -> int:
        """Number of its cage, from 1; every port has one where the panel is not known."""
        return self.place.cage if self.place else self.number + 1

    @property
    def is_leg(self) -> bool:
        """Whether its cage is broken out."""
        return self.place is not None and self.place.legs > 1


@dataclass(frozen=True)
class SwitchPolicy:
    """A switch."""

    name: str
    pool_bytes: int  # Shared by its ports, reserves and headroom taken off.
    ports: tuple[PortPolicy, ...]

    @cached_property
    def rate_max_mbps(self) -> int:
        """Rate of the fastest port [Mb/s]."""
        return max((port.rate_mbps for port in self.ports), default=0)

    def place(self, port: PortPolicy) -> CagePort:
        """Return the cage of a port; lanes are those of the fastest where no panel is known.

        100G PAM4 makes eight lanes of 800G, 50G PAM4 eight of 400G.
        """
        lanes = 8 if self.rate_max_mbps >= 400_000 else 4
        return port.place or CagePort(port.number + 1, port.number * lanes, lanes)

    def bundles(self) -> dict[int, tuple[PortPolicy, ...]]:
        """Return the ports of every port channel, by its number."""
        numbers = sorted({port.bundle for port in self.ports if port.bundle is not None})
        return {at: tuple(port for port in self.ports if port.bundle == at) for at in numbers}

    def by_headroom(self) -> dict[int, tuple[PortPolicy, ...]]:
        """Return the ports by their headroom [B]."""
        return self._by(lambda port: port.headroom_bytes)

    def by_cable(self) -> dict[int, tuple[PortPolicy, ...]]:
        """Return the ports by the length of their cables [m]."""
        return self._by(lambda port: port.cable_m)

    def _by(self, value: Callable[[PortPolicy], int]) -> dict[int, tuple[PortPolicy, ...]]:
        values = sorted({value(port) for port in self.ports})
        return {own: tuple(port for port in self.ports if value(port) == own) for own in values}


@dataclass(frozen=True, slots=True)
class HostPolicy:
    """A port of a host, and the port of a switch that it is plugged into."""

    name: str  # The host's; host0.1 where the host has several ports.
    switch: str
    switch_port: int


@dataclass(frozen=True, slots=True)
class JobPolicy:
    """A job and the priority of its traffic."""

    name: str
    priority: int


@dataclass(frozen=True, slots=True)
class Policy:
    """Policy of a fabric."""

    name: str
    device: str  # Profile of the switches.
    flow_control: FlowControl
    priorities: tuple[Priority, ...]  # All eight.
    classes: tuple[TrafficClass, ...]  # All eight.
    marking: Marking | None
    memory: BufferPolicy
    watchdog: Watchdog | None
    trimming: Trimming | None  # Trimming of packets in other lossy queues.
    sonic: SonicForm
    mtu_bytes: int  # Above Ethernet, of hosts and switches.
    is_roce: bool
    cnp_dscp: int | None  # Code point of congestion notifications, if NICs send them.
    routing: str
    routing_priorities: int
    """Number of lossless priorities that the routing's deadlock proof needs."""
    raised: tuple[int, ...]
    """Priorities through which switches raise lossless frames for it, in order."""
    switches: tuple[SwitchPolicy, ...]
    hosts: tuple[HostPolicy, ...]
    jobs: tuple[JobPolicy, ...]
    notes: tuple[str, ...]  # Differences between scenario and configuration that systems force.
    host_ports: HostPorts | None = None  # None: as they are.

    @property
    def lossless(self) -> tuple[Priority, ...]:
        """The lossless priorities."""
        return tuple(priority for priority in self.priorities if priority.is_lossless)

    @property
    def marked(self) -> tuple[int, ...]:
        """The classes with marks: the lossless ones; without any, those of jobs."""
        if self.marking is None:
            return ()
        lossless = [each.number for each in self.classes if each.is_lossless]
        of_jobs = {self.priorities[job.priority].traffic_class for job in self.jobs}
        scheduled = [each.number for each in self.classes if each.is_scheduled]
        return tuple(lossless or sorted(of_jobs) or scheduled)

    @property
    def is_pfc(self) -> bool:
        """Whether single priorities are paused."""
        return self.flow_control is FlowControl.PFC

    def priority_of_dscp(self) -> dict[int, int]:
        """Return the priority of every code point."""
        pairs = ((dscp, priority.number) for priority in self.priorities for dscp in priority.dscps)
        return dict(sorted(pairs))

    def group_of_priority(self) -> dict[int, int]:
        """Return the priority group of every priority: its own if lossless, else the lossy one."""
        lossy = self.lossy_group()
        return {
            priority.number: priority.number if priority.is_lossless or lossy is None else lossy
            for priority in self.priorities
        }

    def access_vlan(self, switch: SwitchPolicy) -> int | None:
        """Return the VLAN of a switch's access ports; none where it has no such ports."""
        has_hosts = any(port.is_host for port in switch.ports)
        return self.host_ports.vlan if self.host_ports and has_hosts else None

    def lossy_group(self) -> int | None:
        """Return the group of all lossy priorities: the first that no lossless one has."""
        lossy = (priority.number for priority in self.priorities if not priority.is_lossless)
        return min(lossy, default=None)


def ranges(numbers: list[int]) -> list[tuple[int, int]]:
    """Join numbers that follow each other: 1, 2, 3, 5 are (1, 3), (5, 5)."""
    joined: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if joined and number == joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], number)
        else:
            joined.append((number, number))
    return joined
