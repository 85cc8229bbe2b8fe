"""Traffic that goes round a paused port, counted at both ports, and comes back."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

from etherweave.control.lab import counters
from etherweave.control.lab.compare import Pair, decided, follows, predict
from etherweave.control.lab.layout import End, Layout
from etherweave.control.lab.lifecycle import Lab, LabError
from etherweave.control.lab.pauses import paused
from etherweave.control.lab.walk import Probe, Walker

FRAMES = 200
"""Sent in each phase [frames]."""
PATIENCE_S = 5.0
"""Longest wait for a switch to react [s]."""


class Diversion(NamedTuple):
    """Two hosts whose packets have a way round their first link."""

    pair: Pair
    port: End
    alternative: End


@dataclass(frozen=True)
class Phase:
    """What the two ports sent while frames went by."""

    frames: int
    by_default: int
    by_alternative: int
    way: tuple[str, ...]
    """Switches that the last frame passed."""
    as_tables: bool
    """Whether all took the ports that the tables allow, with that port paused or not."""


@dataclass(frozen=True)
class Pausing:
    """A port pauses, and resumes."""

    source: str
    destination: str
    port: str
    alternative: str
    before: Phase
    paused: Phase
    resumed: Phase
    diverted_ms: float
    """From the first PAUSE frame to the first frame seen on the other port, probes included."""
    restored_ms: float
    """From the frame that ends the pause to the first frame seen on the port again."""
    lost: int
    """Frames that did not arrive."""


def diversion(layout: Layout) -> Diversion | None:
    """Find two hosts whose packets leave their first switch by another port when theirs pauses.

    Of all such pairs the first whose usual way is shortest: the way round is then plainly another.
    """
    return min(_diversions(layout), key=lambda found: found[0], default=(0, None))[1]


def pausing(lab: Lab, way: Diversion) -> Pausing:
    """Pause a port by PAUSE frames from its neighbour, and count what the two ports send.

    Raises
    ------
    LabError
        If the switch does not react.
    """
    plan = lab.layout.plan
    with Walker(lab.layout) as walker:
        before = _phase(lab, walker, way, ())
        with paused(lab.layout, way.port):
            diverted_ms = _until(walker, way, lab.layout, way.alternative)
            during = _phase(lab, walker, way, (way.port,))
        restored_ms = _until(walker, way, lab.layout, way.port)
        after = _phase(lab, walker, way, ())
    phases = (before, during, after)
    return Pausing(
        plan.hosts[way.pair.source].name,
        plan.hosts[way.pair.destination].name,
        _port_name(lab.layout, way.port),
        _port_name(lab.layout, way.alternative),
        before.figures,
        during.figures,
        after.figures,
        diverted_ms,
        restored_ms,
        sum(phase.lost for phase in phases),
    )


class _Counted(NamedTuple):
    figures: Phase
    lost: int


def _diversions(layout: Layout) -> Iterator[tuple[int, Diversion]]:
    hosts = layout.plan.hosts
    for pair in map(Pair._make, permutations(range(len(hosts)), 2)):
        usual = predict(layout, pair)
        port = End(usual[0].switch, usual[0].out_port)
        if len(usual) > 1:
            other = predict(layout, pair, (port,))[0]
            if other.out_port != port.port:
                yield len(usual), Diversion(pair, port, End(other.switch, other.out_port))


def _phase(lab: Lab, walker: Walker, way: Diversion, pauses: Sequence[End]) -> _Counted:
    plan = lab.layout.plan
    target = plan.hosts[way.pair.destination]
    before = counters.ports(lab)
    walks = list(walker.follow([Probe(way.pair.source, target.mac)] * FRAMES))
    after = counters.ports(lab)
    allowed = decided(lab.layout.planned, [way.pair] * FRAMES, walks, pauses)
    sent = {end: after[end].sent - before[end].sent for end in (way.port, way.alternative)}
    figures = Phase(
        FRAMES,
        sent[way.port],
        sent[way.alternative],
        tuple(plan.switches[hop.switch].name for hop in walks[-1].hops),
        all(follows(walk.hops, ports) for walk, ports in zip(walks, allowed, strict=True)),
    )
    return _Counted(figures, sum(walk.host != target.name for walk in walks))


def _until(walker: Walker, way: Diversion, layout: Layout, wanted: End) -> float:
    """Send frames until one leaves by a port, and tell how long that took [ms]."""
    start_s = time.monotonic()
    probe = Probe(way.pair.source, layout.plan.hosts[way.pair.destination].mac)
    while (took_s := time.monotonic() - start_s) < PATIENCE_S:
        (walk,) = walker.follow([probe], quiet_s=0.001)
        if walk.hops and walk.hops[0].out_port == wanted.port:
            return 1e3 * (time.monotonic() - start_s)
    name = _port_name(layout, wanted)
    raise LabError(f"no frame left by {name} within {took_s:.1f} s; expected it after a pause")


def _port_name(layout: Layout, end: End) -> str:
    return f"{layout.plan.switches[end.switch].name}:{end.port}"
