"""A connected switch: os-ken's handshake and messages over a stream with limits.

os-ken negotiates the version, requests features and ports, replies to echoes and reads messages.
Its loops and queues are not used: one thread reads, one writes, and replies go to the exchange
with their transaction id.
"""

import contextlib
import queue
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

# First: os-ken's modules import each other in a cycle that works from here only.
import os_ken.base.app_manager  # noqa: F401
from os_ken import cfg
from os_ken.controller import handler, ofp_event
from os_ken.controller.controller import Datapath
from os_ken.controller.handler import MAIN_DISPATCHER
from os_ken.controller.ofp_handler import OFPHandler
from os_ken.ofproto import ofproto_parser, ofproto_protocol

from etherweave.control.controller.log import EventLog
from etherweave.control.controller.message_stream import (
    Channel,
    MessageStream,
    PeerLimits,
    PeerRejectedError,
)
from etherweave.control.controller.reports import ReportPart
from etherweave.control.controller.server import (
    ConnectionServer,
    ControllerOptions,
    ListenError,
    listen,
)
from etherweave.control.messages import BUNDLE_CONTROL, HEADER, ONF, VERSION, MessageType

_OUTBOX = 64  # Length of the queue of writes; each has some tens of thousand octets at most.
_ANSWERS = 10_000
_ROLE_STATUS = 1911  # ONF's extension for OpenFlow 1.3: another controller has become master.
_MASTER_REQUEST = 0
_XIDS = 1 << 31
_LINK_DOWN = 1
_PORT_DOWN = 1
_DELETED = 1
_PORTS_MAX = 0xFFFFFF00


class DisconnectedError(OSError):
    """The switch is not connected any more."""


class SwitchReply(NamedTuple):
    """A reply to a message, or an error about it."""

    kind: MessageType
    xid: int
    octets: bytes  # Header included.

    @property
    def error(self) -> tuple[int, int]:
        """Type and code of an ERROR; of a truncated one, values that do not exist."""
        kind, code = struct.unpack_from("!HH", self.octets.ljust(12, b"\xff"), 8)
        return kind, code

    @property
    def bundle_step(self) -> int | None:
        """The step of a bundle that is confirmed, if it is one."""
        if self.kind is not MessageType.EXPERIMENTER or len(self.octets) < 24:
            return None
        experimenter, kind, _, step = struct.unpack_from("!IIIH", self.octets, 8)
        return int(step) if (experimenter, kind) == (ONF, BUNDLE_CONTROL) else None


class SessionListener(Protocol):
    """Receives the events of sessions; called by their threads."""

    def connected(self, session: "SwitchSession") -> None:
        """Accept an identified switch; raises ``PeerRejectedError`` if it is not in the plan."""

    def ended(self, session: "SwitchSession") -> None:
        """Handle the end of a session that was accepted."""

    def packet_in(self, session: "SwitchSession", port: int, frame: bytes) -> None:
        """Receive a frame that a switch sends to its controllers."""

    def port_changed(self, session: "SwitchSession") -> None:
        """Handle a change of ``session.links``."""

    def demoted(self, session: "SwitchSession", generation: int) -> None:
        """Handle a switch's message that another controller is its master."""


class Exchange:
    """Messages with transaction ids of their own, and the replies to them."""

    def __init__(self, session: "SwitchSession", first: int, count: int) -> None:
        self._session = session
        self.first = first
        self.xids = range(first, first + count)
        self._answers: queue.Queue[SwitchReply | None] = queue.Queue(_ANSWERS)

    def send(self, octets: bytes) -> None:
        """Send messages; waits while the switch is slow.

        Raises ``DisconnectedError`` when the switch is not connected any more, or reads nothing.
        """
        self._session.send(octets)

    def answer(self, timeout_s: float) -> SwitchReply:
        """Wait for the next reply; raises ``DisconnectedError`` when none arrives."""
        try:
            answer = self._answers.get(timeout=timeout_s)
        except queue.Empty:
            raise DisconnectedError(f"no answer within {timeout_s:.0f} s") from None
        if answer is None:
            raise DisconnectedError("the switch has ended the connection")
        return answer

    def pending(self) -> SwitchReply | None:
        """Return the next reply if it has arrived."""
        if self._answers.empty():
            return None
        return self.answer(0.1)

    def receive(self, answer: SwitchReply | None) -> None:
        """Add a reply; None: the connection has ended."""
        try:
            self._answers.put_nowait(answer)
        except queue.Full:
            raise PeerRejectedError(f"{_ANSWERS} replies that were not requested") from None


class OpenFlowHandshake(OFPHandler):  # type: ignore[misc] # os-ken has no types.
    """os-ken's handshake, without its listening socket and queues; shared by all sessions."""

    def __init__(self) -> None:
        cfg.CONF(args=[], project="os_ken", default_config_files=[], default_config_dirs=[])
        ofproto_protocol.set_app_supported_versions([VERSION])
        super().__init__()
        handler.register_instance(self)


class _DetachedSocket:
    """Stands for the socket that os-ken configures when a connection begins."""

    def setsockopt(self, *_: object) -> None:
        """Do nothing: the server has done it."""

    def settimeout(self, _: float) -> None:
        """Do nothing: the stream has limits of its own."""


class SwitchSession(Datapath):  # type: ignore[misc] # os-ken has no types.
    """A connection with a peer that is, or may become, a switch."""

    def __init__(
        self,
        channel: Channel,
        address: str,
        speaker: OpenFlowHandshake,
        listener: SessionListener,
        limits: PeerLimits,
    ) -> None:
        super().__init__(_DetachedSocket(), address)
        self.ofp_brick = speaker
        self._listener = listener
        self._channel = channel
        self._limits = limits
        self._outbox: queue.Queue[bytes | None] = queue.Queue(_OUTBOX)
        self._exchanges: list[Exchange] = []
        self._lock = threading.Lock()
        self._xid = 1
        self._is_over = False
        self.wire = MessageStream(channel, limits, self._ask_echo, time.monotonic())
        self.links: dict[int, bool] = {}
        """Ports, and whether they have a link."""
        self.rates: dict[int, int] = {}
        """Rates of ports [kb/s]; 0: not stated."""

    def serve(self, on_known: Callable[[], None]) -> None:
        """Serve the switch until it ends.

        ``on_known`` is called when the peer is a switch that is accepted. Raises
        ``PeerRejectedError`` when it violates OpenFlow 1.3 and ``OSError`` when the connection
        breaks.
        """
        writer = threading.Thread(target=self._write, name="writer", daemon=True)
        writer.start()
        is_taken = False
        try:
            self.send_msg(self.ofproto_parser.OFPHello(self))
            for octets in self.wire.messages():
                self._handle(octets)
                if not is_taken and self.state == MAIN_DISPATCHER:
                    self._list_ports()
                    self._listener.connected(self)
                    on_known()
                    is_taken = True
                    self.wire.settled()
        finally:
            self._end()
            writer.join()
            if is_taken:
                self._listener.ended(self)

    def send(self, buf: bytes, close_socket: bool = False) -> bool:
        """Send octets in order; waits while the queue is full.

        Raises ``DisconnectedError`` when the switch is not connected any more, or reads nothing.
        """
        if self._is_over:
            raise DisconnectedError("the switch is not connected any more")
        try:
            self._outbox.put(bytes(buf), timeout=self._limits.message_s)
            if close_socket:
                self._outbox.put(None, timeout=self._limits.message_s)
        except queue.Full:
            self.drop()
            raise DisconnectedError("the switch does not read what it is sent") from None
        return True

    def post(self, octets: bytes) -> None:
        """Send octets unless the queue is full: for what is sent periodically."""
        with contextlib.suppress(queue.Full):
            self._outbox.put_nowait(octets)

    def drop(self) -> None:
        """End the connection."""
        self._channel.close()

    @contextlib.contextmanager
    def exchange(self, count: int) -> Iterator[Exchange]:
        """Begin a number of transactions.

        Raises ``DisconnectedError`` when the switch is not connected any more.
        """
        with self._lock:
            if self._is_over:
                raise DisconnectedError("the switch is not connected any more")
            if self._xid + count >= _XIDS:
                self._xid = 1
            exchange = Exchange(self, self._xid, count)
            self._xid += count
            self._exchanges.append(exchange)
        try:
            yield exchange
        finally:
            with self._lock:
                self._exchanges.remove(exchange)

    def _end(self) -> None:
        self.set_state(handler.DEAD_DISPATCHER)
        self._channel.close()
        with self._lock:
            self._is_over = True
            exchanges = list(self._exchanges)
        for exchange in exchanges:
            with contextlib.suppress(PeerRejectedError):
                exchange.receive(None)
        with contextlib.suppress(queue.Full):
            self._outbox.put_nowait(None)

    def _write(self) -> None:
        """Write what is queued, until the connection ends."""
        try:
            while (octets := self._outbox.get()) is not None:
                self._channel.write(octets, self._limits.message_s)
        except OSError:
            pass
        finally:
            self._channel.close()

    def _ask_echo(self) -> None:
        self.post(HEADER.pack(VERSION, MessageType.ECHO_REQUEST, HEADER.size, 0))

    def _handle(self, octets: bytes) -> None:
        """Process a message: replies go to their exchange, the rest goes through os-ken."""
        version, kind, length, xid = HEADER.unpack_from(octets)
        if self.state == MAIN_DISPATCHER:
            if self._answers(kind, xid, octets):
                return
            if kind == MessageType.EXPERIMENTER:
                self._hear_of_roles(octets)
            if kind not in _UNSOLICITED_TYPES:
                return
        _check(kind, octets)
        if kind == MessageType.HELLO and version < VERSION:
            self.ofp_brick._hello_failed(self, f"version {version}; expected 4, OpenFlow 1.3")
            return
        if kind == MessageType.HELLO:
            # A later version, whose HELLO is the same; os-ken does not support all of them.
            version, octets = VERSION, bytes([VERSION]) + octets[1:]
        message = self._read(version, kind, length, xid, octets)
        event = ofp_event.ofp_msg_to_ev(message)
        if kind == MessageType.PORT_STATUS:
            # os-ken's own handler warns that it exists.
            self._change_port(message)
            return
        for handle in self.ofp_brick.get_handlers(event, self.state):
            handle(event)
        if kind == MessageType.PACKET_IN:
            port = message.match.get("in_port", 0)
            self._listener.packet_in(self, port, bytes(message.data))

    def _read(self, version: int, kind: int, length: int, xid: int, octets: bytes) -> Any:
        try:
            message = ofproto_parser.msg(self, version, kind, length, xid, octets)
        except Exception as error:
            raise PeerRejectedError(f"unreadable: {error}") from error
        if message is None:
            raise PeerRejectedError(
                f"a message of type {kind} and {length} octets that cannot be read"
            )
        return message

    def _answers(self, kind: int, xid: int, octets: bytes) -> bool:
        """Pass a reply to its exchange; return whether the message was a reply."""
        if kind not in _REPLY_TYPES:
            return False
        with self._lock:
            exchange = next(
                (exchange for exchange in self._exchanges if xid in exchange.xids), None
            )
        if exchange:
            exchange.receive(SwitchReply(MessageType(kind), xid, octets))
        is_news = kind in (MessageType.ERROR, MessageType.EXPERIMENTER)
        return exchange is not None or not is_news

    def _hear_of_roles(self, octets: bytes) -> None:
        if len(octets) < 32:
            return
        experimenter, kind, _, reason, generation = struct.unpack_from("!IIIB3xQ", octets, 8)
        if (experimenter, kind, reason) == (ONF, _ROLE_STATUS, _MASTER_REQUEST):
            self._listener.demoted(self, generation)

    def _list_ports(self) -> None:
        self.rates = {port.port_no: port.curr_speed for port in self.ports.values()}
        ports = {port.port_no: _has_link(port) for port in self.ports.values()}
        self.links = {number: link for number, link in ports.items() if number < _PORTS_MAX}

    def _change_port(self, message: Any) -> None:
        number, links = message.desc.port_no, dict(self.links)
        if message.reason == _DELETED:
            links.pop(number, None)
        elif number < _PORTS_MAX:
            links[number] = _has_link(message.desc)
        self.links = links
        if self.state == MAIN_DISPATCHER:
            self._listener.port_changed(self)


def switch_server(
    options: ControllerOptions, listener: SessionListener, log: EventLog
) -> ConnectionServer:
    """Listen for switches, each of which gets a session with this listener.

    Raises ``ListenError`` if it cannot listen, or a file for TLS cannot be read.
    """
    speaker = OpenFlowHandshake()

    def serve(channel: Channel, address: str, on_known: Callable[[], None]) -> None:
        SwitchSession(channel, address, speaker, listener, options.limits).serve(on_known)

    try:
        tls = options.tls.context() if options.tls else None
    except OSError as error:
        raise ListenError(f"TLS: {error}") from None
    return ConnectionServer(listen(options), tls, options.limits, log, serve)


def _check(kind: int, octets: bytes) -> None:
    """Reject what os-ken would read in an endless loop: elements of length 0."""
    if kind == MessageType.HELLO:
        start = HEADER.size
        while start < len(octets):
            length = int.from_bytes(octets[start + 2 : start + 4])
            if length < _ELEMENT_MIN:
                raise PeerRejectedError(f"a HELLO with an element of {length} octets")
            start += length + -length % 8
    elif kind == MessageType.MULTIPART_REPLY and int.from_bytes(octets[8:10]) != ReportPart.PORTS:
        raise PeerRejectedError("a MULTIPART_REPLY that was not requested")


def _has_link(port: Any) -> bool:
    return not (port.config & _PORT_DOWN or port.state & _LINK_DOWN)


_ELEMENT_MIN = 4
_UNSOLICITED_TYPES = frozenset(
    {
        MessageType.ERROR,
        MessageType.ECHO_REQUEST,
        MessageType.ECHO_REPLY,
        MessageType.PACKET_IN,
        MessageType.PORT_STATUS,
    }
)
"""Types that os-ken reads of a known switch; it does not read others safely."""
_REPLY_TYPES = frozenset(
    {
        MessageType.ERROR,
        MessageType.EXPERIMENTER,
        MessageType.MULTIPART_REPLY,
        MessageType.BARRIER_REPLY,
        MessageType.ROLE_REPLY,
    }
)
