"""Learns an unknown fabric: which switches there are, how they are wired, where hosts are.

Every switch that connects gets one rule that hands LLDP to its controllers; then probes leave every
port with a link. A probe that arrives shows a cable. A port with a link where none arrives leads to
a host. The rule is removed at the end; nothing else of a switch is read or changed.
"""

import json
import re
import secrets
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from etherweave.control import messages, rules
from etherweave.control.admission import LLDP
from etherweave.control.controller.discovery import LOST_AFTER, LinkDiscovery
from etherweave.control.controller.drift import TableChange, TableChanges
from etherweave.control.controller.install import InstallError, install
from etherweave.control.controller.log import EventLog
from etherweave.control.controller.message_stream import PeerRejectedError
from etherweave.control.controller.server import ControllerOptions
from etherweave.control.controller.session import DisconnectedError, SwitchSession, switch_server
from etherweave.control.controller.wiring import ObservedWiring, SwitchPort, in_both_directions
from etherweave.control.messages import Cookie, FlowCommand, set_async

TICK_S = 0.05
_PRIORITY_MAX = 0xFFFF
_LLDP_RULE = rules.FlowRule(
    rules.INGRESS_ACL_TABLE,
    _PRIORITY_MAX,
    (rules.MatchField("eth_type", LLDP),),
    (rules.Output(rules.CONTROLLER),),
    (),
    rules.Purpose.CONTROL,
)
_HOST_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", re.ASCII)


class LearningError(Exception):
    """A fabric cannot be learned; the message says why."""


class LearnedPort(NamedTuple):
    """A port with a link."""

    end: SwitchPort
    rate_kbps: int  # Rate of the link [kb/s]; 0: the switch states none.


class LearnedCable(NamedTuple):
    """A cable between two switches."""

    first: LearnedPort
    other: LearnedPort


class LearnedHost(NamedTuple):
    """A host, and the port that leads to it."""

    name: str
    port: LearnedPort


@dataclass(frozen=True)
class LearnedFabric:
    """Switches, cables and hosts as they were discovered."""

    datapaths: Mapping[str, int]  # Datapath ids, by switch.
    cables: tuple[LearnedCable, ...]
    hosts: tuple[LearnedHost, ...]

    def scenario(self, name: str) -> str:
        """Write a scenario whose topology is this fabric, with the numbers of its switches."""
        nodes = [
            *(json.dumps({"id": host.name, "kind": "host"}) for host in self.hosts),
            *(
                json.dumps({"id": switch, "kind": "switch", "datapath": f"{datapath:016x}"})
                for switch, datapath in self.datapaths.items()
            ),
        ]
        links = [
            *(json.dumps(_host_link(host)) for host in self.hosts),
            *(json.dumps(_link(cable)) for cable in self.cables),
        ]
        listed = f'{{"nodes": [\n{_lines(nodes)}\n],\n"links": [\n{_lines(links)}\n]}}'
        title = json.dumps(name, ensure_ascii=False)
        return f"name = {title}\n\n[topology.custom]\njson = '''\n{listed}\n'''\n"


def _lines(items: list[str]) -> str:
    return ",\n".join(f"  {item}" for item in items)


def _host_link(host: LearnedHost) -> dict[str, object]:
    end, rate = host.port
    link = {"source": host.name, "target": end.switch, "targetport": end.port}
    return {**link, **_rate(rate)}


def _link(cable: LearnedCable) -> dict[str, object]:
    first, other = cable.first.end, cable.other.end
    ends = {"source": first.switch, "sourceport": first.port}
    ends |= {"target": other.switch, "targetport": other.port}
    return {**ends, **_rate(min(cable.first.rate_kbps, cable.other.rate_kbps))}


def _rate(kbps: int) -> dict[str, str]:
    return {"rate": f"{kbps * 1000}b/s"} if kbps else {}


def fabric_of(
    datapaths: Mapping[str, int], observed: ObservedWiring, rates: Mapping[str, Mapping[int, int]]
) -> LearnedFabric:
    """Return the fabric that was discovered.

    ``datapaths`` are ids by switch, ``rates`` those of ports [kb/s] by switch; ``observed`` has
    links of ports, arrivals of probes, and names of hosts. Raises ``LearningError`` if a port leads
    to several others, or to its own switch.
    """
    across = in_both_directions(observed.arrivals)
    for end, other in across.items():
        if across[other] != end or end.switch == other.switch:
            raise LearningError(
                f"{end} leads to {other}, and that to {across[other]}; expected cables between "
                "two switches that speak OpenFlow, each end in one port"
            )

    def port(end: SwitchPort) -> LearnedPort:
        return LearnedPort(end, rates[end.switch].get(end.port, 0))

    alone = [end for end in _ends_with_link(observed) if end not in across]
    names = _host_names(alone, observed, set(datapaths))
    return LearnedFabric(
        datapaths,
        tuple(
            LearnedCable(port(end), port(other))
            for end, other in sorted(across.items())
            if end < other
        ),
        tuple(LearnedHost(names[end], port(end)) for end in alone),
    )


def _ends_with_link(observed: ObservedWiring) -> list[SwitchPort]:
    return [
        SwitchPort(switch, number)
        for switch, links in observed.ports.items()
        for number, has_link in sorted(links.items())
        if has_link
    ]


def _host_names(
    ends: list[SwitchPort], observed: ObservedWiring, taken: set[str]
) -> dict[SwitchPort, str]:
    """Name hosts as their LLDP does, where that is a name and no other has it; else by number."""
    counted = Counter(observed.neighbours.values())
    names = {}
    for number, end in enumerate(ends):
        own = observed.neighbours.get(end, "")
        is_usable = _HOST_NAME.fullmatch(own) and counted[own] == 1 and own not in taken
        is_numbered = re.fullmatch(r"host\d+", own) is not None
        names[end] = own if is_usable and not is_numbered else f"host{number}"
    return names


class FabricLearner:
    """Accepts all switches that connect, and discovers their cables.

    ``options`` say where to listen, and how often to probe.
    """

    def __init__(self, options: ControllerOptions, log: EventLog) -> None:
        self._options = options
        self._log = log
        self._sessions: dict[int, SwitchSession] = {}
        self._names: dict[int, str] = {}
        self._discovery: LinkDiscovery | None = None
        self._lock = threading.Lock()
        self._server = switch_server(options, self, log)
        self.port = self._server.port

    # Called by the threads of sessions.

    def connected(self, session: SwitchSession) -> None:
        """Accept any switch that is not connected already."""
        session.send(set_async())
        with self._lock:
            if session.id in self._sessions:
                raise PeerRejectedError(f"datapath id {session.id:#x} is connected already")
            self._sessions[session.id] = session
        self._log.write("connected", datapath=f"{session.id:016x}", address=session.address)

    def ended(self, session: SwitchSession) -> None:
        """Remove a switch whose connection has ended."""
        with self._lock:
            self._sessions.pop(session.id, None)
        self._log.write("disconnected", datapath=f"{session.id:016x}")

    def packet_in(self, session: SwitchSession, port: int, frame: bytes) -> None:
        """Receive a frame of LLDP."""
        with self._lock:
            if self._discovery and session.id in self._names:
                self._discovery.receive(self._names[session.id], port, frame)

    def port_changed(self, session: SwitchSession) -> None:
        """Do nothing: ports are read when probes are over."""

    def demoted(self, session: SwitchSession, generation: int) -> None:
        """Do nothing: the learner claims no role."""

    # Run by the thread that learns.

    def learn(self, count: int | None, wait_s: float, stop: threading.Event) -> LearnedFabric:
        """Wait for switches, and discover how they are wired.

        ``count`` switches are expected; ``None``: as many as connect in time. ``wait_s`` is the
        longest wait [s], and the whole of it without a number; ``stop`` ends it early. Raises
        ``LearningError`` if no switch connects, or fewer than expected, or one rejects the rule or
        disconnects, or the wiring is no list of cables.
        """
        self._server.open()
        self._log.write("listening", host=self._options.host, port=self.port)
        try:
            self._await(count, wait_s, stop)
            return self._discover()
        except (DisconnectedError, InstallError) as error:
            raise LearningError(str(error)) from None
        finally:
            self._server.close()

    def _await(self, count: int | None, wait_s: float, stop: threading.Event) -> None:
        end_s = time.monotonic() + wait_s
        while time.monotonic() < end_s and not stop.wait(TICK_S):
            if count is not None and len(self._sessions) >= count:
                return
        known = len(self._sessions)
        if known < (count or 1):
            raise LearningError(
                f"{known} switches have connected within {wait_s:g} s; expected {count or 'some'}"
            )

    def _discover(self) -> LearnedFabric:
        with self._lock:
            sessions = [self._sessions[number] for number in sorted(self._sessions)]
        named = {f"switch{number}": session for number, session in enumerate(sessions)}
        discovery = LinkDiscovery(_as_plan(named), self._options.probe_s, self._log)
        with self._lock:
            self._names = {session.id: name for name, session in named.items()}
            self._discovery = discovery
        cookie = Cookie(secrets.randbits(64), (1 << 64) - 1)
        try:
            for session in sessions:
                _change(session, FlowCommand.ADD, cookie)
            end_s = time.monotonic() + (LOST_AFTER + 0.5) * discovery.every_s
            while time.monotonic() < end_s:
                discovery.probe(named)
                time.sleep(TICK_S)
                discovery.process()
        finally:
            for session in sessions:
                _change(session, FlowCommand.DELETE_STRICT, cookie)
        observed = discovery.observed(named, {})
        rates = {name: session.rates for name, session in named.items()}
        return fabric_of({name: switch.id for name, switch in named.items()}, observed, rates)


def _as_plan(named: Mapping[str, SwitchSession]) -> rules.FabricPlan:
    """Return switches and ports in the form that discovery takes; nothing is planned."""
    switches = (
        rules.SwitchPlan(
            name,
            session.id,
            tuple(rules.PortPlan(number, "", 0, is_host=False) for number in sorted(session.links)),
            *((), (), ()),
            {},
        )
        for name, session in named.items()
    )
    return rules.FabricPlan("", "", tuple(switches), ())


def _change(session: SwitchSession, command: FlowCommand, cookie: Cookie) -> None:
    octets = messages.flow_mod(_LLDP_RULE, command, cookie=cookie)
    install(session, TableChanges((), (TableChange(_LLDP_RULE, octets),), ()))
