"""Frames that hosts may send, valid and invalid, and where each must arrive; nothing is opened.

Expectations follow from the plan's addresses and cables, not from its rules, which are verified.
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from etherweave.control.ovs.oracle import CONTROL_PLANE, FramePath, InjectedFrame
from etherweave.control.ovs.trace import FieldChanges
from etherweave.control.plan import PlannedDeployment
from etherweave.control.rules import CLASS_TABLE, CONTROLLER, HostPlan
from etherweave.control.text import ipv4_text, mac_text

PortAddress: TypeAlias = tuple[int, int]  # A switch, by its index in the plan, and a port of it.

BROADCAST = 0xFFFFFFFFFFFF
ALL_NODES = 0x333300000001
"""All nodes of an IPv6 link (RFC 2464, section 7; RFC 4291, section 2.7.1)."""
MULTICAST_DNS = 0x01005E0000FB  # 224.0.0.251 (RFC 1112, section 6.4; RFC 6762, section 3).
PRECISION_TIME = 0x011B19000000
"""A vendor's block: IEEE 1588 over Ethernet (IEEE 1588-2019, annex E)."""
LOCAL_GROUP = 0x030000000001  # Locally administered (IEEE 802-2014, clause 8.2).
FACTORY = 0x00005E005301
"""Unicast address for documents (RFC 7042, section 2.1.2): of no host."""
PAUSE_GROUP, LLDP_GROUP = 0x0180C2000001, 0x0180C200000E
"""IEEE 802.3, annex 31B; IEEE 802.1AB, clause 7.1."""
RESERVED_GROUPS = range(0x0180C2000000, 0x0180C2000010)
"""Addresses of frames that stay on their link (IEEE 802.1Q-2018, table 8-1)."""
_REQUEST, _REPLY = 1, 2  # Operations of ARP (RFC 826).
_FIELDS = {
    "eth.src": "dl_src",
    "eth.dst": "dl_dst",
    "arp.op": "arp_op",
    "arp.sip": "arp_spa",
    "arp.tip": "arp_tpa",
    "arp.sha": "arp_sha",
    "arp.tha": "arp_tha",
}
"""Names of fields in Open vSwitch's datapath and in its rules."""
BROADCASTERS_MAX = 32  # Number of hosts that send broadcasts, each of which passes every switch.
_HASH_MAX = 0xFFFF
_ATTEMPTS = 64  # Attempts to find an unused address at random.


class FrameKind(StrEnum):
    """Behaviour that a frame verifies."""

    UNICAST = "unicast"  # Frame to another host.
    PAUSED = "unicast, ports paused"
    """The same, while ports that conditional rules depend on are paused."""
    LOSSLESS = "lossless unicast"
    """Frame with an IEEE 802.1Q tag, in a priority that a frame may have on its path."""
    UNKNOWN = "unknown address"  # Frame to an address that no host has.
    SPOOFED = "spoofed source"
    """Frame whose source is another host's address, or one that no host has."""
    SPOOFED_ARP = "spoofed ARP"  # Own MAC address with another host's IPv4 address.
    REQUEST = "DMP request"  # Request for the sender's hierarchical address.
    STRAY = "DMP from a switch"  # Sent between switches, where no request may arrive.
    BROADCAST = "broadcast"
    MULTICAST = "IPv6 multicast"
    MULTICAST_IPV4 = "IPv4 multicast"
    GROUP = "other group"  # A frame to a vendor's group, or to a locally administered group.
    RESERVED = "reserved group"  # A frame to an address whose frames stay on their link.
    RESOLUTION = "ARP request"
    PAUSE = "PAUSE frame"  # Meant for the other end of the cable only.
    DISCOVERY = "LLDP frame"


_ETH_TYPES = {
    FrameKind.REQUEST: 0x88B5,
    FrameKind.STRAY: 0x88B5,
    FrameKind.MULTICAST: 0x86DD,
    FrameKind.GROUP: 0x88F7,
    FrameKind.RESOLUTION: 0x0806,
    FrameKind.SPOOFED_ARP: 0x0806,
    FrameKind.PAUSE: 0x8808,
    FrameKind.DISCOVERY: 0x88CC,
}
"""EtherTypes; of all others IPv4."""
_IPV4 = 0x0800
_GROUPS = (
    (FrameKind.BROADCAST, BROADCAST),
    (FrameKind.MULTICAST, ALL_NODES),
    (FrameKind.MULTICAST_IPV4, MULTICAST_DNS),
    (FrameKind.GROUP, PRECISION_TIME),
    (FrameKind.GROUP, LOCAL_GROUP),
)
"""Groups of which every host is a member."""


class FrameCase(NamedTuple):
    """A frame, and where it must arrive."""

    kind: FrameKind
    source: int  # Index of the host that sends it; −1: sent by a switch.
    destination: int  # Index of the host that it is for; −1: no single host.
    probe: InjectedFrame
    headers: FieldChanges  # Fields of the frame that is sent.
    arrivals: Mapping[PortAddress, FieldChanges]
    """Ports where it must arrive once, with the fields that must differ from those sent."""


@dataclass(frozen=True)
class CaseContext:
    """Hosts, their ports and addresses, and the state of links."""

    planned: PlannedDeployment
    factory: Mapping[str, int]
    """Addresses that hosts keep, by name, where switches rewrite them; otherwise empty."""
    places: tuple[PortAddress, ...]  # Ports by host.
    raising: frozenset[PortAddress]
    """Ports at which the priority of arriving lossless frames is raised."""
    is_class_written: bool  # Whether rules write the priority of lossless frames.
    links: Mapping[PortAddress, int]
    """Switch at the other end of every port whose link is up."""
    islands: tuple[int, ...]  # Connected component of each switch.
    chance: random.Random

    @property
    def hosts(self) -> tuple[HostPlan, ...]:
        """All ports of hosts of the plan, one in each plane after the other."""
        return self.planned.plan.hosts

    @property
    def planes(self) -> int:
        """Equal fabrics, each of which has a port of every host."""
        return self.planned.deployment.planes

    def mac(self, host: int) -> str:
        """Return a host's hierarchical address."""
        return mac_text(self.hosts[host].mac)

    def own(self, host: int) -> str:
        """Return the address that a host's interface has."""
        return mac_text(self.factory[self.hosts[host].name]) if self.factory else self.mac(host)

    def ipv4(self, host: int) -> str:
        """Return a host's IPv4 address, of a plan that has them."""
        return ipv4_text(self.hosts[host].ipv4 or 0)

    def other(self, host: int) -> int:
        """Choose another host in the same plane."""
        further = self.chance.randrange(1, len(self.hosts) // self.planes)
        return (host + further * self.planes) % len(self.hosts)

    def priority(self, raised: int) -> str:
        """Write the tag of a lossless frame after a number of raised priorities."""
        priorities = self.planned.spec.priorities
        return f"vid=0,pcp={priorities[min(raised, len(priorities) - 1)]}"

    def reaches(self, host: int, place: PortAddress) -> bool:
        """Return whether links that are up connect a host and a port."""
        return self.islands[self.places[host][0]] == self.islands[place[0]]

    def case(
        self,
        kind: FrameKind,
        host: int,
        headers: FieldChanges,
        arrivals: Mapping[PortAddress, FieldChanges],
        destination: int = -1,
    ) -> FrameCase:
        """Return the case of a frame that a host sends."""
        probe = self.probe(kind, self.places[host], headers)
        return FrameCase(kind, host, destination, probe, headers, arrivals)

    def probe(self, kind: FrameKind, place: PortAddress, headers: FieldChanges) -> InjectedFrame:
        """Write a frame; the hash, by which groups select a port, is random."""
        eth_type = f"dl_type={_ETH_TYPES.get(kind, _IPV4):#06x}"
        fields = (_field(name, value) for name, value in headers.items())
        hashed = f"dp_hash={self.chance.randint(1, _HASH_MAX)}"
        return InjectedFrame(*place, ",".join((hashed, eth_type, *fields)))


def _field(name: str, value: str) -> str:
    if name == "vlan":
        return value.replace("vid=", "dl_vlan=").replace("pcp=", "dl_vlan_pcp=")
    return f"{_FIELDS[name]}={value}"


def case_context(planned: PlannedDeployment, factory: Mapping[str, int], seed: int) -> CaseContext:
    """Look up the ports of hosts; ``seed`` makes all choices repeatable."""
    index = {switch.name: number for number, switch in enumerate(planned.plan.switches)}
    places = tuple((index[host.switch], host.port) for host in planned.plan.hosts)
    own_factory = factory if planned.spec.addresses == "rewrite" else {}
    between = _links(planned)
    links = {place: index[node] for place, node, _ in between}
    raising = frozenset(place for place, _, raises in between if raises)
    islands = _islands(len(index), links)
    writes = any(rule.table == CLASS_TABLE for rule in planned.plan.switches[0].rules)
    chance = random.Random(seed)
    return CaseContext(planned, own_factory, places, raising, writes, links, islands, chance)


def _links(planned: PlannedDeployment) -> list[tuple[PortAddress, str, bool]]:
    """List ports of links that are up, the other end, and whether they raise priorities."""
    import polars

    table = polars.DataFrame(planned.deployment.tables["ports"])
    up = table.filter((polars.col("is_up") == 1) & (polars.col("class") != "host"))
    rows = up.select("switch", "port", "node", "raises").rows()
    return [((switch, port), node, bool(raises)) for switch, port, node, raises in rows]


def _islands(switches: int, links: Mapping[PortAddress, int]) -> tuple[int, ...]:
    """Return every switch's connected component, numbered by its least switch."""
    islands = list(range(switches))
    is_settled = False
    while not is_settled:
        is_settled = True
        for (switch, _), far in links.items():
            if islands[far] < islands[switch]:
                islands[switch], is_settled = islands[far], False
    return tuple(islands)


def pairs(context: CaseContext, count: int | None) -> list[tuple[int, int]]:
    """Choose pairs of different hosts in a plane, without repetition; no count: all, in order."""
    planes = context.planes
    others = len(context.hosts) // planes - 1
    every = range(len(context.hosts) * others)
    switch = every if count is None or count >= len(every) else context.chance.sample(every, count)
    # Of the numbers for a source, those from its own on mean the next host.
    split = (divmod(number, others) for number in switch)
    return [(row, (peer + (peer >= row // planes)) * planes + row % planes) for row, peer in split]


def unicasts(
    context: CaseContext, chosen: Iterable[tuple[int, int]], kind: FrameKind = FrameKind.UNICAST
) -> Iterator[FrameCase]:
    """Yield frames from hosts to hosts."""
    for source, destination in chosen:
        headers = {"eth.src": context.own(source), "eth.dst": context.mac(destination)}
        rewritten = {"eth.src": context.mac(source), "eth.dst": context.own(destination)}
        place = context.places[destination]
        arrivals = {place: rewritten} if context.reaches(source, place) else {}
        yield context.case(kind, source, headers, arrivals, destination)


def lossless(context: CaseContext, chosen: Iterable[tuple[int, int]]) -> Iterator[FrameCase]:
    """Yield frames from hosts to hosts in any of the lossless priorities."""
    for case in unicasts(context, chosen, FrameKind.LOSSLESS):
        raised = context.chance.randrange(len(context.planned.spec.priorities))
        headers = case.headers | {"vlan": context.priority(raised)}
        probe = context.probe(case.kind, context.places[case.source], headers)
        yield case._replace(headers=headers, probe=probe)


def with_raised_priority(
    context: CaseContext, case: FrameCase, journey: FramePath, written: Sequence[int]
) -> FrameCase:
    """Set the priority in which a lossless frame must arrive on this path.

    Hosts send in the first priority, whatever they wrote; raising ports change it to the next.
    Where rules write it, ``written`` has its place from 1 for every switch of the path, 0 where
    the rule leads to the host: the last one stays.
    """
    if case.kind is not FrameKind.LOSSLESS:
        return case
    count = sum((hop.switch, hop.port) in context.raising for hop in journey.hops)
    if context.is_class_written:
        count = next((place - 1 for place in reversed(written) if place), -1)
    # A frame that leaves for its host at once keeps what the host wrote.
    tag = {"vlan": context.priority(count)} if count >= 0 else {}
    arrivals = {place: {**changes, **tag} for place, changes in case.arrivals.items()}
    return case._replace(arrivals=arrivals)


def pauses(context: CaseContext) -> Iterator[frozenset[PortAddress]]:
    """Yield sets of paused ports: half of those that conditional rules depend on, then all."""
    switches = enumerate(context.planned.plan.switches)
    watched = [(number, port) for number, switch in switches for port in switch.pause_bits]
    if watched:
        yield frozenset(context.chance.sample(watched, len(watched) // 2))
        yield frozenset(watched)


def services(context: CaseContext) -> Iterator[FrameCase]:
    """Yield all frames but those between hosts: broadcasts, for the switch, and invalid ones."""
    hosts = range(len(context.hosts))
    for host in hosts:
        yield from _to_unknown(context, host)
        yield from _to_the_switch(context, host)
    yield from _from_switches(context)
    if len(hosts) < 2 * context.planes:
        return
    yield from (case for host in hosts for case in _spoofed(context, host))
    switch = context.chance.sample(hosts, min(len(hosts), BROADCASTERS_MAX))
    yield from (case for host in switch for case in _to_all(context, host))
    if context.planned.spec.network:
        is_answered = context.planned.spec.resolution != "broadcast"
        yield from (_resolution(context, host) for host in (hosts if is_answered else switch))


def _to_unknown(context: CaseContext, host: int) -> Iterator[FrameCase]:
    for address in _unknown(context, host):
        headers = {"eth.src": context.own(host), "eth.dst": address}
        yield context.case(FrameKind.UNKNOWN, host, headers, {})


def _unknown(context: CaseContext, host: int) -> Iterator[str]:
    """Yield addresses that no host of the plane has.

    A factory's, one among the plan's, if there is one, and the next host's in the next plane.
    """
    yield mac_text(FACTORY)
    if context.planes > 1:
        following = (host + context.planes) % len(context.hosts)
        yield context.mac(following - host % context.planes + (host + 1) % context.planes)
    known = {host.mac for host in context.hosts}
    least = min(known)
    bits = context.planned.deployment.address_bits
    near = (least ^ context.chance.getrandbits(bits) for _ in range(_ATTEMPTS))
    free = next((address for address in near if address not in known), None)
    if free is not None:
        yield mac_text(free)


def _spoofed(context: CaseContext, host: int) -> Iterator[FrameCase]:
    spec = context.planned.spec
    other = context.other(host)
    if spec.addresses == "rewrite" or spec.anti_spoofing != "none":
        for sender in (context.own(other), mac_text(FACTORY)):
            headers = {"eth.src": sender, "eth.dst": context.mac(other)}
            yield context.case(FrameKind.SPOOFED, host, headers, {}, other)
    if spec.addresses == "dmp" and spec.anti_spoofing == "arp" and spec.network:
        claimed = {"arp.sip": context.ipv4(other), "arp.sha": context.mac(host)}
        yield context.case(
            FrameKind.SPOOFED_ARP, host, _arp(context, host, other) | claimed, {}, other
        )


def _to_the_switch(context: CaseContext, host: int) -> Iterator[FrameCase]:
    """Yield frames that end in the first switch; a request returns as its answer."""
    broadcast = {"eth.src": mac_text(FACTORY), "eth.dst": mac_text(BROADCAST)}
    answer = {context.places[host]: {"eth.src": context.mac(host)}}
    asks = context.planned.spec.addresses == "dmp"
    yield context.case(FrameKind.REQUEST, host, broadcast, answer if asks else {})
    pause = {"eth.src": context.own(host), "eth.dst": mac_text(PAUSE_GROUP)}
    yield context.case(FrameKind.PAUSE, host, pause, {})
    to_controller: dict[PortAddress, FieldChanges] = {(CONTROL_PLANE, CONTROLLER): {}}
    discovery = {"eth.src": context.own(host), "eth.dst": mac_text(LLDP_GROUP)}
    yield context.case(FrameKind.DISCOVERY, host, discovery, to_controller)
    reserved = context.chance.choice(RESERVED_GROUPS)
    stays = {"eth.src": context.own(host), "eth.dst": mac_text(reserved)}
    yield context.case(FrameKind.RESERVED, host, stays, {})


def _from_switches(context: CaseContext) -> Iterator[FrameCase]:
    """Yield requests that arrive from other switches."""
    headers = {"eth.src": mac_text(FACTORY), "eth.dst": mac_text(BROADCAST)}
    for place in context.links:
        probe = context.probe(FrameKind.STRAY, place, headers)
        yield FrameCase(FrameKind.STRAY, -1, -1, probe, headers, {})


def _to_all(context: CaseContext, host: int) -> Iterator[FrameCase]:
    spec = context.planned.spec
    for kind, group in _GROUPS:
        headers = {"eth.src": context.own(host), "eth.dst": mac_text(group)}
        # OpenFlow 1.0 has no match of all groups: those but broadcasts are dropped there.
        is_sent_on = kind is FrameKind.BROADCAST or spec.protocol == "openflow13"
        arrivals = _all_but(context, host, {}) if is_sent_on else {}
        yield context.case(kind, host, headers, arrivals)


def _all_but(
    context: CaseContext, host: int, changes: FieldChanges
) -> dict[PortAddress, FieldChanges]:
    """Expect a frame at all hosts but its sender, from the sender's hierarchical address."""
    changes = {"eth.src": context.mac(host), **changes}
    others = (place for place in context.places if place != context.places[host])
    return {place: changes for place in others if context.reaches(host, place)}


def _resolution(context: CaseContext, host: int) -> FrameCase:
    target = context.other(host)
    headers = _arp(context, host, target)
    if context.planned.spec.resolution == "broadcast":
        arrivals = _all_but(context, host, {"arp.sha": context.mac(host)})
    elif context.planned.spec.resolution == "manager":
        arrivals = {(CONTROL_PLANE, CONTROLLER): {}}
    else:
        arrivals = {context.places[host]: _reply(context, host, target)}
    return context.case(FrameKind.RESOLUTION, host, headers, arrivals, target)


def _arp(context: CaseContext, host: int, target: int) -> FieldChanges:
    """Write a request for a host's address."""
    return {
        "eth.src": context.own(host),
        "eth.dst": mac_text(BROADCAST),
        "arp.op": str(_REQUEST),
        "arp.sip": context.ipv4(host),
        "arp.tip": context.ipv4(target),
        "arp.sha": context.own(host),
        "arp.tha": mac_text(0),
    }


def _reply(context: CaseContext, host: int, target: int) -> FieldChanges:
    """Write the target's reply in the form that the requesting host accepts."""
    return {
        "eth.src": context.mac(target),
        "eth.dst": context.own(host),
        "arp.op": str(_REPLY),
        "arp.sip": context.ipv4(target),
        "arp.tip": context.ipv4(host),
        "arp.sha": context.mac(target),
        "arp.tha": context.own(host),
    }
