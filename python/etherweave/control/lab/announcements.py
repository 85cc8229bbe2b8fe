"""Services that announce the address of their host, and what their receivers record.

::

    host A ── announcement to all: header from A', "my address is A" ──► host B records A or A'
    host B ── frame to the recorded address ──► arrives at A, or nowhere

Where switches rewrite addresses, the header has A' (hierarchical) and the payload A (the
factory's), to which no rule leads: a receiver that records the payload, as Open-MX does, never
reaches the host (section IV of Benito et al. 2015). Recorded from the header the address is right,
which is the paper's first alternative; by DMP both are the same address, which is its second.

Three services: one like Open-MX, whose payload no switch knows; ARP, whose payload OpenFlow 1.3 can
rewrite; announcements of IPv6's neighbour discovery, whose payload the plan does not rewrite.
Of Open-MX, EtherType and broadcast are its own; the rest of the frame is not.
"""

import socket
import struct
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from enum import StrEnum
from typing import NamedTuple

from etherweave.linux.packets import receiver, sender

OPEN_MX, ARP, IPV6 = 0x86DF, 0x0806, 0x86DD
"""EtherTypes; the first is of Myricom, and Open-MX uses it."""
_BROADCAST, _ALL_NODES = b"\xff" * 6, b"\x33\x33\x00\x00\x00\x01"
_OCTETS_MIN = 60
_HEADER = struct.Struct("!6s6sH")
_MESSAGE = struct.Struct("!4sBHBB6s")
_MAGIC = b"EWAN"
_ANNOUNCED, _SENT = 1, 2
_ARP = struct.Struct("!HHBBH6sI6sI")
_IPV6 = struct.Struct("!IHBB16s16s")
_ADVERTISEMENT = struct.Struct("!BBHI16sBB6s")
_ICMPV6, _NEIGHBOUR_ADVERTISEMENT, _TARGET_ADDRESS, _OVERRIDE = 58, 136, 2, 1 << 29
_LINK_LOCAL, _ALL_NODES_IPV6 = 0xFE80 << 112, 0xFF02 << 112 | 1
_READ = 2048
_FRAMES_MAX = 4096  # Frames read in one step.


class AnnouncedService(StrEnum):
    """Services that announce themselves to all hosts."""

    OPEN_MX = "Open-MX"
    ARP = "ARP"  # ARP announcements (RFC 5227, section 2.3).
    NEIGHBOUR = "IPv6 neighbour"  # Unsolicited neighbour advertisements (RFC 4861, section 7.2.6).


class RecordedFrom(StrEnum):
    """Part of an announcement from which its receiver records the address."""

    PAYLOAD = "payload"
    HEADER = "header"


class Announcement(NamedTuple):
    """A host's announcement, as received."""

    service: AnnouncedService
    host: int  # Index of the host.
    payload: bytes  # MAC address in the data field.
    header: bytes  # Source of the frame.

    def address(self, source: RecordedFrom) -> bytes:
        """Return the address that a receiver records."""
        return self.payload if source is RecordedFrom.PAYLOAD else self.header


class Reached(NamedTuple):
    """A frame to a recorded address that has arrived."""

    sender: int  # Index of the host that recorded the address.
    service: AnnouncedService
    source: RecordedFrom


_SERVICES, _SOURCES = tuple(AnnouncedService), tuple(RecordedFrom)


def announcement(service: AnnouncedService, host: int, mac: bytes, ipv4: int) -> bytes:
    """Write a host's announcement.

    ``mac`` stands in the header and in the payload; ``ipv4`` is the address of ARP's announcement.
    """
    if service is AnnouncedService.OPEN_MX:
        body = _MESSAGE.pack(_MAGIC, _ANNOUNCED, host, 0, 0, mac)
        return _frame(_BROADCAST, mac, OPEN_MX, body)
    if service is AnnouncedService.ARP:
        body = _ARP.pack(1, 0x0800, 6, 4, 1, mac, ipv4, bytes(6), ipv4)
        return _frame(_BROADCAST, mac, ARP, body)
    return _frame(_ALL_NODES, mac, IPV6, _advertisement(host, mac))


def read_announcement(octets: bytes, hosts: Collection[int]) -> Announcement | None:
    """Read an announcement, or None of another frame.

    ``hosts`` are the IPv4 addresses of all hosts, by index.
    """
    _, source, ether_type = _HEADER.unpack_from(octets)
    body = octets[_HEADER.size :]
    if ether_type == OPEN_MX:
        magic, kind, host, _, _, mac = _MESSAGE.unpack_from(body)
        if (magic, kind) == (_MAGIC, _ANNOUNCED):
            return Announcement(AnnouncedService.OPEN_MX, host, mac, source)
    elif ether_type == ARP:
        *_, mac, own, _, target = _ARP.unpack_from(body)
        if own == target and own in hosts:
            return Announcement(AnnouncedService.ARP, list(hosts).index(own), mac, source)
    elif ether_type == IPV6:
        return _read_advertisement(body, source)
    return None


def message(target: bytes, mac: bytes, reached: Reached) -> bytes:
    """Write a frame to a recorded address; says how the address was recorded."""
    service, source = _SERVICES.index(reached.service), _SOURCES.index(reached.source)
    body = _MESSAGE.pack(_MAGIC, _SENT, reached.sender, service, source, bytes(6))
    return _frame(target, mac, OPEN_MX, body)


def read_message(octets: bytes) -> Reached | None:
    """Read a frame to a recorded address, or None of another frame."""
    body = octets[_HEADER.size :]
    magic, kind, host, service, source, _ = _MESSAGE.unpack_from(body)
    if (magic, kind) != (_MAGIC, _SENT) or octets[12:14] != OPEN_MX.to_bytes(2):
        return None
    return Reached(host, _SERVICES[service], _SOURCES[source])


def _frame(target: bytes, source: bytes, ether_type: int, body: bytes) -> bytes:
    return (_HEADER.pack(target, source, ether_type) + body).ljust(_OCTETS_MIN, b"\0")


def _advertisement(host: int, mac: bytes) -> bytes:
    """Write a neighbour advertisement of the link-local address fe80::1 and up."""
    own, group = (_LINK_LOCAL | host + 1).to_bytes(16), _ALL_NODES_IPV6.to_bytes(16)
    body = _ADVERTISEMENT.pack(
        _NEIGHBOUR_ADVERTISEMENT, 0, 0, _OVERRIDE, own, _TARGET_ADDRESS, 1, mac
    )
    summed = _checksum(own + group + struct.pack("!II", len(body), _ICMPV6) + body)
    body = body[:2] + summed.to_bytes(2) + body[4:]
    return _IPV6.pack(6 << 28, len(body), _ICMPV6, 255, own, group) + body


def _read_advertisement(body: bytes, source: bytes) -> Announcement | None:
    if len(body) < _IPV6.size + _ADVERTISEMENT.size:
        return None
    _, _, protocol, _, own, _ = _IPV6.unpack_from(body)
    kind, _, _, _, _, option, _, mac = _ADVERTISEMENT.unpack_from(body, _IPV6.size)
    known = (_ICMPV6, _NEIGHBOUR_ADVERTISEMENT, _TARGET_ADDRESS)
    host = int.from_bytes(own) - _LINK_LOCAL - 1
    if (protocol, kind, option) != known or not 0 <= host < 1 << 16:
        return None
    return Announcement(AnnouncedService.NEIGHBOUR, host, mac, source)


def _checksum(octets: bytes) -> int:
    """Compute the Internet checksum (RFC 1071)."""
    total: int = sum(struct.unpack(f"!{len(octets) // 2}H", octets))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


class AnnouncingHost(AbstractContextManager["AnnouncingHost"]):
    """A host that announces itself, records the others, and sends to what it has recorded.

    Opens sockets in the namespace of the caller.

    ``hosts`` are the IPv4 addresses of all hosts, by index; 0: it has none. ``plane`` are the
    indices of those that a fabric joins with it, and its own.
    """

    def __init__(
        self,
        interface: str,
        number: int,
        hosts: Collection[int],
        plane: Collection[int],
        services: Collection[AnnouncedService],
    ) -> None:
        self._number = number
        self._hosts = tuple(hosts)
        self._others = [other for other in plane if other != number]
        self._services = tuple(services)
        self.recorded: dict[tuple[AnnouncedService, RecordedFrom], dict[int, bytes]] = {
            (service, source): {} for service in self._services for source in RecordedFrom
        }
        """Addresses of other hosts, by index."""
        self.reached: set[Reached] = set()
        """Frames to this host that have arrived."""
        with ExitStack() as stack:
            self._sender = stack.enter_context(sender(interface))
            self._mac: bytes = self._sender.getsockname()[4]
            types = (OPEN_MX, ARP, IPV6)
            self._receivers = [stack.enter_context(receiver(interface, kind)) for kind in types]
            self._stack = stack.pop_all()

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def announce(self) -> None:
        """Send one announcement of each service."""
        for service in self._services:
            own = self._hosts[self._number]
            self._sender.send(announcement(service, self._number, self._mac, own))

    def send(self) -> None:
        """Send a frame to each recorded address: first to those of payloads, then of headers.

        Of one host, the frame to its address in the header is thus sent last: once that has
        arrived, another that is not there by then went astray.
        """
        for source in RecordedFrom:
            for service in self._services:
                for target in self.recorded[service, source].values():
                    reached = Reached(self._number, service, source)
                    self._sender.send(message(target, self._mac, reached))

    def receive(self) -> None:
        """Process the frames that have arrived."""
        for octets in self._frames():
            if arrived := read_message(octets):
                self.reached.add(arrived)
            elif received := read_announcement(octets, self._hosts):
                self._record(received)

    def _record(self, received: Announcement) -> None:
        if received.host == self._number or received.service not in self._services:
            return
        for source in RecordedFrom:
            self.recorded[received.service, source][received.host] = received.address(source)

    def _frames(self) -> Iterator[bytes]:
        """Yield frames that the interface accepts: to its address, or to a group."""
        for receiving in self._receivers:
            for _ in range(_FRAMES_MAX):
                try:
                    octets, (_, _, kind, *_) = receiving.recvfrom(_READ)
                except BlockingIOError:
                    break
                if kind != socket.PACKET_OTHERHOST:
                    yield octets

    @property
    def is_reached(self) -> bool:
        """Whether all others have reached it at the address that they recorded from headers."""
        return all(
            Reached(other, service, RecordedFrom.HEADER) in self.reached
            for other in self._others
            for service in self._services
        )

    def recordings(self) -> list["Recording"]:
        """Count what it has recorded, and who has reached it."""
        return [
            Recording(
                *kind,
                len(self._others),
                len(known),
                sum((arrived.service, arrived.source) == kind for arrived in self.reached),
            )
            for kind, known in self.recorded.items()
        ]


class Recording(NamedTuple):
    """Pairs of hosts, one of which records the address that the other announces."""

    service: AnnouncedService
    source: RecordedFrom
    pairs: int
    recorded: int  # Pairs of which the announcement has arrived.
    reached: int  # Pairs of which a frame to the recorded address has arrived at its host.


_ROUND_S = 0.05  # Between a round of announcements and frames, and the next [s].


def exchange(hosts: Sequence[AnnouncingHost], rounds: int, limit_s: float) -> None:
    """Announce, record and send until all hosts are reached, and some rounds more.

    ``hosts`` are those of this process; ``rounds`` count after all of them are reached by recorded
    headers. ``limit_s`` is the longest time [s].
    """
    deadline_s = time.monotonic() + limit_s
    while rounds and time.monotonic() < deadline_s:
        for host in hosts:
            host.announce()
        for host in hosts:
            host.receive()
            host.send()
        time.sleep(_ROUND_S)
        for host in hosts:
            host.receive()
        rounds -= all(host.is_reached for host in hosts)
