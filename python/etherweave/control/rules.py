"""Plans of switches as plain values: rules, groups, meters, and their ports.

Names of fields are those of OpenFlow 1.3 (OXM, section 7.2.3.7): ``in_port``, ``metadata``,
``eth_dst``, ``vlan_pcp``, ``arp_tpa``. Values are whole numbers, most significant octet first: a
MAC address has 48 bits, an IPv4 address 32. Ports are OpenFlow's, from 1.

Values are not checked here: :mod:`etherweave.control.plan` makes them.
"""

import json
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import IPv4Network
from typing import Literal, NamedTuple, TypeAlias

from etherweave.api.units import counted

IN_PORT = 0xFFFFFFF8  # Back to the port of entry (OpenFlow 1.3, ``OFPP_IN_PORT``).
CONTROLLER = 0xFFFFFFFD  # Port to the controllers of the switch (``OFPP_CONTROLLER``).

INGRESS_ACL_TABLE = 0  # Ingress ACL: control frames, DMP, anti-spoofing.
UNKNOWN_DESTINATION_TABLE = 1
"""Drops frames to addresses that no host has, before they enter the fabric."""
SERVICE_TABLE = 2  # ARP; all other packets get the pause vector as metadata.
FORWARD_TABLE = 3  # Groups, and the flow table of the design.
CLASS_TABLE = 4  # Changes the priority of lossless packets to that of the rule that forwards them.

CLASS_BIT = 61
"""The lowest bit of the metadata in which rules write the priority of lossless packets: its place
in ``control.priorities``, from 0, in three bits; pauses have the bits below."""
CLASS_MASK = 7 << CLASS_BIT


Protocol: TypeAlias = Literal["openflow13", "openflow10"]  # Versions of OpenFlow.


class MatchField(NamedTuple):
    """A field that a rule matches, with its value."""

    field: str  # Its name in OpenFlow.
    value: int  # Its value where the mask is set.
    mask: int | None = None  # Bits that are compared; None: all.


@dataclass(frozen=True, slots=True)
class Output:
    """Sends the packet."""

    port: int


@dataclass(frozen=True, slots=True)
class SetField:
    """Writes a field of the packet."""

    field: str
    value: int


@dataclass(frozen=True, slots=True)
class Move:
    """Copies bits from one field of the packet to another (Nicira's ``reg_move``)."""

    source: str
    source_bit: int  # The least significant bit that is copied.
    target: str
    target_bit: int
    bits: int


@dataclass(frozen=True, slots=True)
class ToGroup:
    """Sends the packet to a group."""

    group: int


Action: TypeAlias = Output | SetField | Move | ToGroup


@dataclass(frozen=True, slots=True)
class WriteMetadata:
    """Writes bits of the packet's metadata."""

    value: int
    mask: int


@dataclass(frozen=True, slots=True)
class GoTo:
    """Continues in a later table."""

    table: int


@dataclass(frozen=True, slots=True)
class UseMeter:
    """Drops the packet when its meter's rate is exceeded."""

    meter: int


@dataclass(frozen=True, slots=True)
class WriteActions:
    """Applies actions when no table follows any more."""

    actions: tuple[Action, ...]


Instruction: TypeAlias = WriteMetadata | GoTo | UseMeter | WriteActions


class Purpose(StrEnum):
    """Purpose of a rule; rules are counted by it."""

    FORWARD = "forward"  # A rule of the flow table: minimal routing, or a default rule.
    ALTERNATIVE = "alternative"  # A rule of the flow table that stands in for a default rule.
    WAIT = "wait"
    """A rule of the flow table without its condition: keeps a packet on its default port when all
    its ports are paused."""
    PAUSE_VECTOR = "pause_vector"  # Writes the pause vector.
    INGRESS_ACL = "ingress_acl"  # Accepts what a port may send.
    PRIORITY = "priority"
    """Accepts it in another priority, so that pauses cannot form a deadlock cycle."""
    KNOWN_DESTINATION = "known_destination"  # Accepts frames to addresses that hosts have.
    DMP = "dmp"  # Replies to requests of the Dynamic MAC Protocol, or drops them.
    BROADCAST = "broadcast"
    """Forwards frames to groups: ARP, neighbour discovery, announcements of services."""
    RESOLVE = "resolve"  # Replies to ARP requests in the switch, or hands them to the controller.
    REWRITE = "rewrite"  # Translates between factory addresses and hierarchical ones.
    CONTROL = "control"
    """Frames that stay on their link: LLDP, PAUSE, PFC, and others to reserved addresses."""


class FlowRule(NamedTuple):
    """A flow entry."""

    table: int
    priority: int  # The highest that matches decides; overlapping rules have different ones.
    match: tuple[MatchField, ...]  # All must match; in the order of OpenFlow's prerequisites.
    actions: tuple[Action, ...]  # Applied in order.
    instructions: tuple[Instruction, ...] = ()  # Steps after the actions.
    purpose: Purpose = Purpose.FORWARD

    def matched(self, name: str) -> int | None:
        """Return the value of a field that it matches; None: any."""
        return next((field.value for field in self.match if field.field == name), None)

    @property
    def steps(self) -> tuple[Action, ...]:
        """Actions that it applies, at once or after all tables."""
        written = (step.actions for step in self.instructions if isinstance(step, WriteActions))
        return (*self.actions, *next(written, ()))


class Group(NamedTuple):
    """Ports of which a hash of the packet's flow selects one (``OFPGT_SELECT``)."""

    number: int
    ports: tuple[int, ...]


class Meter(NamedTuple):
    """Drops packets above a rate."""

    number: int
    packets_per_s: int
    burst_packets: int


@dataclass(frozen=True, slots=True)
class PortPlan:
    """A port and the device at the other end of its cable."""

    number: int
    node: str  # Name of the host or switch at the other end.
    node_port: int  # Its port there; a host's is 1.
    is_host: bool


@dataclass(frozen=True, slots=True)
class SwitchPlan:
    """Rules, groups and meters of a switch."""

    name: str
    datapath_id: int  # Number from 1; Open vSwitch does not accept 0.
    ports: tuple[PortPlan, ...]
    rules: tuple[FlowRule, ...]
    groups: tuple[Group, ...]
    meters: tuple[Meter, ...]
    pause_bits: dict[int, int]
    """Metadata bit set while a port is paused, by port that conditional rules depend on."""
    protocol: Protocol = "openflow13"  # Version of OpenFlow that the rules are written for.
    pause_classes: dict[int, int] = field(default_factory=dict)
    """Priority in which these rules send lossless packets, by the same ports, where rules
    write it and each priority has a pause vector."""


@dataclass(frozen=True, slots=True)
class HostPlan:
    """A port of a host and its addresses."""

    name: str  # The host's; host0.1 where the host has several ports.
    switch: str
    port: int  # Port of the switch.
    mac: int  # Hierarchical MAC address.
    ipv4: int | None  # Derived from the MAC address; None if the plan has no IPv4 addresses.
    host: str
    number: int = 0  # Number of the port, among those of the host.
    plane: int = 0  # The equal fabric that it is in.
    source: int = 0  # Its number among the sources of an open loop in that plane.


@dataclass(frozen=True, slots=True)
class FabricPlan:
    """Plans of all switches and hosts of a fabric."""

    name: str
    layout: str  # Fields of the addresses: "group 4 | switch 2 | host 1 (7 of 46 bits)".
    switches: tuple[SwitchPlan, ...]
    hosts: tuple[HostPlan, ...]  # A plan of each port of a host.

    @property
    def size(self) -> str:
        """Number of switches and of hosts, with that of their ports where it differs."""
        hosts, ports = len({host.host for host in self.hosts}), len(self.hosts)
        several = f" with {ports:,} ports" if ports > hosts else ""
        return f"{counted(len(self.switches), 'switch')}, {counted(hosts, 'host')}{several}"


@dataclass(frozen=True, slots=True)
class ControlSettings:
    """The table ``control`` of a scenario, every default written out."""

    rules: Literal["minimal", "conditional"]
    pauses: Literal["port", "class"]
    addresses: Literal["dmp", "rewrite"]
    resolution: Literal["broadcast", "responder", "manager"]
    anti_spoofing: Literal["none", "mac", "arp"]
    ipv4: str
    dmp_rate: int
    lldp_rate: int
    arp_rate: int = 1000
    protocol: Protocol = "openflow13"
    priorities: tuple[int, ...] = ()
    alternatives: int | None = None

    @classmethod
    def parse(cls, text: str) -> "ControlSettings":
        """Read the core's JSON."""
        fields = json.loads(text)
        return cls(**{**fields, "priorities": tuple(fields["priorities"])})

    @property
    def network(self) -> IPv4Network | None:
        """Prefix of IPv4 addresses; None: there are none."""
        return IPv4Network(self.ipv4) if self.ipv4 else None


class TableEntry(NamedTuple):
    """A rule of the flow table, in the columns of the core."""

    priority: int
    eth_dst: int
    eth_dst_mask: int
    eth_src: int
    eth_src_mask: int
    in_port: int  # 0: any.
    unless_paused: int  # 0: always active.
    ports: tuple[int, ...]
    is_alternative: bool
    waits: bool  # Whether packets may find it and all others inactive, it first.
    written: int
    """Priority that it gives to lossless packets, from 1 for the first of ``control.priorities``;
    0: it leaves theirs."""


class AddressPattern(NamedTuple):
    """Addresses that agree where the mask is set."""

    value: int
    mask: int


@dataclass(frozen=True, slots=True)
class SwitchDesign:
    """A switch as the core designed it: the input for its rules."""

    name: str
    datapath_id: int
    spec: ControlSettings
    ports: tuple[PortPlan, ...]
    hosts: tuple[HostPlan, ...]  # On this switch, by port.
    tree_ports: tuple[int, ...]  # Ports of broadcasts: hosts, and links of the spanning tree.
    raising_ports: frozenset[int]  # Ports at which the priority of arriving frames is raised.
    diverting_ports: frozenset[int]
    """Ports whose packets may take another rule while the first is inactive."""
    entries: tuple[TableEntry, ...]
    known: tuple[AddressPattern, ...]  # MAC addresses that hosts have in the plane of the switch.
    address_bits: int  # Low bits of a MAC address in which hosts differ.
    factory: dict[str, int]
    """MAC addresses that hosts keep, by their names, where switches rewrite them."""

    @property
    def pause_bits(self) -> dict[int, int]:
        """The metadata bit of every port that a rule depends on."""
        conditions = sorted({entry.unless_paused for entry in self.entries} - {0})
        return {port: bit for bit, port in enumerate(conditions)}

    @property
    def is_class_written(self) -> bool:
        """Whether its rules write the priority of lossless packets."""
        return any(entry.written for entry in self.entries)
