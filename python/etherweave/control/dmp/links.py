"""Changes of links, which the kernel reports over rtnetlink.

Four fields of each message are read, without pyroute2, whose import (0.3 s) would delay the boot of
hosts. Layout: ``linux/netlink.h``, ``linux/rtnetlink.h``, ``linux/if_link.h``; numbers are in the
machine's byte order.
"""

import socket
import struct
from collections.abc import Iterator
from typing import NamedTuple

_NEW_LINK, _DELETED_LINK = 16, 17
_GROUP_OF_LINKS = 1
_NAME, _CARRIER_CHANGES = 3, 35
_RUNNING = 0x40
_MESSAGE = struct.Struct("=IHHII")
_LINK = struct.Struct("=BxHiII")
_ATTRIBUTE = struct.Struct("=HH")
_OCTETS_MAX = 65_536


class LinkChange(NamedTuple):
    """State of an interface after a change."""

    name: str
    is_running: bool  # Set up, with carrier.
    changes: int | None  # Number of changes of the carrier; None: not reported.
    is_gone: bool


def open_links() -> socket.socket:
    """Open a non-blocking socket for changes of links in this network namespace."""
    listener = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    listener.setblocking(False)
    listener.bind((0, _GROUP_OF_LINKS))
    return listener


def received_links(listener: socket.socket) -> list[LinkChange] | None:
    """Read the queued changes; None: messages of unknown interfaces were lost."""
    changes: list[LinkChange] = []
    while True:
        try:
            changes += links(listener.recv(_OCTETS_MAX))
        except BlockingIOError:
            return changes
        except OSError:
            # ENOBUFS: the queue of the socket has overflowed.
            return None


def links(octets: bytes) -> Iterator[LinkChange]:
    """Read messages up to a truncated one."""
    while len(octets) >= _MESSAGE.size:
        length, kind, *_ = _MESSAGE.unpack_from(octets)
        if not _MESSAGE.size <= length <= len(octets):
            return
        body = octets[_MESSAGE.size : length]
        if kind in (_NEW_LINK, _DELETED_LINK) and len(body) >= _LINK.size:
            yield _link(body, kind == _DELETED_LINK)
        octets = octets[_aligned(length) :]


def _link(body: bytes, is_gone: bool) -> LinkChange:
    _, _, _, flags, _ = _LINK.unpack_from(body)
    values = dict(_attributes(body[_LINK.size :]))
    name = values.get(_NAME, b"").rstrip(b"\0").decode(errors="replace")
    changes = values.get(_CARRIER_CHANGES, b"")
    count = struct.unpack("=I", changes)[0] if len(changes) == 4 else None
    return LinkChange(name, bool(flags & _RUNNING), count, is_gone)


def _attributes(octets: bytes) -> Iterator[tuple[int, bytes]]:
    while len(octets) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(octets)
        if not _ATTRIBUTE.size <= length <= len(octets):
            return
        yield kind, octets[_ATTRIBUTE.size : length]
        octets = octets[_aligned(length) :]


def _aligned(length: int) -> int:
    return (length + 3) & ~3
