"""A local agent beside a switch that knows OpenFlow only: it hears pauses and moves the vector.

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

from etherweave.control.pause.frame import ETHER_TYPE, FrameError, decode, quantum_ps
from etherweave.control.pause.sockets import listening, received_ns
from etherweave.control.pause.speaker import Speaker
from etherweave.control.pause.timers import Timers
from etherweave.control.pause.vector import Vectors
from etherweave.control.rules import SwitchPlan

_READ = 2048
_AT_ONCE = 64
"""Frames of a port that are read before others have their turn."""
_AGE_MAX_NS = 10**9
"""No frame lies unread for longer."""


class AgentError(RuntimeError):
    """An interface cannot be listened to; a sentence says why."""


class Ear(NamedTuple):
    """An interface that a port's pauses come in by."""

    interface: str
    bits_per_s: int
    """Rate of its link."""


class Heard(NamedTuple):
    """What an agent has done."""

    frames: int
    """PAUSE and PFC frames that came in."""
    changes: int
    """Rules that it changed since it began."""


def serve(
    switch: SwitchPlan,
    ears: Mapping[int, Ear],
    address: str,
    stop: socket.socket,
    ready: Callable[[], object] | None = None,
) -> Heard:
    """Listen, and keep the switch's vector right, until told to stop; then clear it.

    Parameters
    ----------
    switch
        What the switch is told.
    ears
        By port number; ports without may pause unheard.
    address
        Where the switch listens for OpenFlow: ``unix:PATH``.
    stop
        Becomes readable when it is time to end.
    ready
        Called once, when the vector is written for the first time.

    Raises
    ------
    AgentError, SpeakerError, VectorError
        An interface, the switch or its plan is not as expected.
    """
    vectors = Vectors(switch)
    with contextlib.ExitStack() as undo:
        sockets = {port: undo.enter_context(_listening(ear)) for port, ear in ears.items()}
        speaker = undo.enter_context(Speaker(address))
        # Whatever an agent before this one has left behind.
        speaker.modify(vectors.cleared())
        speaker.settle()
        if ready:
            ready()
        agent = _Agent(vectors, ears, sockets, speaker)
        while agent.wait(stop):
            agent.write()
        speaker.modify(vectors.cleared())
        speaker.settle()
    return Heard(agent.frames, agent.changes)


class _Agent:
    """Timers, the vector that follows them, and who is told."""

    def __init__(
        self,
        vectors: Vectors,
        ears: Mapping[int, Ear],
        sockets: Mapping[int, socket.socket],
        speaker: Speaker,
    ) -> None:
        self.frames = self.changes = 0
        self._vectors = vectors
        self._timers = Timers({port: quantum_ps(ear.bits_per_s) for port, ear in ears.items()})
        self._sockets = sockets
        self._speaker = speaker
        self._written_ns = time.monotonic_ns()

    def write(self) -> None:
        """Tell the switch what has changed."""
        self._written_ns = time.monotonic_ns()
        changed = self._vectors.changed(self._timers, self._written_ns)
        if changed:
            self._speaker.modify(changed)
        self.changes += len(changed)

    def wait(self, stop: socket.socket) -> bool:
        """Wait for frames, the switch, or the end of a timer; tell whether to go on."""
        waiting: list[socket.socket | Speaker] = [*self._sockets.values(), self._speaker, stop]
        woken = select.select(waiting, [], [], self._left_s())[0]
        if self._speaker in woken:
            self._speaker.read()
        for port, one in self._sockets.items():
            if one in woken:
                self.frames += _hear(one, port, self._timers)
        return stop not in woken

    def _left_s(self) -> float | None:
        """Tell how long nothing changes: timers that end while the switch is told count too."""
        end_ns = self._timers.next_end_ns(self._written_ns)
        return None if end_ns is None else max(0, end_ns - time.monotonic_ns()) / 1e9


def _listening(ear: Ear) -> socket.socket:
    try:
        return listening(ear.interface, ETHER_TYPE)
    except OSError as error:
        raise AgentError(f"interface {ear.interface}: {error.strerror}") from None


def _hear(one: socket.socket, port: int, timers: Timers) -> int:
    """Read what has come in at a port; of several frames about a class, the last counts."""
    heard = 0
    for _ in range(_AT_ONCE):
        try:
            octets, told, _, _ = one.recvmsg(_READ, _READ)
        except BlockingIOError:
            break
        except OSError as error:
            if error.errno == errno.ENETDOWN:
                # Said once; frames come again when the link does.
                break
            raise AgentError(f"port {port}: {error.strerror}") from None
        # Other control frames, and damaged ones, mean nothing to a port (802.3, 31A).
        with contextlib.suppress(FrameError):
            timers.hear(port, decode(octets), _came_ns(told))
            heard += 1
    return heard


def _came_ns(told: Iterable[tuple[int, int, bytes]]) -> int:
    """Tell when a frame came, by the monotonic clock: its quanta run from then on."""
    now_ns, came_ns = time.monotonic_ns(), received_ns(told)
    age_ns = 0 if came_ns is None else time.clock_gettime_ns(time.CLOCK_REALTIME) - came_ns
    # Whoever sets the real-time clock makes ages meaningless.
    return now_ns - age_ns if 0 <= age_ns < _AGE_MAX_NS else now_ns
