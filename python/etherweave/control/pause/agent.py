"""A local agent beside an OpenFlow switch: receives pauses and updates the pause vector.

::

    port's interface ─► PAUSE, PFC ─► timers ─► vector ─► FLOW_MOD on an open connection ─► switch

Where a vector changes, one rule changes, whatever the number of conditional rules.
"""

import contextlib
import errno
import select
import socket
import time
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from etherweave.control.pause import frame
from etherweave.control.pause.rule_writer import RuleWriter
from etherweave.control.pause.vector import PauseTimers, PauseVectors
from etherweave.control.rules import SwitchPlan
from etherweave.linux.packets import received_ns, receiver

_READ = 2048
_AT_ONCE = 64  # Frames of a port that are read before other ports are read.
_AGE_MAX_NS = 10**9  # Upper limit for the age of a frame in a socket's queue [ns].


class AgentError(RuntimeError):
    """An interface cannot be read; the message says why."""


class AgentTotals(NamedTuple):
    """Totals of frames that an agent has received and rules that it has changed."""

    frames: int  # PAUSE and PFC frames that were received.
    changes: int  # Rules that were changed.


def serve(
    switch: SwitchPlan,
    interfaces: Mapping[int, frame.RatedInterface],
    address: str,
    stop: socket.socket,
    ready: Callable[[], object] | None = None,
) -> AgentTotals:
    """Keep the switch's vector equal to the pauses until ``stop`` is readable; then clear it.

    ``interfaces`` are by port number; pauses of other ports are not received. ``address`` is the
    OpenFlow address of the switch: ``unix:PATH``. ``ready`` is called once, when the vector is
    written for the first time. Raises ``AgentError``, ``RuleWriterError`` or ``VectorError`` if an
    interface, the switch or its plan is not as expected.
    """
    vectors = PauseVectors(switch)
    with contextlib.ExitStack() as cleanup:
        sockets = {
            port: cleanup.enter_context(_listening(interface))
            for port, interface in interfaces.items()
        }
        speaker = cleanup.enter_context(RuleWriter(address))
        # A former agent may have left another vector.
        speaker.modify(vectors.cleared())
        speaker.settle()
        if ready:
            ready()
        agent = _Agent(vectors, interfaces, sockets, speaker)
        while agent.wait(stop):
            agent.write()
        speaker.modify(vectors.cleared())
        speaker.settle()
    return AgentTotals(agent.frames, agent.changes)


class _Agent:
    """Timers, and the vector that follows them."""

    def __init__(
        self,
        vectors: PauseVectors,
        interfaces: Mapping[int, frame.RatedInterface],
        sockets: Mapping[int, socket.socket],
        speaker: RuleWriter,
    ) -> None:
        self.frames = self.changes = 0
        self._vectors = vectors
        self._timers = PauseTimers(
            {port: frame.quantum_ps(interface.bits_per_s) for port, interface in interfaces.items()}
        )
        self._sockets = sockets
        self._speaker = speaker
        self._written_ns = time.monotonic_ns()

    def write(self) -> None:
        """Return the switch what has changed."""
        self._written_ns = time.monotonic_ns()
        changed = self._vectors.changed(self._timers, self._written_ns)
        if changed:
            self._speaker.modify(changed)
        self.changes += len(changed)

    def wait(self, stop: socket.socket) -> bool:
        """Wait for frames, the switch, or the end of a timer; False: stop."""
        waiting: list[socket.socket | RuleWriter] = [*self._sockets.values(), self._speaker, stop]
        woken = select.select(waiting, [], [], self._left_s())[0]
        if self._speaker in woken:
            self._speaker.read()
        for port, value in self._sockets.items():
            if value in woken:
                self.frames += _receive(value, port, self._timers)
        return stop not in woken

    def _left_s(self) -> float | None:
        """Return the time until the next timer ends [s]; None: no timer runs."""
        end_ns = self._timers.next_end_ns(self._written_ns)
        return None if end_ns is None else max(0, end_ns - time.monotonic_ns()) / 1e9


def _listening(interface: frame.RatedInterface) -> socket.socket:
    try:
        return receiver(interface.name, frame.ETHER_TYPE)
    except OSError as error:
        raise AgentError(f"interface {interface.name}: {error.strerror}") from None


def _receive(sock: socket.socket, port: int, timers: PauseTimers) -> int:
    """Read the frames that arrived at a port; of several frames, the last is in effect."""
    received = 0
    for _ in range(_AT_ONCE):
        try:
            octets, ancillary, _, _ = sock.recvmsg(_READ, _READ)
        except BlockingIOError:
            break
        except OSError as error:
            if error.errno == errno.ENETDOWN:
                # Reported once; frames arrive again when the link is up.
                break
            raise AgentError(f"port {port}: {error.strerror}") from None
        # Other control frames, and damaged ones, have no effect (802.3, 31A).
        with contextlib.suppress(frame.FrameError):
            timers.receive(port, frame.decode(octets), _arrival_ns(ancillary))
            received += 1
    return received


def _arrival_ns(ancillary: Iterable[tuple[int, int, bytes]]) -> int:
    """Return when a frame arrived, by the monotonic clock: its quanta run from then on."""
    now_ns, came_ns = time.monotonic_ns(), received_ns(ancillary)
    age_ns = 0 if came_ns is None else time.clock_gettime_ns(time.CLOCK_REALTIME) - came_ns
    # A change of the real-time clock makes ages meaningless.
    return now_ns - age_ns if 0 <= age_ns < _AGE_MAX_NS else now_ns
