"""Names and cables of a lab; nothing is opened here."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network
from itertools import permutations
from typing import NamedTuple

from etherweave.control.ovs.bridges import BridgeNames
from etherweave.control.plan import PlannedDeployment
from etherweave.control.rules import FabricPlan, HostPlan
from etherweave.control.text import ipv4_text, mac_text
from etherweave.linux.links import VethEnd
from etherweave.linux.namespaces import NamespaceError, identity

HOSTS_MAX, SWITCHES_MAX = 80, 40
"""Largest lab: figure 3c of Benito et al. 2015 has 72 hosts and 36 switches."""
FACTORY = 0x00005E005300
"""The first of the 256 unicast MAC addresses for documentation (RFC 7042, section 2.1.2)."""

_LAB_NAME = re.compile(r"[a-z0-9_-]{1,24}", re.ASCII)


class LayoutError(ValueError):
    """A scenario or name is not suitable for a lab; the message says what is expected."""


class LabPort(NamedTuple):
    """A port of a switch."""

    switch: int  # Index in the plan.
    port: int


@dataclass(frozen=True, slots=True)
class Layout:
    """Names, plan and cables of a lab."""

    prefix: str  # Prefix of the names of all labs of a machine.
    name: str
    planned: PlannedDeployment
    guests: frozenset[str] = frozenset()
    """Hosts that are virtual machines: plugged into the fabric without a namespace."""

    @property
    def plan(self) -> FabricPlan:
        """Plans of switches and hosts."""
        return self.planned.plan

    @property
    def fabric(self) -> str:
        """The namespace with all switches."""
        return fabric_namespace(self.prefix, self.name)

    def host(self, name: str) -> str:
        """Return a host's namespace."""
        return f"{self.fabric}.{name}"

    @property
    def namespaces(self) -> list[str]:
        """All of them, that of the switches first."""
        return [self.fabric, *(self.host(name) for name in self.host_names)]

    @property
    def hosts(self) -> list[HostPlan]:
        """Ports of hosts that are namespaces."""
        return [host for host in self.plan.hosts if host.host not in self.guests]

    @property
    def host_names(self) -> list[str]:
        """Hosts that are namespaces."""
        return list(dict.fromkeys(host.host for host in self.hosts))

    @property
    def pairs(self) -> Iterator[tuple[int, int]]:
        """All pairs of ports of hosts, by their indices in the plan, that a plane joins."""
        hosts = self.plan.hosts
        every = permutations(range(len(hosts)), 2)
        return ((a, b) for a, b in every if hosts[a].plane == hosts[b].plane)

    @property
    def switches(self) -> dict[str, int]:
        """Indices of switches, by name."""
        return {switch.name: index for index, switch in enumerate(self.plan.switches)}

    @property
    def across(self) -> dict[LabPort, LabPort | str]:
        """The other end of every port of a switch: another port, or the name of a host's port."""
        index = self.switches
        names = {(host.host, host.number + 1): host.name for host in self.plan.hosts}
        return {
            LabPort(number, port.number): (
                names[port.node, port.node_port]
                if port.is_host
                else LabPort(index[port.node], port.node_port)
            )
            for number, switch in enumerate(self.plan.switches)
            for port in switch.ports
        }

    @property
    def wiring(self) -> BridgeNames:
        """Names for Open vSwitch."""
        names = [switch.name for switch in self.plan.switches]
        bridges = {name: f"s{index}" for index, name in enumerate(names)}
        ports = {(names[end.switch], end.port): interface(end) for end in self.across}
        return BridgeNames(bridges, ports)

    def address(self, host: HostPlan) -> str:
        """Return a host's IPv4 address with its length, 10.128.0.0/8; empty: it has none."""
        network = self.planned.spec.network
        if network is None or host.ipv4 is None:
            return ""
        return f"{ipv4_text(host.ipv4)}/{network.prefixlen - 1}"

    def plane_network(self, host: HostPlan) -> IPv4Network | None:
        """Return the addresses of all hosts in the plane of a port, where there are several."""
        planes = self.planned.deployment.planes
        if planes == 1 or host.ipv4 is None:
            return None
        length = 32 - self.planned.deployment.address_bits + (planes - 1).bit_length()
        return IPv4Network((host.ipv4, length), strict=False)


def layout(
    prefix: str, name: str, planned: PlannedDeployment, guests: Iterable[str] = ()
) -> Layout:
    """Make the layout of a lab.

    Raises ``LayoutError`` if the name is invalid, or a guest is not a host.
    """
    check_name(name)
    known = [host.host for host in planned.plan.hosts]
    for guest in guests:
        if guest not in known:
            raise LayoutError(f"no host {guest}; expected one of {known[0]} to {known[-1]}")
    return Layout(prefix, name, planned, frozenset(guests))


def check_name(name: str) -> None:
    """Reject an invalid name of a lab."""
    if not is_name(name):
        raise LayoutError(
            f'lab "{name}": expected 1 to 24 small letters, digits, hyphens and underscores'
        )


def is_name(name: str) -> bool:
    """Return whether a name of a lab is valid."""
    return _LAB_NAME.fullmatch(name) is not None


def has_room(switches: int, hosts: int) -> bool:
    """Return whether a lab has room for so many switches and hosts, or ports of hosts."""
    return switches <= SWITCHES_MAX and hosts <= HOSTS_MAX


def check_size(fabric: str, switches: int, hosts: int, what: str = "hosts") -> None:
    """Reject a fabric that is too large for one machine.

    Raises ``LayoutError`` if there are too many switches or hosts; of hosts with several ports,
    each port counts.
    """
    if not has_room(switches, hosts):
        raise LayoutError(
            f"{fabric}: {switches:,} switches and {hosts:,} {what}; "
            f"expected at most {SWITCHES_MAX} and {HOSTS_MAX} in a lab"
        )


def fabric_namespace(prefix: str, name: str) -> str:
    """Return the namespace with all switches of a lab."""
    return f"{prefix}{name}"


def is_of_lab(namespace: str, prefix: str, name: str) -> bool:
    """Return whether a namespace is one of a lab; names of labs have no dots."""
    fabric = fabric_namespace(prefix, name)
    return namespace == fabric or namespace.startswith(f"{fabric}.")


def interface(end: LabPort) -> str:
    """Name the interface of a switch's port: s0p1."""
    return f"s{end.switch}p{end.port}"


def factory_mac(number: int) -> int:
    """Return the factory MAC address of a host's port."""
    return FACTORY + number


def host_interface(host: HostPlan) -> str:
    """Name the interface of a host's port: eth0."""
    return f"eth{host.number}"


def guest_interface(layout: Layout, host: HostPlan) -> str:
    """Return the interface of a host's port."""
    return interface(LabPort(layout.switches[host.switch], host.port))


def cables(layout: Layout) -> Iterator[tuple[str, VethEnd]]:
    """Yield every cable once: an interface of a switch, and what is at the other end."""
    ports = {
        host.name: (host, mac_text(factory_mac(n))) for n, host in enumerate(layout.plan.hosts)
    }
    for end, other in layout.across.items():
        if isinstance(other, LabPort):
            if end < other:
                yield interface(end), VethEnd(interface(other), layout.fabric)
        elif ports[other][0].host not in layout.guests:
            host, mac = ports[other]
            yield interface(end), VethEnd(host_interface(host), layout.host(host.host), mac)


def hosts_file(layout: Layout) -> str:
    """Write hosts(5) for a lab; a host with several ports is its first, too."""
    addressed = ((host, host.ipv4) for host in layout.plan.hosts if host.ipv4 is not None)
    lines = [f"{ipv4_text(address)} {' '.join(_names(host))}\n" for host, address in addressed]
    return "".join(["127.0.0.1 localhost\n", *lines])


def _names(host: HostPlan) -> list[str]:
    return list(dict.fromkeys((host.name, *((host.host,) if host.number == 0 else ()))))


def host_namespace(layout: Layout, host: str) -> str:
    """Return the namespace of a host, which exists.

    Raises ``LayoutError`` if the lab has no such host and ``NamespaceError`` if its namespace does
    not exist any more.
    """
    known = layout.host_names
    if host not in known:
        raise LayoutError(f"no host {host}; expected one of {known[0]} to {known[-1]}")
    namespace = layout.host(host)
    if identity(namespace) is None:
        expected = "expected `etherweave lab down` and `etherweave lab up`"
        raise NamespaceError(f"namespace {namespace}: does not exist; {expected}")
    return namespace
