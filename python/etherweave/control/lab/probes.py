"""Frames captured at all ports of a lab, and the paths of probes that hosts send.

A probe has an EtherType that no rule matches (0x88b6, local experimental 2 of IEEE 802), so that
switches treat it as any other unicast frame, and a number that identifies it.
"""

import contextlib
import ctypes
import select
import socket
import struct
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import NamedTuple

from etherweave.control.lab.layout import LabPort, Layout, host_interface
from etherweave.linux.namespaces import inside
from etherweave.linux.packets import EVERYTHING, sender

_ATTACH_FILTER, _RECEIVE_BUFFER_FORCE = 26, 33
_PACKET, _STATISTICS = 263, 6
"""``SOL_PACKET`` and ``PACKET_STATISTICS``, packet(7): frames taken and dropped since then."""
_BUFFER = 16 << 20
_READ = 2048


class CaptureIncompleteError(Exception):
    """The kernel has dropped frames, so that the capture is incomplete."""


class ObservedFrame(NamedTuple):
    """A frame at a port of a switch."""

    end: LabPort
    leaves: bool  # Whether the switch sent it; otherwise it received it.
    octets: bytes


class FrameTap(AbstractContextManager["FrameTap"]):
    """Captures the frames of an EtherType in a namespace.

    ``namespace`` is that of all switches; the kernel filters frames of another ``ether_type``.
    """

    def __init__(self, namespace: str, ether_type: int) -> None:
        with inside(namespace):
            protocol = socket.htons(EVERYTHING)
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, protocol)
        try:
            self._socket.setblocking(False)
            self._socket.setsockopt(socket.SOL_SOCKET, _RECEIVE_BUFFER_FORCE, _BUFFER)
            _filter(self._socket, ether_type)
            # Frames that arrived before the filter was set.
            for _ in self.frames():
                pass
        except BaseException:
            self._socket.close()
            raise

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def frames(self) -> Iterator[ObservedFrame]:
        """Yield the frames captured so far, in order."""
        while True:
            try:
                octets, (name, _, kind, *_) = self._socket.recvfrom(_READ)
            except BlockingIOError:
                return
            end = _lab_port(name)
            if end:
                yield ObservedFrame(end, kind == socket.PACKET_OUTGOING, octets)

    def await_frames(
        self, is_enough: Callable[[list[ObservedFrame]], bool], limit_s: float, quiet_s: float
    ) -> list[ObservedFrame]:
        """Capture until a condition and a silence, or the end of the time."""
        frames_read: list[ObservedFrame] = []
        deadline_s = time.monotonic() + limit_s
        while (left_s := deadline_s - time.monotonic()) > 0:
            wait_s = min(left_s, quiet_s)
            if select.select([self._socket], [], [], wait_s)[0]:
                frames_read.extend(self.frames())
            elif is_enough(frames_read):
                break
        self.check()
        return frames_read

    def check(self) -> None:
        """Check that the capture is complete.

        Raises ``CaptureIncompleteError`` if the kernel has dropped frames.
        """
        statistics = self._socket.getsockopt(_PACKET, _STATISTICS, 8)
        _, dropped = struct.unpack("=II", statistics)
        if dropped:
            raise CaptureIncompleteError(
                f"{dropped} frames were dropped; expected a machine with less load"
            )


def _lab_port(interface: str) -> LabPort | None:
    """Return the port of an interface; None for interfaces of Open vSwitch itself."""
    switch, has_port, port = interface.removeprefix("s").partition("p")
    with contextlib.suppress(ValueError):
        return LabPort(int(switch), int(port)) if has_port else None
    return None


def _filter(sock: socket.socket, ether_type: int) -> None:
    """Attach a filter of ``bpf(4)``: load the half-word at 12, compare, take all or nothing."""
    steps = ((0x28, 0, 0, 12), (0x15, 0, 1, ether_type), (0x06, 0, 0, 0xFFFF), (0x06, 0, 0, 0))
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    header = struct.pack("HL", len(steps), ctypes.addressof(program))
    sock.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, header)


ETHER_TYPE = 0x88B6
OCTETS = 60  # Length of a probe, without its check sequence: Ethernet's shortest frame.
AT_ONCE = 32  # Probes in flight: few enough for the queues of ports.
LIMIT_S = 5.0  # Longest wait for probes in flight [s].

_MAGIC = b"EWLP"
_HEADER = struct.Struct(">6s6sH4sI")


class ProbeFrame(NamedTuple):
    """A frame to send."""

    source: int  # Index of the host.
    target: int  # MAC address.


class PathHop(NamedTuple):
    """A switch on the path of a probe."""

    switch: int
    in_port: int
    out_port: int


class ProbePath(NamedTuple):
    """The path of a probe."""

    hops: tuple[PathHop, ...]  # Hops in order, from the host's switch on.
    entered: bool  # Whether it was captured at its port of entry.
    host: str | None  # Host where it arrived; None: at none.
    strays: int  # Captures at ports that are not on the path: copies, as of a flood.


def encode(target: int, source: int, number: int) -> bytes:
    """Write a probe."""
    header = _HEADER.pack(target.to_bytes(6), source.to_bytes(6), ETHER_TYPE, _MAGIC, number)
    return header.ljust(OCTETS, b"\0")


def number(octets: bytes) -> int | None:
    """Read the number of a probe, or None of another frame."""
    if len(octets) < _HEADER.size:
        return None
    *_, ether_type, magic, value = _HEADER.unpack_from(octets)
    return int(value) if (ether_type, magic) == (ETHER_TYPE, _MAGIC) else None


def probe_path(
    across: Mapping[LabPort, LabPort | str], start: LabPort, observed: Sequence[ObservedFrame]
) -> ProbePath:
    """Return the path of a frame by the ports where it was captured.

    ``across`` is the other end of every port, ``start`` the port of the sender. Captures come in
    any order; those of one switch in the order of time.
    """
    came = [frame.end for frame in observed if not frame.leaves]
    left = [frame.end for frame in observed if frame.leaves]
    entered = start in came
    hops: list[PathHop] = []
    place: LabPort | str | None = start
    while isinstance(place, LabPort) and place in came:
        came.remove(place)
        out = next((end for end in left if end.switch == place.switch), None)
        if out is None:
            return ProbePath(tuple(hops), entered, None, len(came) + len(left))
        left.remove(out)
        hops.append(PathHop(place.switch, place.port, out.port))
        place = across[out]
    host = place if isinstance(place, str) else None
    return ProbePath(tuple(hops), entered, host, len(came) + len(left))


class ProbeSender(AbstractContextManager["ProbeSender"]):
    """Sends probes from the hosts of a lab, and captures them at all ports."""

    def __init__(self, layout: Layout) -> None:
        self._hosts = layout.plan.hosts
        self._across = layout.across
        index = layout.switches
        self._starts = [LabPort(index[host.switch], host.port) for host in self._hosts]
        self._sent = 0
        with ExitStack() as stack:
            self._sockets = [
                stack.enter_context(sender_in(layout.host(host.host), host_interface(host)))
                for host in self._hosts
            ]
            self._sources = [sock.getsockname()[4] for sock in self._sockets]
            self._tap = stack.enter_context(FrameTap(layout.fabric, ETHER_TYPE))
            self._stack = stack.pop_all()

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def mac(self, host: int) -> int:
        """Return the present MAC address of a host."""
        return int.from_bytes(self._sources[host])

    def follow(
        self, probes: Sequence[ProbeFrame], quiet_s: float = 0.02, *, arrive: bool = True
    ) -> Iterator[ProbePath]:
        """Send probes and yield their paths, in order.

        The capture ends after a silence of ``quiet_s`` [s]; ``arrive`` waits until every probe
        arrives at a host.
        """
        for first in range(0, len(probes), AT_ONCE):
            yield from self._some(probes[first : first + AT_ONCE], quiet_s, arrive)

    def _some(
        self, probes: Sequence[ProbeFrame], quiet_s: float, arrive: bool
    ) -> Iterator[ProbePath]:
        first = self._sent
        self._sent += len(probes)
        for place, probe in enumerate(probes):
            octets = encode(probe.target, self.mac(probe.source), first + place)
            self._sockets[probe.source].send(octets)

        def is_enough(observed: list[ObservedFrame]) -> bool:
            out = sum(sent.leaves and isinstance(self._across[sent.end], str) for sent in observed)
            return out >= len(probes) or not arrive

        observed: dict[int | None, list[ObservedFrame]] = defaultdict(list)
        for await_frame in self._tap.await_frames(is_enough, LIMIT_S, quiet_s):
            observed[number(await_frame.octets)].append(await_frame)
        for place, probe in enumerate(probes):
            yield probe_path(self._across, self._starts[probe.source], observed[first + place])


def sender_in(namespace: str, interface: str) -> socket.socket:
    """Open a socket that sends frames at an interface of a namespace."""
    with inside(namespace):
        return sender(interface)
