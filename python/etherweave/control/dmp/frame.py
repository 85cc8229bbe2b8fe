"""The frame of the Dynamic MAC Protocol, to the octet.

::

     0        6        12      14      18   19   20       28        60
     ├────────┼────────┼───────┼───────┼────┼────┼────────┼─────────┤
     │ group  │ source │ 88 b5 │ magic │ ver│type│ nonce  │ zeros   │
     └────────┴────────┴───────┴───────┴────┴────┴────────┴─────────┘

60 octets: the shortest frame of Ethernet without its check sequence, so that NICs add no padding.
Addresses are whole numbers, most significant octet first.
"""

import struct
from enum import StrEnum
from typing import NamedTuple

ETHERTYPE = 0x88B5  # Local experimental EtherType 1 (IEEE Std 802); the one of the paper.
GROUP = 0x03_00_00_00_88_B5
"""Destination of requests: a group address of local administration.

No forwarding rule matches it, so that a switch without the rule for DMP drops a request, while a
broadcast would reach every host; NICs of other hosts filter it out; and, unlike frames to
01:80:c2:00:00:0x, no switch consumes it before its rules are applied.
"""
MAGIC = b"EWDM"
VERSION = 1
REQUEST = 1  # The only type: a switch cannot write another one into its answer.
NONCE_OCTETS = 8
LENGTH = 60  # [octets], without the check sequence.

_HEADER = struct.Struct(f">6s6sH4sBB{NONCE_OCTETS}s")
_TAGS = {0x8100, 0x88A8, 0x9100}
"""EtherTypes of VLAN tags: IEEE Std 802.1Q, and a common one before it."""
_GROUP_BIT = 1 << 40
_LOCAL_BIT = 1 << 41


class DmpFrame(NamedTuple):
    """A request, or a switch's answer to it."""

    destination: int
    source: int
    nonce: bytes  # Chosen at random by the host; ties the answer to the request.


class FrameFault(StrEnum):
    """Why a frame is not one of this protocol; checked in this order."""

    TRUNCATED = "shorter than 60 octets"
    TAGGED = "with a VLAN tag"
    FOREIGN_TYPE = "of another EtherType"
    FOREIGN = "of another protocol on EtherType 0x88b5"
    VERSION = "of another version"
    TYPE = "of an unknown type"
    OVERSIZED = "longer than 60 octets"
    PADDING = "with something in the padding"


def encode(frame: DmpFrame) -> bytes:
    """Write a frame.

    Raises ``ValueError`` if an address has more than 48 bits, or the nonce not 8 octets.
    """
    if max(frame.destination, frame.source) >> 48 or min(frame.destination, frame.source) < 0:
        raise ValueError(f"address of {frame}: expected 48 bits")
    if len(frame.nonce) != NONCE_OCTETS:
        raise ValueError(f"nonce {frame.nonce.hex()}: expected {NONCE_OCTETS} octets")
    addresses = frame.destination.to_bytes(6), frame.source.to_bytes(6)
    header = _HEADER.pack(*addresses, ETHERTYPE, MAGIC, VERSION, REQUEST, frame.nonce)
    return header.ljust(LENGTH, b"\0")


def decode(octets: bytes) -> DmpFrame | FrameFault:
    """Read a frame, or return what is wrong with it; accepts any octets."""
    if len(octets) < LENGTH:
        return FrameFault.TRUNCATED
    destination, source, ethertype, magic, version, kind, nonce = _HEADER.unpack_from(octets)
    if ethertype != ETHERTYPE:
        return FrameFault.TAGGED if ethertype in _TAGS else FrameFault.FOREIGN_TYPE
    faults = (
        (magic != MAGIC, FrameFault.FOREIGN),
        (version != VERSION, FrameFault.VERSION),
        (kind != REQUEST, FrameFault.TYPE),
        (len(octets) > LENGTH, FrameFault.OVERSIZED),
        (any(octets[_HEADER.size : LENGTH]), FrameFault.PADDING),
    )
    fault = next((fault_kind for is_made, fault_kind in faults if is_made), None)
    return fault or DmpFrame(int.from_bytes(destination), int.from_bytes(source), nonce)


def is_group(mac: int) -> bool:
    """Return whether an address is a group address: multicast or broadcast."""
    return bool(mac & _GROUP_BIT)


def is_local(mac: int) -> bool:
    """Return whether an address is of local administration: not from a factory."""
    return bool(mac & _LOCAL_BIT)


def local_host(number: int) -> int:
    """Make an address of a single host, of local administration, from any 48 bits."""
    return number & ~_GROUP_BIT | _LOCAL_BIT
