"""The third table: broadcasts, address resolution, and the pause vector for all other packets.

A broadcast leaves by every port of a tree but the one that it came by, so every host sees it once.
The responder computes the answer to an ARP request in the first switch: the address bits of the
IPv4 address are those of the MAC address. It answers for addresses that the plan gives to hosts,
not for probes, and no request goes further.

The vector has a bit for every port that conditional rules watch: one changed rule per pause,
whatever the number of conditional rules. With a vector per class, one rule per 802.1Q priority.
"""

from collections.abc import Iterator

from etherweave.control.admission import ARP, tag
from etherweave.control.rules import (
    FORWARD_TABLE,
    IN_PORT,
    SERVICE_TABLE,
    GoTo,
    Move,
    Output,
    Purpose,
    Rule,
    SetField,
    Test,
    WriteMetadata,
)
from etherweave.control.site import Pattern, Site

BROADCAST = 0xFFFFFFFFFFFF
IPV6_GROUPS = Pattern(0x333300000000, 0xFFFF00000000)
"""Multicasts of IPv6, of which neighbour discovery is one (RFC 2464, section 7)."""
UNICAST = 0x020000000000
"""A MAC address whose address bits are zero."""
CLASSES = range(8)
"""Priorities of IEEE 802.1Q."""


def services(site: Site) -> Iterator[Rule]:
    """Yield the rules of the third table."""
    if site.spec.resolution == "responder":
        yield from _responder(site)
    everybody = tuple(Output(port) for port in site.tree_ports)
    for match in (Test("eth_dst", BROADCAST), Test("eth_dst", *IPV6_GROUPS)):
        yield Rule(SERVICE_TABLE, 200, (match,), everybody, (), Purpose.ANNOUNCE)
    yield from pauses(site)


def pauses(site: Site) -> Iterator[Rule]:
    """Yield the rules that write the pause vector, while nothing is paused."""
    if site.spec.pauses == "class" and site.pause_bits:
        yield from (pause_rule(site.pause_bits, frozenset(), priority) for priority in CLASSES)
    yield pause_rule(site.pause_bits, frozenset(), None)


def pause_rule(bits: dict[int, int], paused: frozenset[int], priority: int | None) -> Rule:
    """Write the rule that tells packets of a priority which ports are paused.

    Parameters
    ----------
    bits
        The metadata bit of every port that rules watch.
    paused
        Ports.
    priority
        Of IEEE 802.1Q; none: of packets without a tag, and of all where classes do not count.
    """
    mask = sum(1 << bit for bit in bits.values())
    value = sum(1 << bits[port] for port in paused if port in bits)
    return Rule(
        *(SERVICE_TABLE, 0 if priority is None else 1),
        () if priority is None else tag(priority),
        (),
        (*((WriteMetadata(value, mask),) if mask else ()), GoTo(FORWARD_TABLE)),
        Purpose.PAUSES,
    )


def _responder(site: Site) -> Iterator[Rule]:
    request = (Test("eth_type", ARP), Test("arp_op", 1))
    probe = (*request, Test("arp_spa", 0))
    yield Rule(SERVICE_TABLE, 300, probe, (), (), Purpose.RESOLVE)
    answer = tuple(_answer(site.address_bits))
    for pattern in site.known:
        match = (*request, _target(site, pattern))
        yield Rule(SERVICE_TABLE, 290, match, answer, (), Purpose.RESOLVE)
    yield Rule(SERVICE_TABLE, 285, request, (), (), Purpose.RESOLVE)
    lost = (Test("eth_dst", BROADCAST), Test("eth_type", ARP))
    yield Rule(SERVICE_TABLE, 280, lost, (), (), Purpose.RESOLVE)


def _target(site: Site, pattern: Pattern) -> Test:
    """Match the IPv4 addresses of a pattern of MAC addresses."""
    network = site.spec.network
    assert network is not None, "the core refuses a responder without addresses"
    low = (1 << site.address_bits) - 1
    value = int(network.network_address) | pattern.value & low
    mask = pattern.mask & low | (0xFFFFFFFF ^ low)
    return Test("arp_tpa", value, mask)


def _answer(bits: int) -> Iterator[Move | SetField | Output]:
    """Turn a request round (RFC 826, "packet reception")."""
    yield Move("eth_src", 0, "eth_dst", 0, 48)
    yield SetField("eth_src", UNICAST)
    yield Move("arp_tpa", 0, "eth_src", 0, bits)
    yield SetField("arp_op", 2)
    yield Move("arp_sha", 0, "arp_tha", 0, 48)
    yield SetField("arp_sha", UNICAST)
    yield Move("arp_tpa", 0, "arp_sha", 0, bits)
    yield Move("arp_tpa", 0, "reg0", 0, 32)
    yield Move("arp_spa", 0, "arp_tpa", 0, 32)
    yield Move("reg0", 0, "arp_spa", 0, 32)
    yield Output(IN_PORT)
