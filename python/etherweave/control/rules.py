"""What a switch is told, as plain values: rules, groups, meters, and its place in the fabric.

Names of fields are those of OpenFlow 1.3 (OXM, section 7.2.3.7): ``in_port``, ``metadata``,
``eth_dst``, ``vlan_pcp``, ``arp_tpa``. Values are whole numbers, most significant octet first: a
MAC address has 48 bits, an IPv4 address 32. Ports are OpenFlow's, from 1.

Nothing here is checked: a plan is made by :mod:`etherweave.control.plan`, which is.
"""

import json
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Network
from typing import Literal, NamedTuple, TypeAlias

IN_PORT = 0xFFFFFFF8
"""Back to where the packet came from (OpenFlow 1.3, ``OFPP_IN_PORT``)."""
CONTROLLER = 0xFFFFFFFD
"""To whoever controls the switch (``OFPP_CONTROLLER``)."""

INGRESS_ACL_TABLE = 0
"""Who may send what: control frames, DMP, anti-spoofing."""
UNKNOWN_DESTINATION_TABLE = 1
"""Whether anybody has the destination's address: what nobody has never enters the fabric."""
SERVICE_TABLE = 2
"""Broadcasts and ARP; whatever is left takes the pause vector along."""
FORWARD_TABLE = 3
"""The flow table of the design."""
WAIT_TABLE = 4
"""Default rules again, for packets that find all their ports paused."""


class MatchField(NamedTuple):
    """What a field of a packet must be."""

    field: str
    """Its name in OpenFlow."""
    value: int
    """What it must be where the mask is set."""
    mask: int | None = None
    """Bits that count; none: all."""


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
    source_bit: int
    """The least significant bit that is copied."""
    target: str
    target_bit: int
    bits: int


@dataclass(frozen=True, slots=True)
class ToGroup:
    """Hands the packet to a group."""

    group: int


Action: TypeAlias = Output | SetField | Move | ToGroup


@dataclass(frozen=True, slots=True)
class WriteMetadata:
    """Writes bits of the packet's metadata."""

    value: int
    mask: int


@dataclass(frozen=True, slots=True)
class GoTo:
    """Goes on in a later table."""

    table: int


@dataclass(frozen=True, slots=True)
class UseMeter:
    """Drops the packet when its meter's rate is exceeded."""

    meter: int


Instruction: TypeAlias = WriteMetadata | GoTo | UseMeter


class Purpose(StrEnum):
    """What a rule is there for; counts of rules go by it."""

    FORWARD = "forward"
    """A rule of the flow table: minimal routing, or a default rule."""
    ALTERNATIVE = "alternative"
    """A rule of the flow table that stands in for a default rule."""
    WAIT = "wait"
    """Keeps a packet on its default port when all its ports are paused."""
    PAUSES = "pauses"
    """Writes the pause vector."""
    ADMIT = "admit"
    """Lets in what a port may send."""
    PRIORITY = "priority"
    """Lets it in likewise, in another priority, so that pauses cannot form a ring."""
    KNOWN = "known"
    """Lets a host send to addresses that hosts have."""
    DMP = "dmp"
    """Answers, or drops, requests of the Dynamic MAC Protocol."""
    ANNOUNCE = "announce"
    """Carries broadcasts: ARP, neighbour discovery, announcements of services."""
    RESOLVE = "resolve"
    """Answers ARP in the switch."""
    REWRITE = "rewrite"
    """Exchanges factory addresses and hierarchical ones."""
    CONTROL = "control"
    """Frames for the control plane itself: LLDP, PAUSE, PFC."""


class FlowRule(NamedTuple):
    """A flow entry."""

    table: int
    priority: int
    """The highest that matches decides; no two that overlap are equal."""
    match: tuple[MatchField, ...]
    """All must hold; in the order in which OpenFlow asks for prerequisites."""
    actions: tuple[Action, ...]
    """Applied in order."""
    instructions: tuple[Instruction, ...] = ()
    """What follows the actions."""
    purpose: Purpose = Purpose.FORWARD


class Group(NamedTuple):
    """Several ports for a packet, of which a hash of its flow takes one (``OFPGT_SELECT``)."""

    number: int
    ports: tuple[int, ...]


class Meter(NamedTuple):
    """Drops packets above a rate."""

    number: int
    packets_per_s: int
    burst_packets: int


@dataclass(frozen=True, slots=True)
class PortPlan:
    """A port and what is to be plugged into it."""

    number: int
    node: str
    """Name of the host or switch at the other end."""
    node_port: int
    """Its port there; a host's is 1."""
    is_host: bool


@dataclass(frozen=True, slots=True)
class SwitchPlan:
    """Everything that one switch is told."""

    name: str
    datapath_id: int
    """From 1; 0 is no identity for Open vSwitch."""
    ports: tuple[PortPlan, ...]
    rules: tuple[FlowRule, ...]
    groups: tuple[Group, ...]
    meters: tuple[Meter, ...]
    pause_bits: dict[int, int]
    """Of each port that conditional rules watch, the metadata bit that is set while it pauses."""


@dataclass(frozen=True, slots=True)
class HostPlan:
    """A host and its addresses."""

    name: str
    switch: str
    port: int
    """Of the switch."""
    mac: int
    """Hierarchical MAC address."""
    ipv4: int | None
    """Derived from the MAC address; none where the plan gives no IPv4 addresses."""


@dataclass(frozen=True, slots=True)
class FabricPlan:
    """Everything that a fabric is told."""

    name: str
    layout: str
    """Fields of the addresses: "group 4 | switch 2 | host 1 (7 of 46 bits)"."""
    switches: tuple[SwitchPlan, ...]
    hosts: tuple[HostPlan, ...]


@dataclass(frozen=True, slots=True)
class ControlSettings:
    """The table ``control`` of a scenario, every default written out."""

    rules: Literal["minimal", "conditional"]
    pauses: Literal["port", "class"]
    addresses: Literal["dmp", "rewrite"]
    resolution: Literal["broadcast", "responder"]
    anti_spoofing: Literal["none", "mac", "arp"]
    ipv4: str
    dmp_rate: int
    lldp_rate: int
    priorities: tuple[int, ...] = ()
    alternatives: int | None = None

    @classmethod
    def parse(cls, text: str) -> "ControlSettings":
        """Take the core's JSON."""
        fields = json.loads(text)
        return cls(**{**fields, "priorities": tuple(fields["priorities"])})

    @property
    def network(self) -> IPv4Network | None:
        """What IPv4 addresses begin with; none: there are none."""
        return IPv4Network(self.ipv4) if self.ipv4 else None


class TableEntry(NamedTuple):
    """A rule of the flow table, in the columns of the core."""

    priority: int
    eth_dst: int
    eth_dst_mask: int
    eth_src: int
    eth_src_mask: int
    in_port: int
    """0: any."""
    unless_paused: int
    """0: always in force."""
    ports: tuple[int, ...]
    is_alternative: bool
    waits: bool


class AddressPattern(NamedTuple):
    """Addresses that agree where the mask is set."""

    value: int
    mask: int


@dataclass(frozen=True, slots=True)
class SwitchDesign:
    """A switch and what rules need to know about it."""

    name: str
    datapath_id: int
    spec: ControlSettings
    ports: tuple[PortPlan, ...]
    hosts: tuple[HostPlan, ...]
    """On this switch, by port."""
    tree_ports: tuple[int, ...]
    """Where broadcasts go: hosts, and links of the tree that joins all switches."""
    raising_ports: frozenset[int]
    """Where frames go on in the next priority that they arrive by."""
    entries: tuple[TableEntry, ...]
    known: tuple[AddressPattern, ...]
    """MAC addresses that hosts of the fabric have."""
    address_bits: int
    """Low bits of a MAC address in which hosts differ."""
    factory: dict[str, int]
    """MAC addresses that hosts keep, by their names, where switches rewrite them."""

    @property
    def pause_bits(self) -> dict[int, int]:
        """The bit of the metadata of every port that a rule watches."""
        watched = sorted({entry.unless_paused for entry in self.entries} - {0})
        return {port: bit for bit, port in enumerate(watched)}
