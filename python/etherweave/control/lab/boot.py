"""Boots hosts: cards up, the hierarchical address by DMP, then the IPv4 address of the plan."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from ipaddress import IPv4Interface
from typing import Any, TypeAlias

from etherweave.control.dmp.client import ask
from etherweave.control.dmp.frame import ETHERTYPE
from etherweave.control.dmp.interface import Interface
from etherweave.control.dmp.request import Assigned, Outcome, Patience
from etherweave.control.lab.layout import HOST_INTERFACE, End, Layout
from etherweave.control.lab.namespaces import Cards, inside, quieten
from etherweave.control.lab.tap import Seen, Tap
from etherweave.control.rules import HostPlan
from etherweave.control.text import mac_text

Tell: TypeAlias = Callable[[str], object]
"""Takes a line about what is going on."""

PATIENCE = Patience(limit_s=10.0)


class BootError(Exception):
    """A host got no address, or another than planned."""


@dataclass(frozen=True, slots=True)
class Addressed:
    """A host that has its address."""

    host: str
    factory: str
    """MAC address before."""
    mac: str
    ipv4: str
    requests: int
    """Frames that it sent; 0: it keeps its factory's address."""
    round_trip_ms: float


@dataclass(frozen=True, slots=True)
class Boot:
    """What was seen while hosts booted."""

    hosts: tuple[Addressed, ...]
    requests: int
    """Frames of DMP that came in from hosts."""
    answers: int
    """Frames that went back by the port that a request came by."""
    elsewhere: int
    """Frames of DMP at any other port, or the wrong way; a flood would be counted here."""

    def as_json(self) -> dict[str, Any]:
        """Give it as plain values."""
        return asdict(self)


def boot(layout: Layout, finishes_checksums: bool) -> Boot:
    """Boot all hosts at a time.

    Raises
    ------
    BootError
        If a host has not the address of the plan in the end.
    """
    hosts = layout.hosts
    with ExitStack() as stack, Tap(layout.fabric, ETHERTYPE) as tap:
        cards, interfaces = {}, {}
        for host in hosts:
            with inside(layout.host(host.name)):
                quieten()
                cards[host.name] = stack.enter_context(Cards())
                _switch_on(cards[host.name], finishes_checksums)
                interfaces[host.name] = stack.enter_context(Interface(HOST_INTERFACE))
        before = {name: interface.address for name, interface in interfaces.items()}
        outcomes = _ask(interfaces) if layout.planned.spec.addresses == "dmp" else {}
        booted = []
        for host in hosts:
            outcome = outcomes.get(host.name)
            _take(host, interfaces[host.name], outcome)
            cards[host.name].assign(HOST_INTERFACE, IPv4Interface(layout.address(host)))
            booted.append(_addressed(layout, host, before[host.name], outcome))
        seen = list(tap.seen())
        tap.check()
        return _counted(layout, booted, seen)


def _switch_on(cards: Cards, finishes_checksums: bool) -> None:
    cards.set_up("lo")
    if finishes_checksums:
        cards.finish_checksums(HOST_INTERFACE)
    cards.set_up(HOST_INTERFACE)


def _ask(interfaces: dict[str, Interface]) -> dict[str, Outcome]:
    """Ask for all at a time; their interfaces have all the same name."""

    def one(interface: Interface) -> Outcome:
        return ask([interface], PATIENCE)[HOST_INTERFACE]

    with ThreadPoolExecutor(max(1, len(interfaces))) as pool:
        return dict(zip(interfaces, pool.map(one, interfaces.values()), strict=True))


def _take(host: HostPlan, interface: Interface, outcome: Outcome | None) -> None:
    if outcome is None:
        return
    if not isinstance(outcome, Assigned):
        raise BootError(f"{host.name}: {outcome.reason}: {outcome.detail}")
    if outcome.mac != host.mac:
        raise BootError(
            f"{host.name}: the switch gives {mac_text(outcome.mac)}; expected {mac_text(host.mac)}"
        )
    interface.assign(outcome.mac)


def _addressed(layout: Layout, host: HostPlan, before: int, outcome: Outcome | None) -> Addressed:
    assigned = outcome if isinstance(outcome, Assigned) else Assigned(before, 0, 0.0)
    return Addressed(
        host.name,
        mac_text(before),
        mac_text(assigned.mac),
        layout.address(host),
        assigned.requests,
        assigned.round_trip_s * 1e3,
    )


def _counted(layout: Layout, booted: list[Addressed], seen: list[Seen]) -> Boot:
    switches = layout.switches
    own = {End(switches[host.switch], host.port) for host in layout.plan.hosts}
    asked = [one for one in seen if one.end in own and not one.leaves]
    nonces = {(one.end, one.octets[_NONCE]) for one in asked}
    answered = [one for one in seen if one.leaves and (one.end, one.octets[_NONCE]) in nonces]
    elsewhere = len(seen) - len(asked) - len(answered)
    return Boot(tuple(booted), len(asked), len(answered), elsewhere)


_NONCE = slice(20, 28)
"""Of a frame of DMP: what ties an answer to its request."""
