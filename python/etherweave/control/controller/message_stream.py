"""One connection with an untrusted peer: whole messages in, octets out, with time limits.

os-ken's own loop waits without limit for a message that never completes, accepts any length and
type, and leaks two threads when a peer disconnects. Here a peer has limits of time for its
handshake, for every message that it begins and for every reply to an echo, and a limit of messages
per second on average; a header that is not OpenFlow 1.3 ends the connection.
"""

import contextlib
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from etherweave.control.messages import HEADER, VERSION, MessageType

_READ = 1 << 16
_SETTLING_TYPES = frozenset(
    {MessageType.HELLO, MessageType.ERROR, MessageType.ECHO_REQUEST, MessageType.ECHO_REPLY,
     MessageType.FEATURES_REPLY, MessageType.PORT_STATUS, MessageType.MULTIPART_REPLY}
)  # fmt: skip
"""Messages that a switch may send during the handshake, before its identity and ports are known."""
_TYPES = 30  # Types of OpenFlow 1.3.


class PeerRejectedError(OSError):
    """A peer violates the protocol or a limit: what it did, and what was expected."""


@dataclass(frozen=True, slots=True)
class PeerLimits:
    """Limits of a peer."""

    handshake_s: float = 10.0  # Time from connection to known switch, TLS included [s].
    message_s: float = 10.0
    """Time from a message's first octet to its last, and for writing a message [s]."""
    silent_s: float = 15.0  # Longest silence, although an echo is requested every third of it [s].
    hello_octets: int = 1024  # Length of a HELLO [bytes].
    handshake_octets: int = 1 << 20
    """All that a peer sends before it is known [bytes]: room for 16,000 ports."""
    messages_per_s: int = 5000  # Average rate that is read; a faster peer is slowed down.


class PlainChannel:
    """Octets as they are, in both directions; reading and writing may happen at once."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._socket = connection

    def read(self, timeout_s: float) -> bytes | None:
        """Read what is there; None: nothing within the time; empty: the peer has disconnected."""
        if not _wait(self._socket, select.POLLIN, timeout_s):
            return None
        try:
            return self._socket.recv(_READ)
        except BlockingIOError:
            return None

    def write(self, octets: bytes, timeout_s: float) -> None:
        """Write all octets, or raise ``TimeoutError``."""
        end_s = time.monotonic() + timeout_s
        view = memoryview(octets)
        while view:
            left_s = end_s - time.monotonic()
            if left_s <= 0 or not _wait(self._socket, select.POLLOUT, left_s):
                raise TimeoutError(f"{len(view)} octets not taken within {timeout_s:.0f} s")
            try:
                view = view[self._socket.send(view) :]
            except BlockingIOError:
                continue

    def close(self) -> None:
        """End the connection; reads and writes that wait return."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)


class TlsChannel:
    """Octets under TLS, with the methods of :class:`PlainChannel`.

    OpenSSL's state is touched by one thread at a time, and never while waiting for the peer.
    """

    def __init__(self, plain: PlainChannel, context: ssl.SSLContext) -> None:
        self._plain = plain
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._state = threading.Lock()
        self._order = threading.Lock()

    def shake_hands(self, timeout_s: float) -> None:
        """Authenticate both sides.

        Raises ``ssl.SSLError`` when it cannot and ``TimeoutError`` when it takes too long.
        """
        end_s = time.monotonic() + timeout_s
        while True:
            try:
                with self._state:
                    self._tls.do_handshake()
                self._flush(timeout_s)
                return
            except ssl.SSLWantReadError:
                self._flush(timeout_s)
            except ssl.SSLError:
                self._flush(timeout_s)
                raise
            self._feed(end_s - time.monotonic())

    def read(self, timeout_s: float) -> bytes | None:
        """Read what is there."""
        while True:
            try:
                with self._state:
                    return self._tls.read(_READ)
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLZeroReturnError:
                return b""
            octets = self._plain.read(timeout_s)
            if not octets:
                return octets
            with self._state:
                self._incoming.write(octets)

    def write(self, octets: bytes, timeout_s: float) -> None:
        """Write all octets."""
        with self._order:
            with self._state:
                self._tls.write(octets)
                ready = self._outgoing.read()
            self._plain.write(ready, timeout_s)

    def close(self) -> None:
        """End the connection."""
        self._plain.close()

    def _feed(self, timeout_s: float) -> None:
        octets = self._plain.read(max(timeout_s, 0))
        if octets is None:
            raise TimeoutError("no TLS handshake in time")
        if not octets:
            raise ConnectionResetError("the peer ended during the TLS handshake")
        self._incoming.write(octets)

    def _flush(self, timeout_s: float) -> None:
        ready = self._outgoing.read()
        if ready:
            self._plain.write(ready, timeout_s)


Channel: TypeAlias = PlainChannel | TlsChannel


def _wait(connection: socket.socket, event: int, timeout_s: float) -> bool:
    poll = select.poll()
    poll.register(connection, event)
    return bool(poll.poll(max(0.0, timeout_s) * 1000))


class MessageStream:
    """Messages of a peer, one whole message at a time.

    ``ask_echo`` is called when the peer has been silent for a third of its limit; ``started_s`` is
    when it connected [s].
    """

    def __init__(
        self, channel: Channel, limits: PeerLimits, ask_echo: Callable[[], None], started_s: float
    ) -> None:
        self._channel = channel
        self._limits = limits
        self._ask_echo = ask_echo
        self._handshake_end_s = started_s + limits.handshake_s
        self._buffer = bytearray()
        self._begun_s = self._last_s = started_s
        self._octets = 0
        self._is_known = False
        self._budget = float(limits.messages_per_s)
        self._budget_s = started_s

    def settled(self) -> None:
        """Apply the limits of a known switch from now on."""
        self._is_known = True

    @property
    def silent_s(self) -> float:
        """Time since the peer's last message [s]."""
        return time.monotonic() - self._last_s

    def messages(self) -> Iterator[bytes]:
        """Yield messages until the peer ends.

        Raises ``PeerRejectedError`` when the peer violates the protocol or a limit.
        """
        while True:
            message = self._next()
            if message is not None:
                self._slow_down()
                yield message
            elif not self._more():
                return

    def _next(self) -> bytes | None:
        if len(self._buffer) < HEADER.size:
            return None
        version, kind, length, _ = HEADER.unpack_from(self._buffer)
        self._check(version, kind, length)
        if len(self._buffer) < length:
            return None
        message = bytes(self._buffer[:length])
        del self._buffer[:length]
        self._begun_s = self._last_s = time.monotonic()
        return message

    def _check(self, version: int, kind: int, length: int) -> None:
        """Reject headers that no switch would send now."""
        if length < HEADER.size:
            raise PeerRejectedError(
                f"a message of {length} octets; expected at least {HEADER.size}"
            )
        if self._is_known:
            if version != VERSION or kind >= _TYPES:
                raise PeerRejectedError(
                    _version_and_type(version, kind) + "; expected OpenFlow 1.3"
                )
            return
        is_first = self._octets == len(self._buffer)
        if kind == MessageType.HELLO and length <= self._limits.hello_octets:
            return
        if (
            kind not in _SETTLING_TYPES
            or version != VERSION
            or kind == MessageType.HELLO
            or is_first
        ):
            raise PeerRejectedError(
                f"{_version_and_type(version, kind)} of {length} octets; "
                "expected the handshake of OpenFlow 1.3"
            )

    def _more(self) -> bool:
        """Read more octets; False: the peer has disconnected."""
        now_s = time.monotonic()
        octets = self._channel.read(self._patience_s(now_s))
        if octets is None:
            self._check_time(time.monotonic())
            return True
        if not self._buffer:
            self._begun_s = time.monotonic()
        self._buffer += octets
        self._octets += len(octets)
        if not self._is_known and self._octets > self._limits.handshake_octets:
            raise PeerRejectedError(f"{self._octets} octets before the handshake ended")
        self._check_time(time.monotonic())
        return bool(octets)

    def _patience_s(self, now_s: float) -> float:
        """Return the time until the next limit [s]."""
        third_s = self._limits.silent_s / 3
        ends_s = [now_s + third_s]
        if not self._is_known:
            ends_s.append(self._handshake_end_s)
        if self._buffer:
            ends_s.append(self._begun_s + self._limits.message_s)
        return max(0.0, min(ends_s) - now_s)

    def _check_time(self, now_s: float) -> None:
        if not self._is_known and now_s >= self._handshake_end_s:
            raise PeerRejectedError(f"no handshake within {self._limits.handshake_s:.0f} s")
        if self._buffer and now_s >= self._begun_s + self._limits.message_s:
            raise PeerRejectedError(f"a message not ended within {self._limits.message_s:.0f} s")
        if now_s >= self._last_s + self._limits.silent_s:
            raise PeerRejectedError(
                f"silent for {self._limits.silent_s:.0f} s, no answer to an echo"
            )
        if self._is_known and now_s >= self._last_s + self._limits.silent_s / 3:
            self._ask_echo()

    def _slow_down(self) -> None:
        """Wait while a peer exceeds its average number of messages."""
        now_s = time.monotonic()
        rate = self._limits.messages_per_s
        self._budget = min(rate, self._budget + (now_s - self._budget_s) * rate) - 1
        self._budget_s = now_s
        if self._budget < 0:
            time.sleep(-self._budget / rate)


def _version_and_type(version: int, kind: int) -> str:
    return f"version {version}, type {kind}"
