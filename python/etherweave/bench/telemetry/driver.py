"""The driver's own counters, asked for without a program: a recorder asks often.

``ethtool -S`` asks the same by the same calls (linux/ethtool.h), in its own process.
"""

import ctypes
import fcntl
import socket
import struct

_SIOCETHTOOL = 0x8946
_GSTRINGS, _GSTATS, _GSSET_INFO = 0x1B, 0x1D, 0x37
_STATISTICS = 1
_NAME = 32
"""Octets of a counter's name."""
_MOST = 1 << 16
"""No card has more counters."""
_SPARE = 4096
"""Room for counters that appear between two calls: the kernel writes as many as there are."""


def driver_counters(interface: str) -> dict[str, int]:
    """Read the counters of an interface's driver; none where it has none.

    Parameters
    ----------
    interface
        Its name, in this network namespace.
    """
    if not 0 < len(interface.encode()) < 16 or "\0" in interface:
        return {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        try:
            return _counters(way, interface.encode())
        except OSError:
            return {}


def _counters(way: socket.socket, interface: bytes) -> dict[str, int]:
    question = struct.pack("=IIQI", _GSSET_INFO, 0, 1 << _STATISTICS, 0)
    _, _, mask, count = struct.unpack_from("=IIQI", _asked(way, interface, question, 0))
    if not mask or count > _MOST:
        return {}
    room = count + _SPARE
    question = struct.pack("=III", _GSTRINGS, _STATISTICS, count)
    strings = _asked(way, interface, question, room * _NAME)
    values = _asked(way, interface, struct.pack("=II", _GSTATS, count), room * 8)
    names = [strings[12 + at * _NAME :][:_NAME].split(b"\0")[0] for at in range(count)]
    numbers = struct.unpack_from(f"={count}Q", values, 8)
    return {
        name.decode(errors="replace").strip(): number
        for name, number in zip(names, numbers, strict=True)
    }


def _asked(way: socket.socket, interface: bytes, question: bytes, room: int) -> bytes:
    """Ask by ``struct ifreq``: 16 octets of name and a pointer, 40 octets in all."""
    buffer = ctypes.create_string_buffer(question, len(question) + room)
    request = struct.pack("16sP", interface, ctypes.addressof(buffer)).ljust(40, b"\0")
    fcntl.ioctl(way, _SIOCETHTOOL, request)
    return buffer.raw
