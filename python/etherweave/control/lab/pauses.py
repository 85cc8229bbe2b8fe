"""Pauses ports of a lab by real PAUSE frames from their neighbours, and counts what avoids them."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from etherweave.control.lab import status
from etherweave.control.lab.compare import HostPair, allowed_ports, follows, predict
from etherweave.control.lab.layout import LabPort, Layout, LayoutError, interface
from etherweave.control.lab.lifecycle import Lab, LabError
from etherweave.control.lab.probes import ProbeFrame, ProbeSender, sender_in
from etherweave.control.pause.frame import QUANTA_MAX, Pause, encode

EVERY_S = 0.05  # Between two PAUSE frames [s]; each lasts 0.34 s at the rate of a lab's cables.
SOURCE = 0x00005E0053FF
"""The last of the MAC addresses for documentation: no host's, which are the first."""


class PauseError(LayoutError):
    """A port that cannot be paused; the message says why."""


@contextlib.contextmanager
def paused(layout: Layout, end: LabPort) -> Iterator[None]:
    """Pause a port within the block, as a congested neighbour does; then resume it.

    Raises ``PauseError`` if the port leads to no switch.
    """
    other = layout.across.get(end)
    if not isinstance(other, LabPort):
        name = layout.plan.switches[end.switch].name
        between = [
            str(port.port)
            for port, far in layout.across.items()
            if port.switch == end.switch and isinstance(far, LabPort)
        ]
        known = ", ".join(between) or f"none of {name} does"
        raise PauseError(f"port {end.port} of {name}: expected one that leads to a switch: {known}")
    stop = threading.Event()
    with sender_in(layout.fabric, interface(other)) as sock:
        sock.send(encode(Pause(SOURCE, QUANTA_MAX)))
        thread = threading.Thread(target=_repeat, args=(sock, stop))
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
            sock.send(encode(Pause(SOURCE, 0)))


def _repeat(sock: socket.socket, stop: threading.Event) -> None:
    while not stop.wait(EVERY_S):
        sock.send(encode(Pause(SOURCE, QUANTA_MAX)))


FRAMES = 200  # Sent in each phase [frames].
PATIENCE_S = 5.0  # Longest wait for the reaction of a switch [s].


class DiversionCase(NamedTuple):
    """Two hosts whose packets have an alternative to their first link."""

    pair: HostPair
    port: LabPort
    alternative: LabPort


@dataclass(frozen=True)
class PausePhase:
    """Frames that the two ports sent in a phase."""

    frames: int
    by_default: int
    by_alternative: int
    path: tuple[str, ...]  # Switches on the path of the last frame.
    as_tables: bool  # Whether all left by ports that the tables allow in this phase.


@dataclass(frozen=True)
class PauseResult:
    """Frames before, during and after a pause of a port."""

    source: str
    destination: str
    port: str
    alternative: str
    before: PausePhase
    paused: PausePhase
    resumed: PausePhase
    diverted_ms: float  # Time from the first PAUSE frame to the first probe at the other port.
    restored_ms: float  # Time from the end of the pause to the first probe at the port.
    lost: int  # Frames that did not arrive.


def find_diversion(layout: Layout) -> DiversionCase | None:
    """Find two hosts whose packets leave their first switch by another port if theirs is paused.

    Of all such pairs, the first with the shortest default path.
    """
    return min(_diversions(layout), key=lambda diversion: diversion[0], default=(0, None))[1]


def measure_pause(lab: Lab, case: DiversionCase) -> PauseResult:
    """Pause a port by PAUSE frames from its neighbour, and count the frames of the two ports.

    Raises ``LabError`` if the switch does not react.
    """
    plan = lab.layout.plan
    with ProbeSender(lab.layout) as walker:
        before = _phase(lab, walker, case, ())
        with paused(lab.layout, case.port):
            diverted_ms = _until(walker, case, lab.layout, case.alternative)
            during = _phase(lab, walker, case, (case.port,))
        restored_ms = _until(walker, case, lab.layout, case.port)
        after = _phase(lab, walker, case, ())
    phases = (before, during, after)
    return PauseResult(
        plan.hosts[case.pair.source].name,
        plan.hosts[case.pair.destination].name,
        _port_name(lab.layout, case.port),
        _port_name(lab.layout, case.alternative),
        before.figures,
        during.figures,
        after.figures,
        diverted_ms,
        restored_ms,
        sum(phase.lost for phase in phases),
    )


class _Counted(NamedTuple):
    figures: PausePhase
    lost: int


def _diversions(layout: Layout) -> Iterator[tuple[int, DiversionCase]]:
    for pair in map(HostPair._make, layout.pairs):
        usual = predict(layout, pair)
        port = LabPort(usual[0].switch, usual[0].out_port)
        if len(usual) > 1:
            other = predict(layout, pair, (port,))[0]
            if other.out_port != port.port:
                yield len(usual), DiversionCase(pair, port, LabPort(other.switch, other.out_port))


def _phase(
    lab: Lab, walker: ProbeSender, case: DiversionCase, pauses: Sequence[LabPort]
) -> _Counted:
    plan = lab.layout.plan
    target = plan.hosts[case.pair.destination]
    before = status.port_counters(lab)
    walks = list(walker.follow([ProbeFrame(case.pair.source, target.mac)] * FRAMES))
    after = status.port_counters(lab)
    allowed = allowed_ports(lab.layout.planned, [case.pair] * FRAMES, walks, pauses)
    sent = {end: after[end].sent - before[end].sent for end in (case.port, case.alternative)}
    figures = PausePhase(
        FRAMES,
        sent[case.port],
        sent[case.alternative],
        tuple(plan.switches[hop.switch].name for hop in walks[-1].hops),
        all(follows(walk.hops, ports) for walk, ports in zip(walks, allowed, strict=True)),
    )
    return _Counted(figures, sum(walk.host != target.name for walk in walks))


def _until(walker: ProbeSender, case: DiversionCase, layout: Layout, wanted: LabPort) -> float:
    """Send frames until one leaves by a port; return the time until then [ms]."""
    start_s = time.monotonic()
    probe = ProbeFrame(case.pair.source, layout.plan.hosts[case.pair.destination].mac)
    while (took_s := time.monotonic() - start_s) < PATIENCE_S:
        (walk,) = walker.follow([probe], quiet_s=0.001)
        if walk.hops and walk.hops[0].out_port == wanted.port:
            return 1e3 * (time.monotonic() - start_s)
    name = _port_name(layout, wanted)
    raise LabError(f"no frame left by {name} within {took_s:.1f} s; expected it after a pause")


def _port_name(layout: Layout, end: LabPort) -> str:
    return f"{layout.plan.switches[end.switch].name}:{end.port}"
