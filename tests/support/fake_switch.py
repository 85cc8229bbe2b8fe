"""A switch that speaks just enough OpenFlow 1.3, and can be made to behave badly."""

import contextlib
import socket
import ssl
import struct
import threading
from collections import Counter
from collections.abc import Callable
from typing import Self

from etherweave.control.messages import BUNDLE_ADD, HEADER, ONF, MessageType, message

PORTS_PART = 13
Misbehave = Callable[["FakeSwitch", MessageType, int, bytes], bool]
"""Takes a message; returns whether the switch has dealt with it in its own way."""


class FakeSwitch:
    """Connects to a controller at a port, and answers until it is closed.

    ``misbehave`` is asked before every answer; ``tls`` is how the connection is protected, if it
    is.
    """

    def __init__(
        self,
        port: int,
        datapath: int,
        misbehave: Misbehave | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.seen: Counter[MessageType] = Counter()
        self.added = 0
        """Messages in bundles."""
        self.committed = 0
        self._datapath = datapath
        self._misbehave = misbehave
        plain = socket.create_connection(("127.0.0.1", port))
        self._socket = tls.wrap_socket(plain) if tls else plain
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._thread.join()
        self._socket.close()

    @property
    def is_over(self) -> bool:
        """Whether the connection has ended."""
        return not self._thread.is_alive()

    def close(self) -> None:
        """End the connection, in the middle of whatever happens."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def send(self, kind: MessageType, body: bytes = b"", xid: int = 0) -> None:
        self._socket.sendall(message(kind, body, xid))

    def part(self, kind: int, body: bytes, xid: int, more: bool = False) -> None:
        """Send a MULTIPART_REPLY."""
        self.send(MessageType.MULTIPART_REPLY, struct.pack("!HH4x", kind, more) + body, xid)

    def _serve(self) -> None:
        with contextlib.suppress(OSError), self._socket.makefile("rb") as stream:
            self.send(MessageType.HELLO)
            while len(head := stream.read(HEADER.size)) == HEADER.size:
                _, number, length, xid = HEADER.unpack(head)
                body = stream.read(length - HEADER.size)
                if len(body) < length - HEADER.size:
                    return
                kind = MessageType(number)
                self.seen[kind] += 1
                if not (self._misbehave and self._misbehave(self, kind, xid, body)):
                    self._answer(kind, xid, body)

    def _answer(self, kind: MessageType, xid: int, body: bytes) -> None:
        if kind is MessageType.FEATURES_REQUEST:
            self.send(
                MessageType.FEATURES_REPLY,
                struct.pack("!QIBB2xII", self._datapath, 0, 254, 0, 0, 0),
                xid,
            )
        elif kind is MessageType.ECHO_REQUEST:
            self.send(MessageType.ECHO_REPLY, body, xid)
        elif kind is MessageType.BARRIER_REQUEST:
            self.send(MessageType.BARRIER_REPLY, b"", xid)
        elif kind is MessageType.ROLE_REQUEST:
            self.send(MessageType.ROLE_REPLY, body, xid)
        elif kind is MessageType.MULTIPART_REQUEST:
            (part,) = struct.unpack_from("!H", body)
            port = struct.pack("!I4x6s2x16s8I", 1, b"\x02\0\0\0\0\x01", b"p1", *(0,) * 8)
            self.part(part, port if part == PORTS_PART else b"", xid)
        elif kind is MessageType.EXPERIMENTER:
            self._bundle(xid, body)

    def _bundle(self, xid: int, body: bytes) -> None:
        experimenter, what, bundle, step, flags = struct.unpack_from("!IIIHH", body)
        if (experimenter, what) == (ONF, BUNDLE_ADD):
            self.added += 1
            return
        self.committed += step == 4
        answer = struct.pack("!IIIHH", experimenter, what, bundle, step + 1, flags)
        self.send(MessageType.EXPERIMENTER, answer, xid)
