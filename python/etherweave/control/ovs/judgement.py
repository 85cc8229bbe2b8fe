"""Compares what became of a frame with what must; nothing is asked here."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from etherweave.control.ovs.cases import Case, Kind, Place
from etherweave.control.ovs.oracle import CONTROL_PLANE, Hop, Journey
from etherweave.control.ovs.trace import Hit
from etherweave.control.rules import CONTROLLER, IN_PORT, Plan

_ROUTED = {Kind.UNICAST, Kind.PAUSED, Kind.LOSSLESS}
"""What goes by the flow table."""
_TRAVELS = {*_ROUTED, Kind.BROADCAST, Kind.MULTICAST}
"""What other kinds send may go on only if it must arrive elsewhere."""
Question: TypeAlias = tuple[int, int, int, int]
"""Switch, port of entry, source and destination, as the core's ``decide`` takes them."""


class Decision(NamedTuple):
    """Ports by which a packet may leave a switch."""

    by_table: tuple[int, ...]
    """Of the flow table."""
    by_routing: tuple[int, ...] | None
    """Of the routing algorithm; none: it has no say, because ports are paused."""


class Finding(NamedTuple):
    """A frame that does not go where it must."""

    kind: Kind
    source: str
    """Name of the host, or of the switch, that it comes from."""
    destination: str
    """Name of the host that it is for; empty: nobody in particular."""
    switch: str
    """Where it is told apart."""
    rule: str
    """What decided there."""
    found: str
    expected: str

    def __str__(self) -> str:
        way = f"{self.source} to {self.destination}" if self.destination else self.source
        return (
            f"{self.kind}, {way}: at {self.switch} {self.found}; "
            f"expected {self.expected}; by {self.rule}"
        )


def questions(case: Case, journey: Journey) -> list[Question]:
    """Ask the design about every switch on the way of a frame from a host to a host."""
    if case.kind not in _ROUTED:
        return []
    return [(hop.switch, hop.port, case.source, case.destination) for hop in journey.hops]


class _Wrong(NamedTuple):
    """A finding before anything has a name."""

    switch: int
    hit: Hit
    found: str
    expected: str


def judge(
    plan: Plan, case: Case, journey: Journey, decisions: Sequence[Decision]
) -> Finding | None:
    """Tell the first thing that is wrong with a frame's way; none: nothing is.

    Parameters
    ----------
    plan
        Gives names.
    case
        What was sent, and where it must arrive.
    journey
        What became of it.
    decisions
        One for each of :func:`questions`.
    """
    wrong = next(_wrongs(plan, case, journey, decisions), None)
    said = "".join(f", and Open vSwitch says {remark!r}" for remark in journey.remarks[:1])
    if wrong is None and not said:
        return None
    last = journey.hops[-1]
    told = wrong or _Wrong(last.switch, last.hit, "it does all", "Open vSwitch to agree")
    return _finding(plan, case, told._replace(found=told.found + said))


def _wrongs(
    plan: Plan, case: Case, journey: Journey, decisions: Sequence[Decision]
) -> Iterator[_Wrong]:
    for hop, decision in zip(journey.hops, decisions, strict=bool(decisions)):
        yield from _turns(hop, decision)
    if all(decision.by_routing is not None for decision in decisions):
        yield from _circles(journey)
    here = {(case.probe.switch, case.probe.port), (CONTROL_PLANE, CONTROLLER)}
    if case.kind not in _TRAVELS and case.arrivals.keys() <= here:
        yield from _departures(journey)
    yield from _surplus(plan, case, journey)
    yield from _lacking(plan, case, journey)


def _turns(hop: Hop, decision: Decision) -> Iterator[_Wrong]:
    """Compare the port that a switch takes with those of the design."""
    allowed = decision.by_table
    who = "by the flow table"
    if decision.by_routing is not None and not set(allowed) <= set(decision.by_routing):
        allowed, who = decision.by_routing, "by routing"
    expected = f"{_ports(allowed)} {who}"
    taken = [hop.port if sent.port == IN_PORT else sent.port for sent in hop.sent]
    if len(taken) != bool(allowed) or not set(taken) <= set(allowed):
        hit = hop.sent[0].hit if hop.sent else hop.hit
        back = " but back, which is suppressed" if hop.visit.suppressed else ""
        yield _Wrong(hop.switch, hit, f"it goes to {_ports(taken)}{back}", expected)


def _circles(journey: Journey) -> Iterator[_Wrong]:
    visits = Counter(hop.switch for hop in journey.hops)
    for hop in journey.hops:
        if visits[hop.switch] > 1:
            yield _Wrong(hop.switch, hop.hit, f"it is {visits[hop.switch]} times", "once")


def _departures(journey: Journey) -> Iterator[_Wrong]:
    """Tell when a frame goes on that must not leave its first switch."""
    if len(journey.hops) > 1:
        first = journey.hops[0]
        sent = first.sent[0]
        yield _Wrong(first.switch, sent.hit, f"it goes on by port {sent.port}", "it to stay")


def _surplus(plan: Plan, case: Case, journey: Journey) -> Iterator[_Wrong]:
    """Tell when a frame arrives where it must not, twice, or changed."""
    seen: set[Place] = set()
    for delivery in journey.deliveries:
        place = (delivery.switch, delivery.port)
        if place not in case.arrivals or place in seen:
            again = " again" if place in seen else ""
            found = f"it arrives{again} at {_name(plan, place)}"
            yield _Wrong(*_sender(journey, place), found, _target(plan, case))
            continue
        seen.add(place)
        is_, must = ({**case.headers, **one} for one in (delivery.changes, case.arrivals[place]))
        # Headers before what is inside: whether a frame is taken at all depends on them.
        for name in sorted({**is_, **must}, key=lambda name: (not name.startswith("eth"), name)):
            if is_.get(name) != must.get(name):
                found = f"it leaves to {_name(plan, place)} with {name} {is_.get(name)}"
                yield _Wrong(*_sender(journey, place), found, must.get(name, "no such field"))


def _lacking(plan: Plan, case: Case, journey: Journey) -> Iterator[_Wrong]:
    """Tell when a frame does not arrive, and where it was last."""
    there = {(delivery.switch, delivery.port) for delivery in journey.deliveries}
    for place in case.arrivals:
        if place not in there:
            at = next((hop for hop in journey.hops if hop.switch == place[0]), journey.hops[-1])
            found = f"it never arrives at {_name(plan, place)}"
            yield _Wrong(at.switch, at.hit, found, _target(plan, case))


def _sender(journey: Journey, place: Place) -> tuple[int, Hit]:
    """Return the switch and the rule that sent a frame to a place."""
    for hop in journey.hops:
        for sent in hop.sent:
            port = hop.port if sent.port == IN_PORT else sent.port
            if (hop.switch, port) == place or (CONTROL_PLANE, port) == place:
                return hop.switch, sent.hit
    last = journey.hops[-1]
    return last.switch, last.hit


def _finding(plan: Plan, case: Case, wrong: _Wrong) -> Finding:
    names = [host.name for host in plan.hosts]
    start = plan.switches[case.probe.switch].name
    source = names[case.source] if case.source >= 0 else f"port {case.probe.port} of {start}"
    destination = names[case.destination] if case.destination >= 0 else ""
    switch = plan.switches[wrong.switch].name
    return Finding(
        case.kind, source, destination, switch, _rule(wrong.hit), wrong.found, wrong.expected
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


def _name(plan: Plan, place: Place) -> str:
    """Name what is plugged in at a place."""
    if place[0] == CONTROL_PLANE:
        return "the controller"
    ports = plan.switches[place[0]].ports
    return next((port.node for port in ports if port.number == place[1]), f"port {place[1]}")


def _target(plan: Plan, case: Case) -> str:
    places = list(case.arrivals)
    if not places:
        return "it nowhere"
    others = f" and {len(places) - 1} others" if places[1:] else ""
    return f"it once at {_name(plan, places[0])}{others}"
