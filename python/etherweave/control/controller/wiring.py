"""Comparison of the cables that were discovered with the plan, and the cables that have failed.

A probe that leaves a port and arrives at another shows a cable in one direction. Findings name
ports, because that is where a cable can be moved; a swapped pair gives four.

A cable has failed when an end has no link, or when both its switches are connected and probes do
not arrive, or arrive elsewhere. A switch that is only disconnected has not failed: it forwards on.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from etherweave.control.rules import FabricPlan, PortPlan, SwitchPlan


class SwitchPort(NamedTuple):
    """A port of a switch."""

    switch: str
    port: int

    def __str__(self) -> str:
        return f"{self.switch} port {self.port}"


class Cable(NamedTuple):
    """A cable between switches; the lesser end first."""

    first: SwitchPort
    other: SwitchPort

    @classmethod
    def of(cls, switch_port: SwitchPort, other: SwitchPort) -> "Cable":
        """Return the cable between two ends, in any order."""
        return cls(*sorted((switch_port, other)))


class WiringFault(StrEnum):
    """Fault of a port."""

    MISWIRED = "miswired"
    MISSING = "missing"  # Nothing arrives where a switch should be at the other end.
    SURPLUS = "surplus"  # A cable where there should be none.
    DOWN = "down"
    ABSENT = "absent"  # The switch has no such port.


class WiringFinding(NamedTuple):
    """A port that is not as planned."""

    fault: WiringFault
    end: SwitchPort
    found: str | None  # Port or host at the other end; none: nothing seen.
    expected: str | None  # Port or host of the plan there; none: nothing.

    def __str__(self) -> str:
        seen = self.found or _NOTHING.get(self.fault, "nothing seen")
        return f"{self.end} leads to {seen}; expected {self.expected or 'nothing'}"


_NOTHING = {
    WiringFault.DOWN: "nothing (no link)",
    WiringFault.ABSENT: "nothing (the switch has no such port)",
}


@dataclass(frozen=True, slots=True)
class ObservedWiring:
    """Wiring of the connected switches that was discovered so far."""

    arrivals: Mapping[SwitchPort, SwitchPort] = field(default_factory=dict)
    """Port that a probe had left, by the port where it arrived."""
    ports: Mapping[str, Mapping[int, bool]] = field(default_factory=dict)
    """Ports of every switch that is connected, and whether they have a link."""
    neighbours: Mapping[SwitchPort, str] = field(default_factory=dict)
    """Names in the LLDP of hosts, by port."""
    settled: frozenset[str] = frozenset()
    """Switches whose probes, sent and received, would have arrived by now."""


def cables(plan: FabricPlan) -> frozenset[Cable]:
    """Return the cables between switches."""
    return frozenset(
        Cable.of(SwitchPort(switch.name, port.number), SwitchPort(port.node, port.node_port))
        for switch in plan.switches
        for port in switch.ports
        if not port.is_host
    )


def check(plan: FabricPlan, observed: ObservedWiring) -> tuple[WiringFinding, ...]:
    """Compare the discovered wiring with the plan, by switch and port."""
    across = in_both_directions(observed.arrivals)
    return tuple(
        finding
        for switch in plan.switches
        if switch.name in observed.ports
        for finding in _switch(switch, across, observed)
    )


def in_both_directions(arrivals: Mapping[SwitchPort, SwitchPort]) -> dict[SwitchPort, SwitchPort]:
    """Return the other end of every port whose cable was seen in either direction."""
    across = {left: arrived for arrived, left in arrivals.items()}
    return across | dict(arrivals)


def _switch(
    switch: SwitchPlan, across: Mapping[SwitchPort, SwitchPort], observed: ObservedWiring
) -> Iterator[WiringFinding]:
    planned = {port.number for port in switch.ports}
    for port in switch.ports:
        yield from _port(SwitchPort(switch.name, port.number), port, across, observed)
    for number in sorted(observed.ports[switch.name].keys() - planned):
        end = SwitchPort(switch.name, number)
        text = _observed_peer(end, across, observed)
        if text:
            yield WiringFinding(WiringFault.SURPLUS, end, text, None)


def _port(
    end: SwitchPort,
    port: PortPlan,
    across: Mapping[SwitchPort, SwitchPort],
    observed: ObservedWiring,
) -> Iterator[WiringFinding]:
    expected = f"host {port.node}" if port.is_host else str(SwitchPort(port.node, port.node_port))
    link = observed.ports[end.switch].get(port.number)
    text = _observed_peer(end, across, observed)
    if link is None:
        yield WiringFinding(WiringFault.ABSENT, end, None, expected)
    elif not link:
        yield WiringFinding(WiringFault.DOWN, end, None, expected)
    elif text:
        if text != expected:
            yield WiringFinding(WiringFault.MISWIRED, end, text, expected)
    elif not port.is_host and {end.switch, port.node} <= observed.settled:
        yield WiringFinding(WiringFault.MISSING, end, None, expected)


def _observed_peer(
    end: SwitchPort, across: Mapping[SwitchPort, SwitchPort], observed: ObservedWiring
) -> str | None:
    if end in across:
        return str(across[end])
    return f"host {observed.neighbours[end]}" if end in observed.neighbours else None


def failed_cables(plan: FabricPlan, observed: ObservedWiring) -> frozenset[Cable]:
    """Return the cables of a plan that cannot be used."""
    across = in_both_directions(observed.arrivals)
    return frozenset(cable for cable in cables(plan) if _has_failed(cable, across, observed))


def names(plan: FabricPlan, failed: Iterable[Cable]) -> list[str]:
    """Return names of cables as :func:`etherweave.control.plan.plan` accepts them."""
    beside = Counter((first.switch, other.switch) for first, other in cables(plan))

    def first(cable: Cable) -> str:
        is_alone = beside[cable.first.switch, cable.other.switch] == 1
        return cable.first.switch if is_alone else f"{cable.first.switch}:{cable.first.port}"

    return [f"{first(cable)} - {cable.other.switch}" for cable in sorted(failed)]


def _has_failed(
    cable: Cable, across: Mapping[SwitchPort, SwitchPort], observed: ObservedWiring
) -> bool:
    ends = [(end, observed.ports.get(end.switch)) for end in cable]
    if any(ports is not None and not ports.get(end.port, False) for end, ports in ends):
        return True
    if any(end in across and across[end] not in cable for end in cable):
        return True
    would_show = {end.switch for end in cable} <= observed.settled
    return would_show and not any(end in across for end in cable)
