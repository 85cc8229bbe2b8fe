"""Frames sent through a lab one by one, and the way that each took, port by port.

A probe has an EtherType that no rule knows (0x88b6, local experimental 2 of IEEE 802), so that
switches treat it as any other unicast frame, and a number by which it is told from the rest.
"""

import socket
import struct
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import NamedTuple

from etherweave.control.lab.layout import HOST_INTERFACE, End, Layout
from etherweave.control.lab.namespaces import inside
from etherweave.control.lab.tap import Seen, Tap

ETHER_TYPE = 0x88B6
OCTETS = 60
"""Of a probe, without its check sequence: the shortest frame of Ethernet."""
AT_ONCE = 32
"""Probes under way: few enough for the queues of any port."""
LIMIT_S = 5.0
"""Longest wait for probes under way [s]."""

_MAGIC = b"EWLP"
_HEADER = struct.Struct(">6s6sH4sI")


class Probe(NamedTuple):
    """A frame to send."""

    source: int
    """Index of the host."""
    target: int
    """MAC address."""


class Hop(NamedTuple):
    """A switch on the way of a probe."""

    switch: int
    in_port: int
    out_port: int


class Walk(NamedTuple):
    """What became of a probe."""

    hops: tuple[Hop, ...]
    """In order, from the host's switch on."""
    entered: bool
    """Whether it was seen where it was sent in."""
    host: str | None
    """Where it came out; none: nowhere."""
    strays: int
    """How often it was seen at ports that are not on this way: copies, that is, floods."""


def encode(target: int, source: int, number: int) -> bytes:
    """Write a probe."""
    header = _HEADER.pack(target.to_bytes(6), source.to_bytes(6), ETHER_TYPE, _MAGIC, number)
    return header.ljust(OCTETS, b"\0")


def number(octets: bytes) -> int | None:
    """Read the number of a probe; none: it is none."""
    if len(octets) < _HEADER.size:
        return None
    *_, ether_type, magic, value = _HEADER.unpack_from(octets)
    return int(value) if (ether_type, magic) == (ETHER_TYPE, _MAGIC) else None


def walk(across: Mapping[End, End | str], start: End, seen: Sequence[Seen]) -> Walk:
    """Put together the way of one frame from where it was seen.

    Parameters
    ----------
    across
        What is plugged into every port.
    start
        Where the sender is plugged in.
    seen
        In any order; where a switch was passed twice, in that of time.
    """
    came = [one.end for one in seen if not one.leaves]
    left = [one.end for one in seen if one.leaves]
    entered = start in came
    hops: list[Hop] = []
    place: End | str | None = start
    while isinstance(place, End) and place in came:
        came.remove(place)
        out = next((end for end in left if end.switch == place.switch), None)
        if out is None:
            return Walk(tuple(hops), entered, None, len(came) + len(left))
        left.remove(out)
        hops.append(Hop(place.switch, place.port, out.port))
        place = across[out]
    host = place if isinstance(place, str) else None
    return Walk(tuple(hops), entered, host, len(came) + len(left))


class Walker:
    """Sends probes from the hosts of a lab, and hears them everywhere.

    Parameters
    ----------
    layout
        Of the lab.
    """

    def __init__(self, layout: Layout) -> None:
        self._hosts = layout.plan.hosts
        self._across = layout.across
        index = layout.switches
        self._starts = [End(index[host.switch], host.port) for host in self._hosts]
        self._sent = 0
        with ExitStack() as stack:
            self._sockets = [
                stack.enter_context(_sender(layout.host(host.name))) for host in self._hosts
            ]
            self._sources = [one.getsockname()[4] for one in self._sockets]
            self._tap = stack.enter_context(Tap(layout.fabric, ETHER_TYPE))
            self._stack = stack.pop_all()

    def __enter__(self) -> "Walker":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def mac(self, host: int) -> int:
        """Return the address that a host has now."""
        return int.from_bytes(self._sources[host])

    def follow(
        self, probes: Sequence[Probe], quiet_s: float = 0.02, *, arrive: bool = True
    ) -> Iterator[Walk]:
        """Send probes and tell their ways, in their order.

        Parameters
        ----------
        probes
            What to send.
        quiet_s
            Silence after which all is over [s].
        arrive
            Whether each is waited for until it comes out somewhere.
        """
        for first in range(0, len(probes), AT_ONCE):
            yield from self._some(probes[first : first + AT_ONCE], quiet_s, arrive)

    def _some(self, probes: Sequence[Probe], quiet_s: float, arrive: bool) -> Iterator[Walk]:
        first = self._sent
        self._sent += len(probes)
        for place, probe in enumerate(probes):
            octets = encode(probe.target, self.mac(probe.source), first + place)
            self._sockets[probe.source].send(octets)

        def is_enough(seen: list[Seen]) -> bool:
            out = sum(one.leaves and isinstance(self._across[one.end], str) for one in seen)
            return out >= len(probes) or not arrive

        seen: dict[int | None, list[Seen]] = defaultdict(list)
        for one in self._tap.settled(is_enough, LIMIT_S, quiet_s):
            seen[number(one.octets)].append(one)
        for place, probe in enumerate(probes):
            yield walk(self._across, self._starts[probe.source], seen[first + place])


def _sender(namespace: str) -> socket.socket:
    with inside(namespace):
        one = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        try:
            one.bind((HOST_INTERFACE, 0))
        except BaseException:
            one.close()
            raise
        return one
