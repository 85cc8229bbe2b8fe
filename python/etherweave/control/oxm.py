"""Fields of packets as OpenFlow 1.3 writes them: OXM, "OpenFlow extensible match".

A field is a header of four octets (class, number, whether a mask follows, length) and its value.
Numbers and lengths: OpenFlow 1.3.5, table 12 (section 7.2.3.7).
"""

from typing import NamedTuple

from etherweave.control.rules import MatchField

_CLASS = 0x8000  # ``OFPXMC_OPENFLOW_BASIC``.


class Field(NamedTuple):
    """A field of a packet."""

    name: str
    number: int  # ``oxm_field``.
    octets: int  # Length of a value [bytes].


FIELDS = {
    field.name: field
    for field in (
        Field("in_port", 0, 4),
        Field("in_phy_port", 1, 4),
        Field("metadata", 2, 8),
        Field("eth_dst", 3, 6),
        Field("eth_src", 4, 6),
        Field("eth_type", 5, 2),
        Field("vlan_vid", 6, 2),
        Field("vlan_pcp", 7, 1),
        Field("ip_dscp", 8, 1),
        Field("ip_ecn", 9, 1),
        Field("ip_proto", 10, 1),
        Field("ipv4_src", 11, 4),
        Field("ipv4_dst", 12, 4),
        Field("tcp_src", 13, 2),
        Field("tcp_dst", 14, 2),
        Field("udp_src", 15, 2),
        Field("udp_dst", 16, 2),
        Field("icmpv4_type", 19, 1),
        Field("icmpv4_code", 20, 1),
        Field("arp_op", 21, 2),
        Field("arp_spa", 22, 4),
        Field("arp_tpa", 23, 4),
        Field("arp_sha", 24, 6),
        Field("arp_tha", 25, 6),
        Field("ipv6_src", 26, 16),
        Field("ipv6_dst", 27, 16),
        Field("icmpv6_type", 29, 1),
        Field("icmpv6_code", 30, 1),
        Field("ipv6_nd_target", 31, 16),
        Field("ipv6_nd_sll", 32, 6),
        Field("ipv6_nd_tll", 33, 6),
    )
}
"""The fields that a rule may name."""

_BY_NUMBER = {field.number: field for field in FIELDS.values()}
_HEADERS = {name: (_CLASS << 16 | at << 9 | size).to_bytes(4) for name, at, size in FIELDS.values()}
_MASKED_HEADERS = {
    name: (_CLASS << 16 | number << 9 | 1 << 8 | 2 * octets).to_bytes(4)
    for name, number, octets in FIELDS.values()
}


_NICIRA_HEADERS = {
    name: (0 << 16 | number << 9 | octets).to_bytes(4)
    for name, number, octets in (
        ("eth_dst", 1, 6),
        ("eth_src", 2, 6),
        ("arp_op", 15, 2),
        ("arp_spa", 16, 4),
        ("arp_tpa", 17, 4),
    )
} | {
    name: (1 << 16 | number << 9 | octets).to_bytes(4)
    for name, number, octets in (("reg0", 0, 4), ("arp_sha", 17, 6), ("arp_tha", 18, 6))
}
"""``NXM_OF_...`` and ``NXM_NX_...`` of Open vSwitch's nicira-ext.h."""


def nicira_header(name: str) -> bytes:
    """Write a field's header for Nicira's actions, as Open vSwitch reports it.

    Raises ``KeyError`` if there is no such field.
    """
    return _NICIRA_HEADERS[name]


def encode(field: MatchField) -> bytes:
    """Write a field with its value, and its mask if it has one.

    Bits of the value that the mask leaves out are 0, as section 7.2.3.5 wants them.

    Raises ``KeyError`` if there is no such field and ``OverflowError`` if the value or the mask
    does not fit in the field.
    """
    name, value, mask = field
    octets = FIELDS[name].octets
    if mask is None:
        return _HEADERS[name] + value.to_bytes(octets)
    return _MASKED_HEADERS[name] + (value & mask).to_bytes(octets) + mask.to_bytes(octets)


def decode(octets: bytes) -> tuple[MatchField, ...] | None:
    """Read fields one after another.

    A mask of all ones is ``None``; ``None`` is returned instead of a tuple if a field is unknown or
    truncated.
    """
    fields = []
    while octets:
        field = _first(octets)
        if field is None:
            return None
        fields.append(field)
        octets = octets[4 + octets[3] :]
    return tuple(fields)


def _first(octets: bytes) -> MatchField | None:
    if len(octets) < 4:
        return None
    head = int.from_bytes(octets[:4])
    field = _BY_NUMBER.get(head >> 9 & 0x7F)
    masked = head >> 8 & 1
    if field is None or head >> 16 != _CLASS or len(octets) < 4 + octets[3]:
        return None
    if head & 0xFF != field.octets << masked:
        return None
    end = 4 + field.octets
    value = int.from_bytes(octets[4:end])
    mask = int.from_bytes(octets[end : end + field.octets]) if masked else None
    return MatchField(field.name, value, None if mask == (1 << 8 * field.octets) - 1 else mask)
