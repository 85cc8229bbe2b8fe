"""Compares the path of a frame with the design and its expected arrivals; nothing is opened."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from etherweave.control.ovs.cases import FrameCase, FrameKind, PortAddress
from etherweave.control.ovs.oracle import CONTROL_PLANE, FramePath, TraceHop
from etherweave.control.ovs.trace import Hit
from etherweave.control.rules import CONTROLLER, IN_PORT, FabricPlan

_ROUTED = {FrameKind.UNICAST, FrameKind.PAUSED, FrameKind.LOSSLESS}
"""Kinds of frames that the flow table forwards."""
_TRAVELS = {
    *_ROUTED,
    FrameKind.BROADCAST,
    FrameKind.MULTICAST,
    FrameKind.MULTICAST_IPV4,
    FrameKind.GROUP,
}
"""Kinds of frames that leave their first switch; others must end there."""
DecisionQuery: TypeAlias = tuple[int, int, int, int]
"""Switch, port of entry, source and destination, as the core's ``decide`` takes them."""


class AllowedPorts(NamedTuple):
    """Ports by which a packet may leave a switch."""

    by_table: tuple[int, ...]  # Ports of the flow table.
    by_routing: tuple[int, ...] | None
    """Ports of the routing algorithm; None: not applicable, because ports are paused."""
    written: int = 0
    """Place from 1 of the priority that the rule gives to lossless packets; 0: it leaves theirs."""


class FrameFinding(NamedTuple):
    """A frame that was not forwarded as designed."""

    kind: FrameKind
    source: str  # Name of the host, or of the switch, that it comes from.
    destination: str  # Name of the host that it is for; empty: no single host.
    switch: str  # The switch where it differs.
    rule: str  # The rule that decided there.
    found: str
    expected: str

    def __str__(self) -> str:
        flow = f"{self.source} to {self.destination}" if self.destination else self.source
        return (
            f"{self.kind}, {flow}: at {self.switch} {self.found}; "
            f"expected {self.expected}; by {self.rule}"
        )


def decision_queries(case: FrameCase, journey: FramePath) -> list[DecisionQuery]:
    """Return a query to the design for every switch on a frame's path."""
    if case.kind not in _ROUTED:
        return []
    return [(hop.switch, hop.port, case.source, case.destination) for hop in journey.hops]


class _Difference(NamedTuple):
    """A finding with indices instead of names."""

    switch: int
    hit: Hit
    behaviour: str
    expected: str


def judge(
    plan: FabricPlan, case: FrameCase, journey: FramePath, decisions: Sequence[AllowedPorts]
) -> FrameFinding | None:
    """Return the first difference of a frame's path from the design, or None.

    ``plan`` gives the names; ``decisions`` has one for each of :func:`questions`.
    """
    wrong = next(_differences(plan, case, journey, decisions), None)
    remark = "".join(f", and Open vSwitch remarks {remark!r}" for remark in journey.remarks[:1])
    if wrong is None and not remark:
        return None
    last = journey.hops[-1]
    difference = wrong or _Difference(last.switch, last.hit, "it does all", "Open vSwitch to agree")
    return _finding(plan, case, difference._replace(behaviour=difference.behaviour + remark))


def _differences(
    plan: FabricPlan, case: FrameCase, journey: FramePath, decisions: Sequence[AllowedPorts]
) -> Iterator[_Difference]:
    for hop, decision in zip(journey.hops, decisions, strict=bool(decisions)):
        yield from _port_differences(hop, decision)
    if all(decision.by_routing is not None for decision in decisions):
        yield from _repeated_visits(journey)
    here = {(case.probe.switch, case.probe.port), (CONTROL_PLANE, CONTROLLER)}
    if case.kind not in _TRAVELS and case.arrivals.keys() <= here:
        yield from _forbidden_departures(journey)
    yield from _unexpected_deliveries(plan, case, journey)
    yield from _missing_deliveries(plan, case, journey)


def _port_differences(hop: TraceHop, decision: AllowedPorts) -> Iterator[_Difference]:
    """Compare the port by which a frame left a switch with those of the design."""
    allowed = decision.by_table
    who = "by the flow table"
    if decision.by_routing is not None and not set(allowed) <= set(decision.by_routing):
        allowed, who = decision.by_routing, "by routing"
    expected = f"{_ports(allowed)} {who}"
    taken = [hop.port if sent.port == IN_PORT else sent.port for sent in hop.sent]
    if len(taken) != bool(allowed) or not set(taken) <= set(allowed):
        hit = hop.sent[0].hit if hop.sent else hop.hit
        back = " but back, which is suppressed" if hop.visit.suppressed else ""
        yield _Difference(hop.switch, hit, f"it goes to {_ports(taken)}{back}", expected)


def _repeated_visits(journey: FramePath) -> Iterator[_Difference]:
    visits = Counter(hop.switch for hop in journey.hops)
    for hop in journey.hops:
        if visits[hop.switch] > 1:
            yield _Difference(hop.switch, hop.hit, f"it is {visits[hop.switch]} times", "once")


def _forbidden_departures(journey: FramePath) -> Iterator[_Difference]:
    """Yield a difference if a frame leaves its first switch that must not."""
    if len(journey.hops) > 1:
        first = journey.hops[0]
        sent = first.sent[0]
        yield _Difference(first.switch, sent.hit, f"it goes on by port {sent.port}", "it to stay")


def _unexpected_deliveries(
    plan: FabricPlan, case: FrameCase, journey: FramePath
) -> Iterator[_Difference]:
    """Yield differences if a frame arrives at a wrong port, twice, or with wrong fields."""
    delivered: set[PortAddress] = set()
    for delivery in journey.deliveries:
        place = (delivery.switch, delivery.port)
        if place not in case.arrivals or place in delivered:
            again = " again" if place in delivered else ""
            text = f"it arrives{again} at {_name(plan, place)}"
            yield _Difference(*_sender(journey, place), text, _target(plan, case))
            continue
        delivered.add(place)
        fields, expected_fields = (
            {**case.headers, **change} for change in (delivery.changes, case.arrivals[place])
        )
        # Ethernet's header first: it decides whether a frame is accepted at all.
        for name in sorted(
            {**fields, **expected_fields}, key=lambda name: (not name.startswith("eth"), name)
        ):
            if fields.get(name) != expected_fields.get(name):
                text = f"it leaves to {_name(plan, place)} with {name} {fields.get(name)}"
                yield _Difference(
                    *_sender(journey, place), text, expected_fields.get(name, "no such field")
                )


def _missing_deliveries(
    plan: FabricPlan, case: FrameCase, journey: FramePath
) -> Iterator[_Difference]:
    """Yield differences if a frame does not arrive, with its last switch."""
    there = {(delivery.switch, delivery.port) for delivery in journey.deliveries}
    for place in case.arrivals:
        if place not in there:
            at = next((hop for hop in journey.hops if hop.switch == place[0]), journey.hops[-1])
            text = f"it never arrives at {_name(plan, place)}"
            yield _Difference(at.switch, at.hit, text, _target(plan, case))


def _sender(journey: FramePath, place: PortAddress) -> tuple[int, Hit]:
    """Return the switch and the rule that sent a frame to a port."""
    for hop in journey.hops:
        for sent in hop.sent:
            port = hop.port if sent.port == IN_PORT else sent.port
            if (hop.switch, port) == place or (CONTROL_PLANE, port) == place:
                return hop.switch, sent.hit
    last = journey.hops[-1]
    return last.switch, last.hit


def _finding(plan: FabricPlan, case: FrameCase, wrong: _Difference) -> FrameFinding:
    names = [host.name for host in plan.hosts]
    start = plan.switches[case.probe.switch].name
    source = names[case.source] if case.source >= 0 else f"port {case.probe.port} of {start}"
    destination = names[case.destination] if case.destination >= 0 else ""
    switch = plan.switches[wrong.switch].name
    return FrameFinding(
        case.kind, source, destination, switch, _rule(wrong.hit), wrong.behaviour, wrong.expected
    )


def _rule(hit: Hit) -> str:
    if hit.priority is None:
        return f"no rule of table {hit.table}"
    match = f",{hit.match}" if hit.match else ""
    return f"table={hit.table},priority={hit.priority}{match}"


def _ports(ports: Sequence[int]) -> str:
    if not ports:
        return "no port"
    return f"port{'s' if ports[1:] else ''} {' '.join(map(str, ports))}"


def _name(plan: FabricPlan, place: PortAddress) -> str:
    if place[0] == CONTROL_PLANE:
        return "the controller"
    ports = plan.switches[place[0]].ports
    return next((port.node for port in ports if port.number == place[1]), f"port {place[1]}")


def _target(plan: FabricPlan, case: FrameCase) -> str:
    places = list(case.arrivals)
    if not places:
        return "it nowhere"
    others = f" and {len(places) - 1} others" if places[1:] else ""
    return f"it once at {_name(plan, places[0])}{others}"
