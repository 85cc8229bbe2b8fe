"""Asks Open vSwitch what becomes of frames, and tells it in the words of the plan."""

import re
from collections.abc import Iterable, Iterator
from itertools import tee
from pathlib import Path
from typing import NamedTuple, Self

from etherweave.control.ovs.bridges import Wiring
from etherweave.control.ovs.control_socket import ControlSocket
from etherweave.control.ovs.programs import OvsError
from etherweave.control.ovs.trace import Changes, Hit, Sent, Visit, parse
from etherweave.control.rules import Plan

CONTROL_PLANE = -1
"""Stands for a switch where a frame leaves to the controller."""
_BRIDGE = re.compile(r"  (\S+):")
_PORT = re.compile(r"    \S+ (\d+)/(\d+): .*")


class Probe(NamedTuple):
    """A frame that enters the fabric."""

    switch: int
    """Index in the plan."""
    port: int
    fields: str
    """What it is like, as ``ovs-ofctl`` writes matches: ``dl_src=…,dl_dst=…``."""


class Hop(NamedTuple):
    """A switch on the way of a frame."""

    switch: int
    """Index in the plan."""
    port: int
    """By which it came in."""
    visit: Visit
    """Rules that it met."""

    @property
    def hit(self) -> Hit:
        """The rule that it met last; none of the first table where it met no table."""
        return self.visit.hits[-1] if self.visit.hits else Hit(0, "", None)

    @property
    def sent(self) -> list[Sent]:
        """Where it went."""
        return self.visit.sent


class Delivery(NamedTuple):
    """A frame that left the fabric."""

    switch: int
    """Index in the plan; ``CONTROL_PLANE``: it left to the controller."""
    port: int
    changes: Changes
    """What was written on the way."""


class Journey(NamedTuple):
    """All that became of a frame."""

    hops: tuple[Hop, ...]
    deliveries: tuple[Delivery, ...]
    remarks: tuple[str, ...]
    """Of Open vSwitch; none on a good way."""


class Oracle:
    """Bridges that were built and loaded, ready for questions.

    Parameters
    ----------
    control
        The switch daemon's control socket.
    plan
        What the bridges were told.
    wiring
        Their names.
    """

    def __init__(self, control: Path, plan: Plan, wiring: Wiring) -> None:
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
        self._ports = dict(self._datapath_ports(self._socket.ask("dpif/show")))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def follow(self, probes: Iterable[Probe]) -> Iterator[Journey]:
        """Follow frames, one after the other.

        Raises
        ------
        OvsError
            If Open vSwitch refuses a frame, ends, or says what we do not understand.
        """
        asked, answered = tee(probes)
        questions = (
            ("ofproto/trace", self._bridges[probe.switch], f"in_port={probe.port},{probe.fields}")
            for probe in asked
        )
        # The answers are asked for first, so that no question is left without one.
        for text, probe in zip(self._socket.ask_all(questions), answered, strict=True):
            yield self._journey(text, probe)

    def _journey(self, text: str, probe: Probe) -> Journey:
        try:
            trace = parse(text)
        except ValueError as error:
            raise OvsError(f"trace of {probe.fields}: {error}") from error
        hops: list[Hop] = []
        for visit in trace.visits:
            switch, port = probe.switch, probe.port
            if visit.came_from is not None:
                before, out = visit.came_from
                switch, port = self._across[hops[before].switch, out]
            if self._index[visit.bridge] != switch:
                raise OvsError(f"a trace goes on in {visit.bridge}, not {self._bridges[switch]}")
            hops.append(Hop(switch, port, visit))
        deliveries = [
            Delivery(*self._ports.get(frame.port, (CONTROL_PLANE, frame.port)), frame.changes)
            for frame in trace.frames
        ]
        return Journey(tuple(hops), tuple(deliveries), trace.remarks)

    def _datapath_ports(self, shown: str) -> Iterator[tuple[int, tuple[int, int]]]:
        """Read which port of which switch a port of the datapath is."""
        bridge = ""
        for line in shown.splitlines():
            if heading := _BRIDGE.fullmatch(line):
                bridge = heading[1]
            elif (port := _PORT.fullmatch(line)) and bridge in self._index:
                yield int(port[2]), (self._index[bridge], int(port[1]))
