"""A controller that only changes rules: OpenFlow 1.3 on one connection."""

import socket
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import NamedTuple

from etherweave.control.messages import HEADER, VERSION, FlowCommand, MessageType, flow_mod, message
from etherweave.control.rules import FlowRule

HELLO_TIMEOUT_S = 5.0
_READ = 1 << 16


class RuleWriterError(RuntimeError):
    """The switch rejects a message, disconnects, or violates OpenFlow 1.3."""


class ReceivedMessage(NamedTuple):
    """A message of the switch."""

    kind: int
    xid: int
    body: bytes


class MessageDecoder:
    """Splits received octets into messages."""

    def __init__(self) -> None:
        self._octets = b""

    def take(self, octets: bytes) -> Iterator[ReceivedMessage]:
        """Yield the messages that are complete now.

        Raises ``RuleWriterError`` if it is not OpenFlow 1.3. A HELLO may name a later version
        (6.3.1).
        """
        self._octets += octets
        while len(self._octets) >= HEADER.size:
            version, kind, length, xid = HEADER.unpack_from(self._octets)
            is_fine = version == VERSION or (kind == MessageType.HELLO and version > VERSION)
            if not is_fine or length < HEADER.size:
                raise RuleWriterError(
                    f"version {version}, length {length}: expected OpenFlow 1.3 (version {VERSION})"
                )
            if len(self._octets) < length:
                return
            body, self._octets = self._octets[HEADER.size : length], self._octets[length:]
            yield ReceivedMessage(kind, xid, body)


class RuleWriter(AbstractContextManager["RuleWriter"]):
    """A connection to a switch.

    ``address`` is its OpenFlow address: ``unix:PATH``. Raises ``RuleWriterError`` if there is no
    switch at the address.
    """

    def __init__(self, address: str) -> None:
        kind, _, path = address.partition(":")
        if kind != "unix" or not path:
            raise RuleWriterError(f"{address}: expected unix:PATH of a bridge's management socket")
        self._address = address
        self._inbox = MessageDecoder()
        self._xid = 0
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.settimeout(HELLO_TIMEOUT_S)
            self._socket.connect(path)
            self._write(message(MessageType.HELLO, b"", self._next()))
            self._await(MessageType.HELLO)
        except OSError as error:
            self._socket.close()
            raise RuleWriterError(f"{address}: {error.strerror or error}") from None
        except RuleWriterError:
            self._socket.close()
            raise

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def fileno(self) -> int:
        """Return the descriptor, for selectors."""
        return self._socket.fileno()

    def modify(self, rules: list[FlowRule]) -> None:
        """Change the instructions of rules that are installed."""
        self._write(
            b"".join(flow_mod(rule, FlowCommand.MODIFY_STRICT, xid=self._next()) for rule in rules)
        )

    def read(self) -> None:
        """Read messages of the switch, and reply to its echoes.

        Raises ``RuleWriterError`` if it reports an error, or disconnects.
        """
        self._handle(self._some())

    def settle(self) -> None:
        """Wait until the switch has processed all messages."""
        self._write(message(MessageType.BARRIER_REQUEST, b"", self._next()))
        self._await(MessageType.BARRIER_REPLY)

    def _await(self, kind: MessageType) -> None:
        end_s = time.monotonic() + HELLO_TIMEOUT_S
        while kind not in self._handle(self._some()):
            if time.monotonic() > end_s:
                raise RuleWriterError(
                    f"{self._address}: no {kind.name} within {HELLO_TIMEOUT_S:.0f} s"
                )

    def _handle(self, octets: bytes) -> set[int]:
        kinds = set()
        for received in self._inbox.take(octets):
            kinds.add(received.kind)
            if received.kind == MessageType.ECHO_REQUEST:
                self._write(message(MessageType.ECHO_REPLY, received.body, received.xid))
            if received.kind == MessageType.ERROR:
                kind, code = received.body[:2].hex(), received.body[2:4].hex()
                raise RuleWriterError(f"{self._address}: rejected with error {kind}, code {code}")
        return kinds

    def _some(self) -> bytes:
        try:
            octets = self._socket.recv(_READ)
        except OSError as error:
            raise RuleWriterError(f"{self._address}: {error.strerror or error}") from None
        if not octets:
            raise RuleWriterError(f"{self._address}: the switch has ended the connection")
        return octets

    def _write(self, octets: bytes) -> None:
        try:
            self._socket.sendall(octets)
        except OSError as error:
            raise RuleWriterError(f"{self._address}: {error.strerror or error}") from None

    def _next(self) -> int:
        self._xid = (self._xid + 1) % (1 << 32)
        return self._xid
