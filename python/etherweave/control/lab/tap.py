"""Hears what passes every port of the fabric, in both directions, on one socket."""

import contextlib
import ctypes
import select
import socket
import struct
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from etherweave.control.lab.layout import End
from etherweave.control.lab.namespaces import inside

_ALL = 0x0003
"""``ETH_P_ALL``: before anything else in the kernel takes a frame, and on its way out as well."""
_ATTACH_FILTER, _RECEIVE_BUFFER_FORCE = 26, 33
_PACKET, _STATISTICS = 263, 6
"""``SOL_PACKET`` and ``PACKET_STATISTICS``, packet(7): frames taken and dropped since then."""
_BUFFER = 16 << 20
_READ = 2048


class TapError(Exception):
    """Not everything was heard, so that nothing can be said."""


class Seen(NamedTuple):
    """A frame at a port of a switch."""

    end: End
    leaves: bool
    """Whether the switch sent it; otherwise it came in."""
    octets: bytes


class Tap:
    """Hears the frames of an EtherType in a namespace, from its making on.

    Parameters
    ----------
    namespace
        That of all switches.
    ether_type
        Others are left out by the kernel.
    """

    def __init__(self, namespace: str, ether_type: int) -> None:
        with inside(namespace):
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL))
        try:
            self._socket.setblocking(False)
            self._socket.setsockopt(socket.SOL_SOCKET, _RECEIVE_BUFFER_FORCE, _BUFFER)
            _filter(self._socket, ether_type)
            # What came before there was a filter.
            for _ in self.seen():
                pass
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> "Tap":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def seen(self) -> Iterator[Seen]:
        """Yield what was heard so far, in order."""
        while True:
            try:
                octets, (name, _, kind, *_) = self._socket.recvfrom(_READ)
            except BlockingIOError:
                return
            end = _end(name)
            if end:
                yield Seen(end, kind == socket.PACKET_OUTGOING, octets)

    def settled(
        self, is_enough: Callable[[list[Seen]], bool], limit_s: float, quiet_s: float = 0.05
    ) -> list[Seen]:
        """Listen until it is enough and silent for a moment, or the time is over."""
        heard: list[Seen] = []
        deadline_s = time.monotonic() + limit_s
        while (left_s := deadline_s - time.monotonic()) > 0:
            wait_s = min(left_s, quiet_s)
            if select.select([self._socket], [], [], wait_s)[0]:
                heard.extend(self.seen())
            elif is_enough(heard):
                break
        self.check()
        return heard

    def check(self) -> None:
        """Make sure that everything was heard.

        Raises
        ------
        TapError
            If the kernel had to leave frames out.
        """
        told = self._socket.getsockopt(_PACKET, _STATISTICS, 8)
        _, dropped = struct.unpack("=II", told)
        if dropped:
            raise TapError(f"{dropped} frames were not heard; expected a machine with less load")


def _end(interface: str) -> End | None:
    """Read the port of an interface; those of Open vSwitch itself are none."""
    switch, has_port, port = interface.removeprefix("s").partition("p")
    with contextlib.suppress(ValueError):
        return End(int(switch), int(port)) if has_port else None
    return None


def _filter(one: socket.socket, ether_type: int) -> None:
    """Attach a filter of ``bpf(4)``: load the half-word at 12, compare, take all or nothing."""
    steps = ((0x28, 0, 0, 12), (0x15, 0, 1, ether_type), (0x06, 0, 0, 0xFFFF), (0x06, 0, 0, 0))
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    header = struct.pack("HL", len(steps), ctypes.addressof(program))
    one.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, header)
