"""Traces frames through Open vSwitch, in terms of the plan, by the daemon's control socket."""

import codecs
import json
import re
import socket
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from itertools import tee
from pathlib import Path
from typing import Any, NamedTuple

from etherweave.control.ovs.bridges import BridgeNames
from etherweave.control.ovs.daemons import OvsError
from etherweave.control.ovs.trace import BridgeVisit, FieldChanges, Hit, SentFrame, parse
from etherweave.control.rules import FabricPlan

CONTROL_PLANE = -1  # Index instead of a switch's where a frame leaves to the controller.
_BRIDGE = re.compile(r"  (\S+):")
_PORT = re.compile(r"    \S+ (\d+)/(\d+): .*")


class InjectedFrame(NamedTuple):
    """A frame that enters the fabric."""

    switch: int  # Index in the plan.
    port: int
    fields: str  # Its fields, in the form of ``ovs-ofctl``: ``dl_src=…,dl_dst=…``.


class TraceHop(NamedTuple):
    """A switch on the path of a frame."""

    switch: int  # Index in the plan.
    port: int  # Port of entry.
    visit: BridgeVisit  # Rules that it matched.

    @property
    def hit(self) -> Hit:
        """The last rule that it matched; a miss in the first table if it passed no table."""
        return self.visit.hits[-1] if self.visit.hits else Hit(0, "", None)

    @property
    def sent(self) -> list[SentFrame]:
        """Outputs of the frame."""
        return self.visit.sent


class Delivery(NamedTuple):
    """A frame that left the fabric."""

    switch: int  # Index in the plan; ``CONTROL_PLANE``: it left to the controller.
    port: int
    changes: FieldChanges  # Fields that were written on the path.


class FramePath(NamedTuple):
    """The path of a frame and its copies."""

    hops: tuple[TraceHop, ...]
    deliveries: tuple[Delivery, ...]
    remarks: tuple[str, ...]  # Remarks of Open vSwitch; none on a correct path.


class Oracle(AbstractContextManager["Oracle"]):
    """Traces frames through bridges that were built and loaded.

    ``control`` is the switch daemon's control socket.
    """

    def __init__(self, control: Path, plan: FabricPlan, wiring: BridgeNames) -> None:
        self._bridges = [wiring.bridges[switch.name] for switch in plan.switches]
        self._index = {bridge: index for index, bridge in enumerate(self._bridges)}
        names = {switch.name: index for index, switch in enumerate(plan.switches)}
        self._across = {
            (index, port.number): (names[port.node], port.node_port)
            for index, switch in enumerate(plan.switches)
            for port in switch.ports
            if not port.is_host
        }
        self._socket = ControlSocket(control)
        self._ports = datapath_ports(self._socket, self._index)

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def follow(self, probes: Iterable[InjectedFrame]) -> Iterator[FramePath]:
        """Follow frames, one after the other.

        Raises ``OvsError`` if Open vSwitch rejects a frame, ends, or prints an unknown trace.
        """
        asked, answered = tee(probes)
        questions = (
            ("ofproto/trace", self._bridges[probe.switch], f"in_port={probe.port},{probe.fields}")
            for probe in asked
        )
        # Zipped first, so that every request is matched by its reply.
        for text, probe in zip(self._socket.ask_all(questions), answered, strict=True):
            yield self._journey(text, probe)

    def _journey(self, text: str, probe: InjectedFrame) -> FramePath:
        try:
            trace = parse(text)
        except ValueError as error:
            raise OvsError(f"trace of {probe.fields}: {error}") from error
        hops: list[TraceHop] = []
        for visit in trace.visits:
            switch, port = probe.switch, probe.port
            if visit.came_from is not None:
                before, out = visit.came_from
                switch, port = self._across[hops[before].switch, out]
            if self._index[visit.bridge] != switch:
                raise OvsError(f"a trace goes on in {visit.bridge}, not {self._bridges[switch]}")
            hops.append(TraceHop(switch, port, visit))
        deliveries = [
            Delivery(*self._ports.get(frame.port, (CONTROL_PLANE, frame.port)), frame.changes)
            for frame in trace.frames
        ]
        return FramePath(tuple(hops), tuple(deliveries), trace.remarks)


TIMEOUT_S = 60.0  # Longest silence of a daemon [s].
_IN_FLIGHT_MAX = 16
"""Requests without a reply: enough to hide waiting, few enough for the socket's buffer."""
_DECODER = json.JSONDecoder()
_READ = 1 << 18
_ANSWER_MAX = 1 << 26  # Characters of an answer; longer ones are no trace of any fabric.


class ControlSocket(AbstractContextManager["ControlSocket"]):
    """A connection to a daemon; raises ``OvsError`` if there is no daemon at the socket."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = ""
        # The octets of a character may be split between two reads.
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(TIMEOUT_S)
        try:
            self._socket.connect(str(path))
        except OSError as error:
            self._socket.close()
            raise OvsError(f"{path}: {error.strerror}; expected a daemon's socket") from None

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def ask(self, command: str, *arguments: str) -> str:
        """Send one request and return its reply.

        Raises ``OvsError`` if the daemon rejects the request, is silent or ends.
        """
        (answer,) = self.ask_all([(command, *arguments)])
        return answer

    def ask_all(self, questions: Iterable[tuple[str, ...]]) -> Iterator[str]:
        """Send many requests, each a command and its arguments; replies come in the same order.

        After an early stop, the connection must not be used again: replies would still arrive.
        """
        in_flight: deque[tuple[str, ...]] = deque()
        for question in questions:
            if len(in_flight) == _IN_FLIGHT_MAX:
                yield self._answer(in_flight.popleft())
            self._send(question)
            in_flight.append(question)
        while in_flight:
            yield self._answer(in_flight.popleft())

    def _send(self, question: tuple[str, ...]) -> None:
        command, *arguments = question
        message = {"id": 0, "method": command, "params": arguments}
        try:
            self._socket.sendall(json.dumps(message).encode())
        except OSError as error:
            raise OvsError(f"{self._path}: {error}; expected to be read") from None

    def _answer(self, question: tuple[str, ...]) -> str:
        answer = self._next()
        if answer.get("error") is not None:
            raise OvsError(f"{' '.join(question)}: {str(answer['error']).strip()}")
        return str(answer["result"])

    def _next(self) -> dict[str, Any]:
        while True:
            try:
                answer, end = _DECODER.raw_decode(self._read)
            except json.JSONDecodeError:
                self._receive()
                continue
            if not isinstance(answer, dict):
                raise OvsError(f"{self._path}: {answer!r}; expected a JSON object")
            self._read = self._read[end:].lstrip()
            return answer

    def _receive(self) -> None:
        if len(self._read) > _ANSWER_MAX:
            raise OvsError(f"{self._path}: no end of an answer after {_ANSWER_MAX} characters")
        try:
            octets = self._socket.recv(_READ)
        except TimeoutError:
            raise OvsError(f"{self._path}: silent for {TIMEOUT_S:.0f} s") from None
        if not octets:
            raise OvsError(f"{self._path}: the daemon has closed the connection")
        self._read += self._decoder.decode(octets)


def datapath_ports(
    control: ControlSocket, switches: Mapping[str, int]
) -> dict[int, tuple[int, int]]:
    """Ask which port of which switch a port of the datapath is; switches by name of the bridge."""
    ports, bridge = {}, ""
    for line in control.ask("dpif/show").splitlines():
        if heading := _BRIDGE.fullmatch(line):
            bridge = heading[1]
        elif (port := _PORT.fullmatch(line)) and bridge in switches:
            ports[int(port[2])] = (switches[bridge], int(port[1]))
    return ports
