"""Packet sockets: frames at an interface, and when the kernel took them (packet(7), socket(7))."""

import socket
import struct
from collections.abc import Iterable

EVERYTHING = 0x0003
"""All EtherTypes (``ETH_P_ALL``)."""
_PACKET, _IGNORE_OUTGOING = 263, 23
"""``SOL_PACKET`` and ``PACKET_IGNORE_OUTGOING``, which Python does not name."""
_TIMESTAMPS = 35
"""``SO_TIMESTAMPNS``."""
_TIME = struct.Struct("=qq")


def listening(interface: str, ether_type: int) -> socket.socket:
    """Open a socket that never blocks, for what comes in by an interface.

    Raises
    ------
    OSError
        There is no such interface, or the caller may not listen.
    """
    one = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
    try:
        one.setsockopt(_PACKET, _IGNORE_OUTGOING, 1)
        one.setsockopt(socket.SOL_SOCKET, _TIMESTAMPS, 1)
        one.bind((interface, ether_type))
    except OSError:
        one.close()
        raise
    return one


def received_ns(ancillary: Iterable[tuple[int, int, bytes]]) -> int | None:
    """Tell when the kernel took a frame, by the real-time clock, from what ``recvmsg`` told."""
    for level, kind, stamp in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, _TIMESTAMPS):
            seconds, rest_ns = _TIME.unpack(stamp)
            return int(seconds) * 10**9 + int(rest_ns)
    return None
