"""What is seen of the fabric: probes out, probes in, and what follows for the cables."""

import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping

from etherweave.control.controller.log import Log
from etherweave.control.controller.probes import Probes, read_name
from etherweave.control.controller.requests import packet_out
from etherweave.control.controller.session import Session
from etherweave.control.controller.wiring import End, Fault, Finding, Seen, check
from etherweave.control.rules import Plan

FRAMES_MAX = 20_000
"""Frames that may wait to be looked at; more are dropped."""
_NAMES_AT_ONCE = 100
"""Frames of hosts that are read in one go: they are the slow ones, and anybody can send them."""
LOST_AFTER = 3.5
"""Probes in a row that must be missing."""
_PROBES_PER_S = 2000
"""Of all switches together: a large fabric is probed less often."""


class Watch:
    """Sends probes and remembers where they arrived.

    Parameters
    ----------
    plan
        Its switches and ports count, not its rules.
    probe_s
        Time between two probes of a port [s]; longer in a fabric of very many ports.
    """

    def __init__(self, plan: Plan, probe_s: float, log: Log) -> None:
        self._plan = plan
        ports = sum(len(switch.ports) for switch in plan.switches)
        self.every_s = max(probe_s, ports / _PROBES_PER_S)
        self._log = log
        self._probes = Probes()
        self._frames: deque[tuple[End, bytes]] = deque(maxlen=FRAMES_MAX)
        self._arrivals: dict[End, tuple[End, float]] = {}
        self._names: dict[End, tuple[str, float]] = {}
        self._findings: frozenset[Finding] = frozenset()
        self._lock = threading.Lock()
        self._next_s = 0.0
        self.findings: dict[Fault, int] = {}
        self.settled: frozenset[str] = frozenset()
        """Switches whose cables are all known, or known to be missing."""

    def take(self, switch: str, port: int, frame: bytes) -> None:
        """Take a frame that arrived at a switch; called by its thread."""
        self._frames.append((End(switch, port), frame))

    def forget(self, switch: str) -> None:
        """Forget what a switch has shown: it begins anew."""
        ends = [end for end, (left, _) in self._arrivals.items() if switch in (end[0], left[0])]
        for end in ends:
            del self._arrivals[end]

    def probe(self, sessions: Mapping[str, Session]) -> None:
        """Send probes out of all ports with a link, if it is time."""
        now_s = time.monotonic()
        if now_s < self._next_s:
            return
        self._next_s = now_s + self.every_s
        for name, session in sessions.items():
            ports = [number for number, link in session.links.items() if link]
            frames = (packet_out(port, self._probes.frame(End(name, port))) for port in ports)
            octets = b"".join(frames)
            if octets:
                session.post(octets)

    def look(self) -> None:
        """Read what has arrived."""
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

    def seen(self, sessions: Mapping[str, Session], ready_s: Mapping[str, float]) -> Seen:
        """Give what is known now.

        Parameters
        ----------
        sessions
            Switches that are connected.
        ready_s
            When they began to hand over probes.
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
        return Seen(arrivals, links, names, settled)

    def report(self, seen: Seen) -> tuple[Finding, ...]:
        """Log what is wrong with the wiring, when it changes."""
        found = check(self._plan, seen)
        fresh = frozenset(found)
        for finding in sorted(fresh - self._findings):
            self._log.tell("wiring", fault=finding.fault, finding=str(finding), **_ends(finding))
        for finding in sorted(self._findings - fresh):
            self._log.tell("wiring_mended", fault=finding.fault, **_ends(finding))
        self._findings = fresh
        self.findings = _counts(fresh)
        return found


def _ends(finding: Finding) -> dict[str, object]:
    return {
        "switch": finding.end.switch,
        "port": finding.end.port,
        "found": finding.found,
        "expected": finding.expected,
    }


def _counts(findings: Iterable[Finding]) -> dict[Fault, int]:
    counts = dict.fromkeys(Fault, 0)
    for finding in findings:
        counts[finding.fault] += 1
    return counts
