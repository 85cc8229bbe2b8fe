"""Trials of a reaction, in a network namespace of their own: a switch, three ports, one stream.

::

    port 1: a frame every 100 us ─► switch ─► port 2, unless it pauses; then port 3
                                       ▲
            port 2: PAUSE, PAUSE 0, PAUSE with few quanta

Runs as a process of its own, started by :mod:`etherweave.control.reaction` inside ``unshare``: when
it ends, however it ends, the kernel removes namespace, interfaces and mounts.
"""

import contextlib
import gc
import json
import multiprocessing
import os
import random
import select
import socket
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from etherweave.control.ebpf.attach import attached, kernel_program
from etherweave.control.forwarding import pause_rule
from etherweave.control.ovs.bridges import BridgeNames, build
from etherweave.control.ovs.daemons import Datapath, running
from etherweave.control.ovs.load import install
from etherweave.control.pause.agent import serve
from etherweave.control.pause.frame import QUANTA_MAX, Pause, RatedInterface, encode, quantum_ps
from etherweave.control.rules import (
    FORWARD_TABLE,
    INGRESS_ACL_TABLE,
    SERVICE_TABLE,
    FabricPlan,
    FlowRule,
    GoTo,
    MatchField,
    Output,
    PortPlan,
    Purpose,
    SwitchPlan,
)
from etherweave.linux.links import Links, VethEnd
from etherweave.linux.namespaces import disable_ipv6
from etherweave.linux.packets import EVERYTHING, received_ns, receiver

SOURCE, DEFAULT, ALTERNATIVE = 1, 2, 3  # Ports.
SPACING_NS = 100_000
BITS_PER_S = 10**6
"""The rate that quanta count in: 65,535 of them last 33.6 s, longer than a trial."""
FEW_QUANTA = 390  # Pause of 199.68 ms, in which a busy machine also runs the switch.
FRAMES_BETWEEN = 100  # Frames before the first PAUSE and after each reaction.
LIMIT_S = 2.0  # How long a trial waits for a reaction, and for its last frames.

_HOST, _OTHER = 0x02000000000A, 0x02000000000B
_HEAD = _OTHER.to_bytes(6) + _HOST.to_bytes(6) + b"\x08\x00"
_SEQUENCE = struct.Struct(">I")
_BUFFER_FORCED = 33  # ``SO_RCVBUFFORCE`` of socket(7): room for all frames of a trial.


class Arrival(NamedTuple):
    """A frame that the switch has sent."""

    sequence: int
    port: int
    time_ns: int


class Trial(NamedTuple):
    """Results of a trial; None: no reaction within ``LIMIT_S``."""

    pause_us: float | None  # Time from PAUSE to the first frame at the alternative port.
    resume_us: float | None  # Time from PAUSE 0 to the first frame at the default port.
    expiry_us: float | None
    """Time from the end of a pause's quanta to the first frame at the default port."""
    sent: int
    lost: int


def trial_plan() -> FabricPlan:
    """Return the plan of a switch with a default rule and an alternative."""
    bits = {DEFAULT: 0}
    onward = (GoTo(SERVICE_TABLE),)
    control = (MatchField("eth_type", 0x8808),)
    paused = MatchField("metadata", 0, 1 << bits[DEFAULT])
    rules = (
        FlowRule(INGRESS_ACL_TABLE, 390, control, (), (), Purpose.CONTROL),
        FlowRule(
            INGRESS_ACL_TABLE,
            200,
            (MatchField("in_port", SOURCE),),
            (),
            onward,
            Purpose.INGRESS_ACL,
        ),
        pause_rule(bits, frozenset(), None),
        FlowRule(FORWARD_TABLE, 2, (paused, MatchField("eth_dst", _OTHER)), (Output(DEFAULT),)),
        FlowRule(
            *(FORWARD_TABLE, 1),
            (MatchField("in_port", SOURCE), MatchField("eth_dst", _OTHER)),
            (Output(ALTERNATIVE),),
            purpose=Purpose.ALTERNATIVE,
        ),
    )
    ports = tuple(PortPlan(port, f"h{port}", 1, True) for port in (SOURCE, DEFAULT, ALTERNATIVE))
    return FabricPlan("reaction", "", (SwitchPlan("s1", 1, ports, rules, (), (), bits),), ())


def trials(plane: str, count: int) -> Iterator[Trial]:
    """Run trials one after the other."""
    _take_priority()
    _create_interfaces()
    with contextlib.ExitStack() as cleanup:
        cleanup.enter_context(_ebpf() if plane == "ebpf" else _ovs())
        ends = {port: cleanup.enter_context(_end(port)) for port in (SOURCE, DEFAULT, ALTERNATIVE)}
        source = random.Random(0)
        gc.disable()
        # The first frames through Open vSwitch take its slow path.
        _trial(ends, source)
        for _ in range(count):
            yield _trial(ends, source)


def _take_priority() -> None:
    """Run with real-time priority, as a switch does that has a processor of its own."""
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    # Sleep to the nanosecond: by default the kernel may let us oversleep by 50 us.
    with contextlib.suppress(OSError):
        Path("/proc/self/timerslack_ns").write_text("1")


def _create_interfaces() -> None:
    disable_ipv6()
    with Links() as links:
        for port in (SOURCE, DEFAULT, ALTERNATIVE):
            links.add_veth(f"p{port}", VethEnd(f"h{port}"))
            for end in "ph":
                links.set_up(f"{end}{port}")


@contextlib.contextmanager
def _ebpf() -> Iterator[None]:
    (switch,) = trial_plan().switches
    interfaces = {end.number: RatedInterface(f"p{end.number}", BITS_PER_S) for end in switch.ports}
    with kernel_program() as loaded, attached(loaded, switch, interfaces):
        yield


@contextlib.contextmanager
def _ovs() -> Iterator[None]:
    fabric_plan = trial_plan()
    (switch,) = fabric_plan.switches
    interfaces = {(switch.name, port.number): f"p{port.number}" for port in switch.ports}
    wired = BridgeNames({switch.name: "s1"}, interfaces)
    with running(Datapath.NETDEV) as daemons:
        build(daemons, fabric_plan, wired)
        install(daemons, "s1", switch)
        with _agent(switch, daemons.management("s1")):
            yield


@contextlib.contextmanager
def _agent(switch: SwitchPlan, address: str) -> Iterator[None]:
    """Run the agent in a process of its own, as beside a switch."""
    near, far = socket.socketpair()
    interfaces = {DEFAULT: RatedInterface(f"p{DEFAULT}", BITS_PER_S)}

    def run() -> None:
        near.close()
        serve(switch, interfaces, address, far, ready=lambda: far.send(b"!"))

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    far.close()
    with near:
        try:
            if not near.recv(1):
                raise RuntimeError("the agent did not start; its error is above")
            yield
        finally:
            with contextlib.suppress(OSError):
                near.send(b"!")
            process.join(10)
            process.kill()


def _end(port: int) -> socket.socket:
    sock = receiver(f"h{port}", EVERYTHING)
    sock.setsockopt(socket.SOL_SOCKET, _BUFFER_FORCED, 1 << 23)
    return sock


def _trial(ends: dict[int, socket.socket], source: random.Random) -> Trial:
    stream = _Stream(ends)
    stream.send(FRAMES_BETWEEN)
    for quanta, ports in (
        (QUANTA_MAX, (ALTERNATIVE,)),
        (0, (DEFAULT,)),
        (FEW_QUANTA, (ALTERNATIVE, DEFAULT)),
    ):
        # A pause is sent at a random time between two frames.
        stream.pause(quanta, source.randrange(SPACING_NS))
        for port in ports:
            stream.send_until_one_leaves(port)
        stream.send(FRAMES_BETWEEN)
    stream.receive_the_rest()
    return reaction_times(stream.arrivals, stream.pauses_ns, stream.sent)


class _Stream:
    """Frames at a steady spacing through the switch."""

    def __init__(self, ends: dict[int, socket.socket]) -> None:
        self.arrivals: list[Arrival] = []
        self.pauses_ns: list[int] = []
        self.sent = 0
        self._ends = ends
        self._next_ns = time.monotonic_ns()

    def send(self, frames: int) -> None:
        for _ in range(frames):
            _wait(self._next_ns)
            self._ends[SOURCE].send((_HEAD + _SEQUENCE.pack(self.sent)).ljust(60, b"\0"))
            self.sent += 1
            self._next_ns += SPACING_NS
            # At once, since to read many frames later would delay the frame after a PAUSE.
            self._receive()

    def pause(self, quanta: int, after_ns: int) -> None:
        _wait(self._next_ns - SPACING_NS + after_ns)
        self.pauses_ns.append(time.clock_gettime_ns(time.CLOCK_REALTIME))
        self._ends[DEFAULT].send(encode(Pause(_OTHER, quanta)))

    def send_until_one_leaves(self, port: int) -> None:
        """Send until a frame leaves by a port, after the latest PAUSE took effect if it did."""
        since_ns = self.pauses_ns[-1]
        if port == DEFAULT:
            since_ns = _first_alternative_ns(self.arrivals, since_ns) or since_ns
        read = 0
        for _ in range(int(LIMIT_S * 1e9) // SPACING_NS):
            new, read = self.arrivals[read:], len(self.arrivals)
            if any(notice.port == port and notice.time_ns >= since_ns for notice in new):
                return
            self.send(1)

    def receive_the_rest(self) -> None:
        """Receive what is still inside the switch."""
        end_s = time.monotonic() + LIMIT_S
        self._receive()
        while (
            len({arrival.sequence for arrival in self.arrivals}) < self.sent
            and time.monotonic() < end_s
        ):
            select.select([self._ends[DEFAULT], self._ends[ALTERNATIVE]], [], [], 0.02)
            self._receive()

    def _receive(self) -> None:
        for port in (DEFAULT, ALTERNATIVE):
            self.arrivals.extend(_arrivals(self._ends[port], port))


def reaction_times(arrivals: list[Arrival], triggers: list[int], sent: int) -> Trial:
    """Compute reaction times from the frames of a trial.

    ``arrivals`` are frames that the switch sent, ``sent`` those that it was sent; ``triggers`` is
    when PAUSE, PAUSE 0 and PAUSE with few quanta were sent [ns].
    """
    pause, resume, few = triggers
    end = few + FEW_QUANTA * quantum_ps(BITS_PER_S) // 1000
    return Trial(
        _first_us(arrivals, ALTERNATIVE, pause, resume),
        _first_us(arrivals, DEFAULT, resume, few),
        # A pause that ends early gives a negative time.
        _first_us(arrivals, DEFAULT, _first_alternative_ns(arrivals, few), None, since_ns=end),
        sent,
        sent - len({arrival.sequence for arrival in arrivals}),
    )


def _first_alternative_ns(arrivals: list[Arrival], after_ns: int) -> int | None:
    """Return when the first frame after a moment left by the alternative port."""
    times = [a.time_ns for a in arrivals if a.port == ALTERNATIVE and a.time_ns >= after_ns]
    return min(times, default=None)


def _first_us(
    arrivals: list[Arrival],
    port: int,
    from_ns: int | None,
    to_ns: int | None,
    since_ns: int | None = None,
) -> float | None:
    """Return the time from a moment to the first frame at a port, within a span."""
    if from_ns is None:
        return None
    times = [
        arrival.time_ns
        for arrival in arrivals
        if arrival.port == port
        and from_ns <= arrival.time_ns
        and (to_ns is None or arrival.time_ns < to_ns)
    ]
    begin_ns = from_ns if since_ns is None else since_ns
    return (min(times) - begin_ns) / 1000 if times else None


def _arrivals(end: socket.socket, port: int) -> Iterator[Arrival]:
    while True:
        try:
            octets, ancillary, _, _ = end.recvmsg(128, 128)
        except BlockingIOError:
            return
        if octets.startswith(_HEAD):
            (sequence,) = _SEQUENCE.unpack_from(octets, len(_HEAD))
            yield Arrival(sequence, port, received_ns(ancillary) or 0)


def _wait(until_ns: int) -> None:
    """Sleep until a moment, which leaves the processors to the switch."""
    left_ns = until_ns - time.monotonic_ns()
    if left_ns > 0:
        time.sleep(left_ns / 1e9)


if __name__ == "__main__":
    for trial in trials(sys.argv[1], int(sys.argv[2])):
        print(json.dumps(trial), flush=True)
