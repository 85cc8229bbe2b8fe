"""Where switches connect: how many may be there, who may be there, and what is logged of them."""

import contextlib
import ipaddress
import selectors
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from etherweave.control.controller.log import EventLog
from etherweave.control.controller.message_stream import (
    Channel,
    PeerLimits,
    PeerRejectedError,
    PlainChannel,
    TlsChannel,
)
from etherweave.control.controller.roles import RoleTiming

_BACKLOG = 128
UNKNOWN_PEERS_MAX = 64
"""Connections that are no known switch yet; one more ends the oldest of them."""


class TlsFiles(NamedTuple):
    """Files of the controller's identity, PEM."""

    key: Path
    certificate: Path
    authority: Path
    """Certificates of those who vouch for switches."""

    def context(self) -> ssl.SSLContext:
        """Give TLS 1.2 or later that asks switches for certificates.

        Raises
        ------
        OSError
            When a file cannot be read, or is no key or certificate.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_cert_chain(self.certificate, self.key)
        context.load_verify_locations(self.authority)
        return context


class UnknownPeer(NamedTuple):
    """A connection that is no known switch yet."""

    since_s: float
    connection: socket.socket


class ConnectionServer:
    """Accepts connections and serves each in a thread of its own.

    Parameters
    ----------
    listener
        A socket that listens.
    tls
        How connections are protected; none: not at all.
    serve
        Serves a connection until it ends: its channel, its address, and what to call when the
        other end has become a known switch.
    """

    def __init__(
        self,
        listener: socket.socket,
        tls: ssl.SSLContext | None,
        limits: PeerLimits,
        log: EventLog,
        serve: Callable[[Channel, str, Callable[[], None]], None],
    ) -> None:
        self._listener = listener
        self._tls = tls
        self._limits = limits
        self._log = log
        self._serve = serve
        self._unknown_peers: dict[int, UnknownPeer] = {}
        self._connections: dict[int, socket.socket] = {}
        self._threads: dict[int, threading.Thread] = {}
        self._lock = threading.Lock()
        self._next = 0
        self._stop, self._wake = socket.socketpair()
        self._thread = threading.Thread(target=self._accept, name="door", daemon=True)

    @property
    def connections(self) -> int:
        """How many connections there are."""
        return len(self._connections)

    def open(self) -> None:
        """Begin to accept."""
        self._listener.setblocking(False)
        self._thread.start()

    def close(self) -> None:
        """End all connections, and wait until they have ended."""
        self._wake.send(b"x")
        self._thread.join()
        with self._lock:
            for connection in self._connections.values():
                _shut(connection)
            threads = list(self._threads.values())
        for thread in threads:
            thread.join()
        self.close_sockets()

    def close_sockets(self) -> None:
        """Give up the address; for a door that is not open."""
        for end in (self._listener, self._stop, self._wake):
            end.close()

    def _accept(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            selector.register(self._stop, selectors.EVENT_READ)
            while True:
                ready = [key.fileobj for key, _ in selector.select()]
                if self._stop in ready:
                    return
                self._accept_one()

    def _accept_one(self) -> None:
        try:
            connection, address = self._listener.accept()
        except OSError as error:
            self._log.write_limited("not_accepted", reason=str(error))
            # Out of descriptors: others must end first.
            time.sleep(0.05)
            return
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            self._next += 1
            number = self._next
            self._drop_oldest_unknown()
            self._connections[number] = connection
            self._unknown_peers[number] = UnknownPeer(time.monotonic(), connection)
            name = f"{address[0]}:{address[1]}" if isinstance(address, tuple) else "local"
            thread = threading.Thread(
                target=self._run, args=(number, connection, name), name=name, daemon=True
            )
            self._threads[number] = thread
        thread.start()

    def _drop_oldest_unknown(self) -> None:
        if len(self._unknown_peers) < UNKNOWN_PEERS_MAX:
            return
        oldest = min(self._unknown_peers, key=lambda number: self._unknown_peers[number].since_s)
        _shut(self._unknown_peers.pop(oldest).connection)

    def _run(self, number: int, connection: socket.socket, address: str) -> None:
        try:
            self._serve(self._channel(connection), address, lambda: self._mark_known(number))
        except (PeerRejectedError, ssl.SSLError, TimeoutError) as error:
            self._log.write_limited("refused", address=address, reason=str(error))
        except OSError as error:
            self._log.write_limited("broken", address=address, reason=str(error))
        except Exception as error:
            self._log.write_limited("failed", address=address, reason=repr(error)[:300])
        finally:
            with self._lock:
                self._unknown_peers.pop(number, None)
                self._connections.pop(number)
                self._threads.pop(number)
            connection.close()

    def _channel(self, connection: socket.socket) -> Channel:
        plain = PlainChannel(connection)
        if self._tls is None:
            return plain
        channel = TlsChannel(plain, self._tls)
        channel.shake_hands(self._limits.handshake_s)
        return channel

    def _mark_known(self, number: int) -> None:
        with self._lock:
            self._unknown_peers.pop(number, None)


def _shut(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


class ListenError(ValueError):
    """The controller may not, or cannot, listen there."""


@dataclass(frozen=True)
class ControllerOptions:
    """How the controller runs."""

    host: str = "127.0.0.1"
    port: int = 6653
    """TCP; 0: whichever is free."""
    tls: TlsFiles | None = None
    """None: plain TCP, on the loopback interface only."""
    metrics_port: int | None = None
    """None: no metrics; 0: whichever is free."""
    audit_s: float = 60.0
    """Between two readings of a switch's tables [s]."""
    probe_s: float = 1.0
    """Between two probes of a port [s]."""
    leave_foreign: bool = False
    """Whether entries that the plan does not know stay."""
    is_dry_run: bool = False
    """Whether nothing is changed in switches."""
    limits: PeerLimits = field(default_factory=PeerLimits)
    pace: RoleTiming = field(default_factory=RoleTiming)


def listen(options: ControllerOptions) -> socket.socket:
    """Open the socket that switches connect to.

    Raises
    ------
    ListenError
        Without TLS on another interface than loopback, or where the address is taken.
    """
    try:
        address = ipaddress.ip_address(options.host)
    except ValueError:
        raise ListenError(f"{options.host}: expected an IP address") from None
    if options.tls is None and not address.is_loopback:
        raise ListenError(
            f"{options.host}: plain TCP only on the loopback interface; expected --tls-key, "
            "--tls-certificate and --tls-ca"
        )
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    try:
        return socket.create_server((options.host, options.port), family=family, backlog=128)
    except OSError as error:
        raise ListenError(f"{options.host}:{options.port}: {error.strerror}") from None
