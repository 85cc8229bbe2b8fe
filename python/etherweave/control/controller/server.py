"""Accepts the connections of switches, within limits, with TLS where it is configured."""

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

from etherweave.api.inputs import InputError
from etherweave.control.controller import message_stream
from etherweave.control.controller.log import EventLog
from etherweave.control.controller.roles import RoleTiming

UNKNOWN_PEERS_MAX = 64
"""Connections that are not known switches yet; one more ends the oldest of them."""


class TlsFiles(NamedTuple):
    """Files of the controller's identity, PEM."""

    key: Path
    certificate: Path
    authority: Path  # Certificates of the authority that signs the switches' certificates.

    def context(self) -> ssl.SSLContext:
        """Return a context of TLS 1.2 or later that requires certificates of switches.

        Raises ``OSError`` when a file cannot be read, or is no key or certificate.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.verify_mode = ssl.CERT_REQUIRED
        try:
            context.load_cert_chain(self.certificate, self.key)
        except ssl.SSLError as error:
            reason = f"{error.reason or error}; expected a certificate and its key in PEM"
            raise InputError(f"{self.certificate}, {self.key}", reason) from None
        try:
            context.load_verify_locations(self.authority)
        except ssl.SSLError as error:
            reason = f"{error.reason or error}; expected certificates in PEM"
            raise InputError(self.authority, reason) from None
        return context


class ConnectionServer:
    """Accepts connections and serves each in a thread of its own.

    ``tls`` protects connections; ``None``: plain TCP. ``serve`` serves a connection until it ends;
    its arguments are the channel, the peer's address, and a function to call when the peer has
    become a known switch.
    """

    def __init__(
        self,
        listener: socket.socket,
        tls: ssl.SSLContext | None,
        limits: message_stream.PeerLimits,
        log: EventLog,
        serve: Callable[[message_stream.Channel, str, Callable[[], None]], None],
    ) -> None:
        self._listener = listener
        self._tls = tls
        self._limits = limits
        self._log = log
        self._serve = serve
        self._unknown_peers: dict[int, socket.socket] = {}
        """Connections that are not known switches yet, by their numbers, the oldest first."""
        self._connections: dict[int, socket.socket] = {}
        self._threads: dict[int, threading.Thread] = {}
        self._lock = threading.Lock()
        self._next = 0
        self._stop, self._wake = socket.socketpair()
        self._thread = threading.Thread(target=self._accept, name="door", daemon=True)

    @property
    def port(self) -> int:
        """TCP port that it listens on, until it is closed."""
        return int(self._listener.getsockname()[1])

    @property
    def connections(self) -> int:
        """Number of connections."""
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
        """Close the sockets of a server that was not opened."""
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
            # Without free descriptors, other connections must end first.
            time.sleep(0.05)
            return
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            self._next += 1
            number = self._next
            self._drop_oldest_unknown()
            self._connections[number] = connection
            self._unknown_peers[number] = connection
            name = f"{address[0]}:{address[1]}" if isinstance(address, tuple) else "local"
            thread = threading.Thread(
                target=self._run, args=(number, connection, name), name=name, daemon=True
            )
            self._threads[number] = thread
        thread.start()

    def _drop_oldest_unknown(self) -> None:
        if len(self._unknown_peers) < UNKNOWN_PEERS_MAX:
            return
        oldest = next(iter(self._unknown_peers))
        _shut(self._unknown_peers.pop(oldest))

    def _run(self, number: int, connection: socket.socket, address: str) -> None:
        try:
            self._serve(self._channel(connection), address, lambda: self._mark_known(number))
        except (message_stream.PeerRejectedError, ssl.SSLError, TimeoutError) as error:
            self._log.write_limited("rejected", address=address, reason=str(error))
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

    def _channel(self, connection: socket.socket) -> message_stream.Channel:
        plain = message_stream.PlainChannel(connection)
        if self._tls is None:
            return plain
        channel = message_stream.TlsChannel(plain, self._tls)
        channel.shake_hands(self._limits.handshake_s)
        return channel

    def _mark_known(self, number: int) -> None:
        with self._lock:
            self._unknown_peers.pop(number, None)


def _shut(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


class ListenError(ValueError):
    """The controller cannot, or must not, listen at this address."""


@dataclass(frozen=True)
class ControllerOptions:
    """Options of a controller."""

    host: str = "127.0.0.1"
    port: int = 6653  # TCP port; 0: any that is free.
    tls: TlsFiles | None = None  # Default: plain TCP, on the loopback interface only.
    metrics_port: int | None = None  # Default: no metrics; 0: any port that is free.
    audit_s: float = 60.0  # Between two readings of a switch's tables [s].
    probe_s: float = 1.0  # Between two probes of a port [s].
    leave_foreign: bool = False  # Whether entries that are not in the plan stay.
    is_dry_run: bool = False  # Whether switches are only read.
    limits: message_stream.PeerLimits = field(default_factory=message_stream.PeerLimits)
    pace: RoleTiming = field(default_factory=RoleTiming)


def listen(options: ControllerOptions) -> socket.socket:
    """Open the socket that switches connect to.

    Raises ``ListenError`` without TLS on another interface than loopback, or if the address is in
    use.
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
