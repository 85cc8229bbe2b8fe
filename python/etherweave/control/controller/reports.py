"""Tables that a switch reports, read from the octets of its replies.

os-ken reads them at a fifth of the speed; here matches and instructions stay octets, which are
compared with the octets of the plan.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from etherweave.control.messages import ANY, MessageType, match, message

_MULTIPART = struct.Struct("!HH4x")
_FLOW_REQUEST = struct.Struct("!B3xII4xQQ")
_FLOW = struct.Struct("!HBxIIHHHH4xQQQ")
_GROUP = struct.Struct("!HBxI")
_METER = struct.Struct("!HHI")
_ALL = 0xFFFFFFFF


class SwitchReportError(ValueError):
    """A report of a switch cannot be read."""


class ReportPart(IntEnum):
    """Reports that a switch sends in several messages (``ofp_multipart_type``)."""

    FLOWS = 1
    GROUPS = 7
    METERS = 10
    PORTS = 13


class ReportedEntry(NamedTuple):
    """A flow entry as a switch reports it."""

    table: int
    priority: int
    match: bytes  # ``ofp_match`` with its padding.
    instructions: bytes
    cookie: int | None  # None: unknown, because the entry follows from a plan.
    expires: bool = False  # Whether it has a time-out.


@dataclass(frozen=True, slots=True)
class ReportedTables:
    """Tables of a switch; groups and meters by number, as the octets after the number."""

    entries: tuple[ReportedEntry, ...] = ()
    groups: Mapping[int, bytes] = field(default_factory=dict)
    meters: Mapping[int, bytes] = field(default_factory=dict)


def request(part: ReportPart, xid: int) -> bytes:
    """Write a MULTIPART_REQUEST (7.3.5) for a whole report."""
    body = {
        ReportPart.FLOWS: _FLOW_REQUEST.pack(0xFF, ANY, ANY, 0, 0) + match(()),
        ReportPart.METERS: struct.pack("!I4x", _ALL),
    }.get(part, b"")
    return message(MessageType.MULTIPART_REQUEST, _MULTIPART.pack(part, 0) + body, xid)


def answer(octets: bytes) -> tuple[bool, bytes]:
    """Split a MULTIPART_REPLY: whether more messages follow, and what it holds."""
    if len(octets) < 16:
        raise SwitchReportError(f"a MULTIPART_REPLY of {len(octets)} octets; expected at least 16")
    _, flags = _MULTIPART.unpack_from(octets, 8)
    return bool(flags & 1), octets[16:]


def entries(octets: bytes) -> Iterator[ReportedEntry]:
    """Read flow entries (``ofp_flow_stats``, 7.3.5.2)."""
    for item in _items(octets, _FLOW.size + 8, "flow entry"):
        _, table, _, _, priority, idle, hard, _, cookie, _, _ = _FLOW.unpack_from(item)
        length = int.from_bytes(item[_FLOW.size + 2 : _FLOW.size + 4])
        end = _FLOW.size + length + -length % 8
        if length < 4 or end > len(item):
            raise SwitchReportError(f"a match of {length} octets in a flow entry of {len(item)}")
        written = item[_FLOW.size : end]
        yield ReportedEntry(table, priority, written, item[end:], cookie, bool(idle or hard))


def groups(octets: bytes) -> dict[int, bytes]:
    """Read groups (``ofp_group_desc``, 7.3.5.9): type and buckets by number."""
    parsed = {}
    for item in _items(octets, _GROUP.size, "group"):
        _, kind, number = _GROUP.unpack_from(item)
        parsed[number] = bytes([kind]) + item[_GROUP.size :]
    return parsed


def meters(octets: bytes) -> dict[int, bytes]:
    """Read meters (``ofp_meter_config``, 7.3.5.13): flags and bands by number."""
    parsed = {}
    for item in _items(octets, _METER.size, "meter"):
        _, flags, number = _METER.unpack_from(item)
        parsed[number] = flags.to_bytes(2) + item[_METER.size :]
    return parsed


def _items(octets: bytes, least: int, what: str) -> Iterator[bytes]:
    """Split a sequence whose members begin with their length."""
    start = 0
    while start < len(octets):
        length = int.from_bytes(octets[start : start + 2])
        if length < least or start + length > len(octets):
            left = len(octets) - start
            raise SwitchReportError(f"a {what} of {length} octets; expected {least} to {left}")
        yield octets[start : start + length]
        start += length
