"""Which ports pause, until when: timers of PAUSE and PFC, by a clock that the caller reads."""

from collections.abc import Mapping

from etherweave.control.pause.frame import CLASSES, Pause, PauseFrame

UNTAGGED_CLASS = 0
"""The priority of packets without a VLAN tag (IEEE 802.1Q-2018, table 6-4)."""

_ALL = CLASSES
"""The place of a port's timer for PAUSE, behind those of its priorities."""


class Timers:
    """The pause timers of a switch's ports.

    PAUSE and PFC have timers of their own: either pauses, and either ends by its own time.

    Parameters
    ----------
    quantum_ps
        Of each port, how long a quantum lasts there [ps].
    """

    def __init__(self, quantum_ps: Mapping[int, int]) -> None:
        self._quantum_ps = dict(quantum_ps)
        self._until_ns = {port: [0] * (CLASSES + 1) for port in quantum_ps}

    def hear(self, port: int, frame: PauseFrame, now_ns: int) -> None:
        """Set timers by a frame that came in at a port.

        A new frame replaces the old one's time, be it longer or shorter (802.3, 31B.3.3).
        """
        until_ns = self._until_ns[port]
        if isinstance(frame, Pause):
            until_ns[_ALL] = now_ns + self._lasts_ns(port, frame.quanta)
            return
        for traffic_class, quanta in enumerate(frame.quanta):
            if quanta is not None:
                until_ns[traffic_class] = now_ns + self._lasts_ns(port, quanta)

    def is_paused(self, port: int, traffic_class: int, now_ns: int) -> bool:
        """Tell whether packets of a priority have to wait at a port."""
        until_ns = self._until_ns[port]
        return now_ns < until_ns[_ALL] or now_ns < until_ns[traffic_class]

    def next_end_ns(self, now_ns: int) -> int | None:
        """Tell when the next timer ends; none when no port pauses."""
        ends = (end for until_ns in self._until_ns.values() for end in until_ns)
        return min((end for end in ends if end > now_ns), default=None)

    def vector(self, bits: Mapping[int, int], traffic_class: int | None, now_ns: int) -> int:
        """Write the pauses of a priority as one number.

        Parameters
        ----------
        bits
            Of each port, its bit; those of ports without timers are 0.
        traffic_class
            The priority; none: a port's bit is set when it pauses any.
        now_ns
            The clock [ns].
        """
        classes = range(CLASSES) if traffic_class is None else (traffic_class,)
        heard = self._until_ns.keys() & bits.keys()
        paused = (
            port for port in heard if any(self.is_paused(port, which, now_ns) for which in classes)
        )
        return sum(1 << bits[port] for port in paused)

    def _lasts_ns(self, port: int, quanta: int) -> int:
        return quanta * self._quantum_ps[port] // 1000
