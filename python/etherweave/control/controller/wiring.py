"""What is plugged in, against what the plan says: which port goes where and should go where.

A frame of ours that leaves a port and arrives at another shows a cable in one direction. Findings
are about ports, because that is where a hand can change something; a swapped pair gives four.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from etherweave.control.rules import Plan, PortPlan, SwitchPlan


class End(NamedTuple):
    """A port of a switch."""

    switch: str
    port: int

    def __str__(self) -> str:
        return f"{self.switch} port {self.port}"


class Cable(NamedTuple):
    """A cable between switches; the lesser end first."""

    one: End
    other: End

    @classmethod
    def of(cls, one: End, other: End) -> "Cable":
        """Give the cable between two ends, whichever comes first."""
        return cls(*sorted((one, other)))

    def __str__(self) -> str:
        return f"{self.one} - {self.other}"


class Fault(StrEnum):
    """What is wrong with a port."""

    MISWIRED = "miswired"
    MISSING = "missing"
    """Nothing arrives where a switch should be at the other end."""
    SURPLUS = "surplus"
    """A cable where there should be none."""
    DOWN = "down"
    ABSENT = "absent"
    """The switch has no such port."""


class Finding(NamedTuple):
    """A port that is not as planned."""

    fault: Fault
    end: End
    found: str | None
    """What is at the other end; none: nothing seen."""
    expected: str | None
    """What the plan has there; none: nothing."""

    def __str__(self) -> str:
        found = self.found or _NOTHING[self.fault]
        return f"{self.end} goes to {found}; should go to {self.expected or 'nothing'}"


_NOTHING = {
    Fault.MISWIRED: "nothing seen",
    Fault.MISSING: "nothing seen",
    Fault.SURPLUS: "nothing seen",
    Fault.DOWN: "nothing (no link)",
    Fault.ABSENT: "nothing (the switch has no such port)",
}


@dataclass(frozen=True, slots=True)
class Seen:
    """What the switches that answer have shown so far."""

    arrivals: Mapping[End, End] = field(default_factory=dict)
    """Where a frame arrived: where it had left."""
    ports: Mapping[str, Mapping[int, bool]] = field(default_factory=dict)
    """Of every switch that is connected, its ports, and whether they have a link."""
    neighbours: Mapping[End, str] = field(default_factory=dict)
    """Names that hosts tell in LLDP of their own."""
    settled: frozenset[str] = frozenset()
    """Switches whose frames, sent and received, would have shown up by now."""


def cables(plan: Plan) -> frozenset[Cable]:
    """Give the cables between switches."""
    return frozenset(
        Cable.of(End(switch.name, port.number), End(port.node, port.node_port))
        for switch in plan.switches
        for port in switch.ports
        if not port.is_host
    )


def check(plan: Plan, seen: Seen) -> tuple[Finding, ...]:
    """Compare what is seen with what is planned, by switch and port."""
    across = both_ways(seen.arrivals)
    return tuple(
        finding
        for switch in plan.switches
        if switch.name in seen.ports
        for finding in _switch(switch, across, seen)
    )


def both_ways(arrivals: Mapping[End, End]) -> dict[End, End]:
    """Give what is at the other end of every port that has shown a cable in any direction."""
    across = {left: arrived for arrived, left in arrivals.items()}
    return across | dict(arrivals)


def _switch(switch: SwitchPlan, across: Mapping[End, End], seen: Seen) -> Iterator[Finding]:
    planned = {port.number for port in switch.ports}
    for port in switch.ports:
        yield from _port(End(switch.name, port.number), port, across, seen)
    for number in sorted(seen.ports[switch.name].keys() - planned):
        end = End(switch.name, number)
        found = _found(end, across, seen)
        if found:
            yield Finding(Fault.SURPLUS, end, found, None)


def _port(end: End, port: PortPlan, across: Mapping[End, End], seen: Seen) -> Iterator[Finding]:
    expected = f"host {port.node}" if port.is_host else str(End(port.node, port.node_port))
    link = seen.ports[end.switch].get(port.number)
    found = _found(end, across, seen)
    if link is None:
        yield Finding(Fault.ABSENT, end, None, expected)
    elif not link:
        yield Finding(Fault.DOWN, end, None, expected)
    elif found:
        if found != expected:
            yield Finding(Fault.MISWIRED, end, found, expected)
    elif not port.is_host and {end.switch, port.node} <= seen.settled:
        yield Finding(Fault.MISSING, end, None, expected)


def _found(end: End, across: Mapping[End, End], seen: Seen) -> str | None:
    if end in across:
        return str(across[end])
    return f"host {seen.neighbours[end]}" if end in seen.neighbours else None


def told(findings: Iterable[Finding]) -> list[str]:
    """Write findings, one sentence each."""
    return [f"{finding.fault}: {finding}" for finding in findings]
