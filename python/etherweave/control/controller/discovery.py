"""Discovery by LLDP (IEEE 802.1AB): probes that find cables, beacons between controllers.

A probe carries 128 random bits of its port, so that a host cannot forge a probe that it has not
received; a probe that arrives is recognised by its octets. Hosts that send LLDP name themselves.
"""

import secrets
import struct
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from os_ken.lib.packet import ethernet, lldp, packet

from etherweave.api.outputs import printable
from etherweave.control.controller import wiring
from etherweave.control.controller.log import EventLog
from etherweave.control.controller.roles import Beacon, ControllerState
from etherweave.control.controller.session import SwitchSession
from etherweave.control.messages import packet_out
from etherweave.control.rules import FabricPlan

_SOURCE = "02:45:57:00:00:01"
_ORGANISATION = b"\x02EW"  # A locally administered OUI, which the IEEE assigns to no organisation.
_PROBE, _BEACON = 1, 2
_BEACON_BODY = struct.Struct("!QBQ")
_SECONDS_TO_LIVE = 120
_LOCAL = 7
_FRAME_MAX = 1600
_NAME_MAX = 64


class Probes:
    """Probes of all ports, made when first asked for."""

    def __init__(self) -> None:
        self._frames: dict[wiring.SwitchPort, bytes] = {}
        self._ends: dict[bytes, wiring.SwitchPort] = {}

    def frame(self, end: wiring.SwitchPort) -> bytes:
        """Return the probe of a port."""
        if end not in self._frames:
            made = _frame(end.switch, str(end.port), _PROBE, secrets.token_bytes(16))
            self._frames[end] = made
            self._ends[made] = end
        return self._frames[end]

    def end(self, frame: bytes) -> wiring.SwitchPort | None:
        """Return the port that a probe left by, or None if the frame is no probe."""
        return self._ends.get(frame)


def beacon_frame(beacon: Beacon) -> bytes:
    """Write a beacon as an LLDP frame."""
    return _frame("etherweave", "controller", _BEACON, _BEACON_BODY.pack(*beacon))


def read_beacon(frame: bytes) -> Beacon | None:
    """Read another controller's beacon, or None if the frame is none."""
    for tlv in _tlvs(frame):
        is_own = isinstance(tlv, lldp.OrganizationallySpecific) and tlv.oui == _ORGANISATION
        if is_own and tlv.subtype == _BEACON and len(tlv.info) == _BEACON_BODY.size:
            controller, state, generation = _BEACON_BODY.unpack(tlv.info)
            known = state in tuple(ControllerState)
            return Beacon(controller, ControllerState(state), generation) if known else None
    return None


def read_name(frame: bytes) -> str | None:
    """Read the system name of a host's LLDP, or None for a controller's frame or no name."""
    tlvs = _tlvs(frame)
    if any(isinstance(tlv, lldp.OrganizationallySpecific) and tlv.oui == _ORGANISATION
           for tlv in tlvs):  # fmt: skip
        return None
    names = [tlv.system_name for tlv in tlvs if isinstance(tlv, lldp.SystemName)]
    text = "".join(name.decode("ascii", "replace") for name in names[:1])
    return printable(text)[:_NAME_MAX] or None


def _frame(chassis: str, port: str, kind: int, body: bytes) -> bytes:
    head = ethernet.ethernet(lldp.LLDP_MAC_NEAREST_BRIDGE, _SOURCE, 0x88CC)
    tlvs = (
        lldp.ChassisID(subtype=_LOCAL, chassis_id=chassis.encode()[:255]),
        lldp.PortID(subtype=_LOCAL, port_id=port.encode()),
        lldp.TTL(ttl=_SECONDS_TO_LIVE),
        lldp.OrganizationallySpecific(oui=_ORGANISATION, subtype=kind, info=body),
        lldp.End(),
    )
    made = packet.Packet()
    made.add_protocol(head)
    made.add_protocol(lldp.lldp(tlvs))
    made.serialize()
    return bytes(made.data).ljust(60, b"\0")


def _tlvs(frame: bytes) -> tuple[Any, ...]:
    """Read LLDP, whatever a host sends: os-ken's parser raises many exceptions for bad frames."""
    if len(frame) > _FRAME_MAX or frame[12:14] != b"\x88\xcc":
        return ()
    try:
        read, *_ = lldp.lldp.parser(frame[14:])
    except Exception:
        return ()
    return tuple(read.tlvs) if read else ()


FRAMES_MAX = 20_000  # Length of the queue of received frames; more are dropped.
_NAMES_AT_ONCE = 100
"""Frames of hosts parsed in one step: they are slow to parse, and any host can send them."""
LOST_AFTER = 3.5  # Number of consecutive probes after which a cable counts as lost.
_PROBES_PER_S = 2000  # Upper limit for all switches together: a large fabric is probed less often.


class LinkDiscovery:
    """Sends probes and records where they arrive.

    Switches and ports of the plan are used, not its rules. ``probe_s`` lies between two probes of a
    port [s]; it is longer in a fabric of more than 2,000 ports/s.
    """

    def __init__(self, plan: FabricPlan, probe_s: float, log: EventLog) -> None:
        self._plan = plan
        ports = sum(len(switch.ports) for switch in plan.switches)
        self.every_s = max(probe_s, ports / _PROBES_PER_S)
        self._log = log
        self._probes = Probes()
        self._frames: deque[tuple[wiring.SwitchPort, bytes]] = deque(maxlen=FRAMES_MAX)
        self._arrivals: dict[wiring.SwitchPort, tuple[wiring.SwitchPort, float]] = {}
        self._names: dict[wiring.SwitchPort, tuple[str, float]] = {}
        self._findings: frozenset[wiring.WiringFinding] = frozenset()
        self._lock = threading.Lock()
        self._next_s = 0.0
        self.findings: dict[wiring.WiringFault, int] = {}
        self.settled: frozenset[str] = frozenset()
        """Switches for which a missing probe means a missing cable."""

    def receive(self, switch: str, port: int, frame: bytes) -> None:
        """Queue a frame that arrived at a switch; called by its thread."""
        self._frames.append((wiring.SwitchPort(switch, port), frame))

    def forget(self, switch: str) -> None:
        """Forget the probes of a switch that connects again."""
        ends = [end for end, (left, _) in self._arrivals.items() if switch in (end[0], left[0])]
        for end in ends:
            del self._arrivals[end]

    def probe(self, sessions: Mapping[str, SwitchSession]) -> None:
        """Send probes out of all ports with a link, when they are due."""
        now_s = time.monotonic()
        if now_s < self._next_s:
            return
        self._next_s = now_s + self.every_s
        for name, session in sessions.items():
            ports = [number for number, link in session.links.items() if link]
            frames = (
                packet_out(port, self._probes.frame(wiring.SwitchPort(name, port)))
                for port in ports
            )
            octets = b"".join(frames)
            if octets:
                session.post(octets)

    def process(self) -> None:
        """Process the queued frames."""
        now_s = time.monotonic()
        names = _NAMES_AT_ONCE
        while self._frames:
            end, frame = self._frames.popleft()
            left = self._probes.end(frame)
            if left:
                self._arrivals[end] = (left, now_s)
            elif names:
                names -= 1
                name = read_name(frame)
                if name:
                    self._names[end] = (name, now_s)

    def observed(
        self, sessions: Mapping[str, SwitchSession], ready_s: Mapping[str, float]
    ) -> wiring.ObservedWiring:
        """Return what is known of the wiring now.

        ``ready_s`` is when each connected switch began to forward probes to the controller.
        """
        now_s = time.monotonic()
        lost_s = LOST_AFTER * self.every_s
        settled = frozenset(name for name, since_s in ready_s.items() if now_s - since_s > lost_s)
        self.settled = settled
        arrivals = {
            end: left
            for end, (left, last_s) in self._arrivals.items()
            if now_s - last_s <= lost_s or not {end.switch, left.switch} <= settled
        }
        names = {end: name for end, (name, last_s) in self._names.items() if now_s - last_s < 120}
        links = {name: session.links for name, session in sessions.items()}
        return wiring.ObservedWiring(arrivals, links, names, settled)

    def report(self, observed: wiring.ObservedWiring) -> tuple[wiring.WiringFinding, ...]:
        """Log findings about the wiring that have come or gone, and return the present ones."""
        current = wiring.check(self._plan, observed)
        current_set = frozenset(current)
        for finding in sorted(current_set - self._findings):
            self._log.write("wiring", fault=finding.fault, finding=str(finding), **_ends(finding))
        for finding in sorted(self._findings - current_set):
            self._log.write("wiring_mended", fault=finding.fault, **_ends(finding))
        self._findings = current_set
        self.findings = _counts(current_set)
        return current


def _ends(finding: wiring.WiringFinding) -> dict[str, object]:
    return {
        "switch": finding.end.switch,
        "port": finding.end.port,
        "found": finding.found,
        "expected": finding.expected,
    }


def _counts(findings: Iterable[wiring.WiringFinding]) -> dict[wiring.WiringFault, int]:
    counts = dict.fromkeys(wiring.WiringFault, 0)
    for finding in findings:
        counts[finding.fault] += 1
    return counts
