"""A switch as rules are written for it: ports, hosts, flow table, and what all switches share."""

import json
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Literal, NamedTuple

from etherweave.control.rules import HostPlan, PortPlan


@dataclass(frozen=True, slots=True)
class Spec:
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
    def parse(cls, text: str) -> "Spec":
        """Take the core's JSON."""
        fields = json.loads(text)
        return cls(**{**fields, "priorities": tuple(fields["priorities"])})

    @property
    def network(self) -> IPv4Network | None:
        """What IPv4 addresses begin with; none: there are none."""
        return IPv4Network(self.ipv4) if self.ipv4 else None


class Entry(NamedTuple):
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


class Pattern(NamedTuple):
    """Addresses that agree where the mask is set."""

    value: int
    mask: int


@dataclass(frozen=True, slots=True)
class Site:
    """A switch and what rules need to know about it."""

    name: str
    datapath_id: int
    spec: Spec
    ports: tuple[PortPlan, ...]
    hosts: tuple[HostPlan, ...]
    """On this switch, by port."""
    tree_ports: tuple[int, ...]
    """Where broadcasts go: hosts, and links of the tree that joins all switches."""
    raising_ports: frozenset[int]
    """Where frames go on in the next priority that they arrive by."""
    entries: tuple[Entry, ...]
    known: tuple[Pattern, ...]
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
