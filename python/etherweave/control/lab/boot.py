"""Boots hosts: interfaces up, the hierarchical address by DMP, then the plan's IPv4 address."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from ipaddress import IPv4Interface
from typing import TypeAlias

from etherweave.control.dmp.client import request_addresses
from etherweave.control.dmp.frame import ETHERTYPE
from etherweave.control.dmp.interface import DmpInterface
from etherweave.control.dmp.request import AssignedAddress, RequestOutcome, RequestTiming
from etherweave.control.lab.layout import LabPort, Layout, host_interface
from etherweave.control.lab.probes import FrameTap, ObservedFrame
from etherweave.control.rules import HostPlan
from etherweave.control.text import mac_text
from etherweave.linux.links import Links
from etherweave.linux.namespaces import disable_ipv6, inside, separate_interfaces

StepProgress: TypeAlias = Callable[[str], object]  # Called with a line about the present step.

PATIENCE = RequestTiming(limit_s=10.0)
FIRST_TABLE = 100  # Routing table for what a host's first port sends, where the host has several.


class BootError(Exception):
    """A host has no address, or another than planned."""


@dataclass(frozen=True, slots=True)
class HostAddress:
    """A host that has its address."""

    host: str
    factory: str  # MAC address before.
    mac: str
    ipv4: str
    requests: int  # Frames that it sent; 0: it keeps its factory address.
    round_trip_ms: float


@dataclass(frozen=True, slots=True)
class BootRecord:
    """Addresses of hosts, and the frames of DMP that were captured."""

    hosts: tuple[HostAddress, ...]
    requests: int  # Frames of DMP from hosts.
    answers: int  # Frames of DMP returned by the port of their request.
    elsewhere: int  # All other frames of DMP, such as those of a flood.


def boot(layout: Layout, completes_checksums: bool) -> BootRecord:
    """Boot all hosts at once.

    Raises ``BootError`` if a host does not get the address of the plan.
    """
    hosts = layout.hosts
    with ExitStack() as stack, FrameTap(layout.fabric, ETHERTYPE) as tap:
        links: dict[str, Links] = {}
        interfaces: dict[str, DmpInterface] = {}
        for host in hosts:
            name = host_interface(host)
            with inside(layout.host(host.host)):
                disable_ipv6()
                if host.host != host.name:
                    separate_interfaces()
                links[host.name] = stack.enter_context(Links())
                _set_up(links[host.name], name, completes_checksums)
                interfaces[host.name] = stack.enter_context(DmpInterface(name))
        before = {name: interface.address for name, interface in interfaces.items()}
        outcomes = _request_all(interfaces) if layout.planned.spec.addresses == "dmp" else {}
        booted = []
        for host in hosts:
            outcome = outcomes.get(host.name)
            _assign(host, interfaces[host.name], outcome)
            if address := layout.address(host):
                _give(links[host.name], layout, host, IPv4Interface(address))
            booted.append(_addressed(layout, host, before[host.name], outcome))
        observed = list(tap.frames())
        tap.check()
        return _counted(layout, booted, observed)


def _set_up(links: Links, interface: str, completes_checksums: bool) -> None:
    links.set_up("lo")
    if completes_checksums:
        links.disable_checksum_offload(interface)
    links.set_up(interface)


def _give(links: Links, layout: Layout, host: HostPlan, address: IPv4Interface) -> None:
    """Give a port its IPv4 address; of several, each sends from its own, and into its own plane."""
    name = host_interface(host)
    links.assign(name, address)
    if host.host != host.name:
        links.route_from(name, address, FIRST_TABLE + host.number)
        if network := layout.plane_network(host):
            links.route_to(name, network, address)


def _request_all(interfaces: dict[str, DmpInterface]) -> dict[str, RequestOutcome]:
    """Send all requests at once; interfaces of different hosts have the same name."""

    def one(interface: DmpInterface) -> RequestOutcome:
        (outcome,) = request_addresses([interface], PATIENCE).values()
        return outcome

    with ThreadPoolExecutor(max(1, len(interfaces))) as pool:
        return dict(zip(interfaces, pool.map(one, interfaces.values()), strict=True))


def _assign(host: HostPlan, interface: DmpInterface, outcome: RequestOutcome | None) -> None:
    if outcome is None:
        return
    if not isinstance(outcome, AssignedAddress):
        raise BootError(f"{host.name}: {outcome.reason}: {outcome.detail}")
    if outcome.mac != host.mac:
        raise BootError(
            f"{host.name}: the switch gives {mac_text(outcome.mac)}; expected {mac_text(host.mac)}"
        )
    interface.assign(outcome.mac)


def _addressed(
    layout: Layout, host: HostPlan, before: int, outcome: RequestOutcome | None
) -> HostAddress:
    assigned = outcome if isinstance(outcome, AssignedAddress) else AssignedAddress(before, 0, 0.0)
    return HostAddress(
        host.name,
        mac_text(before),
        mac_text(assigned.mac),
        layout.address(host),
        assigned.requests,
        assigned.round_trip_s * 1e3,
    )


def _counted(
    layout: Layout, booted: list[HostAddress], observed: list[ObservedFrame]
) -> BootRecord:
    switches = layout.switches
    own = {LabPort(switches[host.switch], host.port) for host in layout.plan.hosts}
    requests = [frame for frame in observed if frame.end in own and not frame.leaves]
    nonces = {(request.end, request.octets[_NONCE]) for request in requests}
    answers = [
        frame for frame in observed if frame.leaves and (frame.end, frame.octets[_NONCE]) in nonces
    ]
    elsewhere = len(observed) - len(requests) - len(answers)
    return BootRecord(tuple(booted), len(requests), len(answers), elsewhere)


_NONCE = slice(20, 28)  # Octets of a frame of DMP that tie an answer to its request.
