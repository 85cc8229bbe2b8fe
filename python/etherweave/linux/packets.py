"""Packet sockets: raw frames at an interface, and when they arrived (packet(7), socket(7)).

By the standard library: pyroute2 speaks netlink, and a packet socket takes three calls.
"""

import socket
import struct
from collections.abc import Iterable

EVERYTHING = 0x0003  # All EtherTypes (``ETH_P_ALL``).
_PACKET, _IGNORE_OUTGOING = 263, 23
"""``SOL_PACKET`` and ``PACKET_IGNORE_OUTGOING``, which Python does not name."""
_TIMESTAMPS = 35  # ``SO_TIMESTAMPNS``.
_TIME = struct.Struct("=qq")


def sender(interface: str) -> socket.socket:
    """Open a socket that sends frames at an interface and receives none.

    Raises ``OSError`` if there is no such interface, or the caller lacks the right to raw frames.
    """
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    try:
        sock.bind((interface, 0))
    except OSError:
        sock.close()
        raise
    return sock


def receiver(interface: str, ether_type: int) -> socket.socket:
    """Open a non-blocking socket for the frames that arrive at an interface, with their times.

    Raises ``OSError`` if there is no such interface, or the caller lacks the right to raw frames.
    """
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
    try:
        sock.setsockopt(_PACKET, _IGNORE_OUTGOING, 1)
        sock.setsockopt(socket.SOL_SOCKET, _TIMESTAMPS, 1)
        sock.bind((interface, ether_type))
    except OSError:
        sock.close()
        raise
    return sock


def received_ns(ancillary: Iterable[tuple[int, int, bytes]]) -> int | None:
    """Return when the kernel received a frame [ns, real-time clock], from ``recvmsg``."""
    for level, kind, stamp in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, _TIMESTAMPS):
            seconds, rest_ns = _TIME.unpack(stamp)
            return int(seconds) * 10**9 + int(rest_ns)
    return None
