"""Prototypes: classes of Python that decide in place of members of the core, for exploration.

A method has the name and the arguments of the function of the trait in Rust
(``SenderControl`` in ``crates/transport/src/roce/congestion.rs``), so that a prototype moves over
line by line. Times are in picoseconds, sizes in bytes, rates in bits per second, as in the core.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, TypeAlias

from etherweave._core import Feedback, FreshConnection, PortTelemetry, Progress

__all__ = [
    "CongestionControl",
    "Extension",
    "Feedback",
    "FreshConnection",
    "PortTelemetry",
    "Progress",
]


class CongestionControl:
    """The congestion control of one RoCE sender: what it learns, and what it allows.

    A subclass writes the methods that it needs; those that it does not write cost nothing. Each
    connection has an object of its own, made when it sends its first message. All objects are
    called by one thread, in the order of simulated time, so that equal runs give equal results
    where the class itself draws from nothing but its arguments.

    Parameters
    ----------
    connection
        Rate of the NIC, payload of a packet, and window of the connection.
    """

    heeds_marks: ClassVar[bool] = False
    """Whether switches mark its packets; needs ``switch.ecn``."""
    needs_echoes: ClassVar[bool] = True
    """Whether every packet is acknowledged by itself, with its round trip and its mark; needs
    ``reliability = "selective_repeat"`` and ``ack_every = 1``. :meth:`acknowledged` is called for
    such acknowledgements alone."""
    notification_gap: ClassVar[str | None] = None
    """Shortest time between two notifications of marks, such as ``"4us"``. None: there are none."""
    telemetry_switches: ClassVar[int] = 0
    """Switches on a path whose telemetry :meth:`measured` takes, 0 to 8."""

    def __init__(self, connection: FreshConnection) -> None:
        """Start a connection."""

    def window(self) -> float | None:
        """Most that may be unacknowledged [B], 1 or more; None: the window of the connection.

        Asked after every other method but :meth:`next_at` and :meth:`rate_at`.
        """

    def sent(self, now: int, wire: int) -> bool:
        """Take note of a packet of ``wire`` bytes that goes out; whether the next one must wait."""
        return False

    def next_at(self) -> float:
        """When the next packet may go, or :meth:`is_open` is to be asked again [ps]."""
        return 0

    def is_open(self, now: int) -> bool:
        """Whether the next packet may go; by default once :meth:`next_at` has come."""
        return self.next_at() <= now

    def acknowledged(self, now: int, feedback: Feedback) -> None:
        """Take an acknowledgement."""

    def measured(self, path: Sequence[PortTelemetry], acknowledged: int, next: int) -> None:  # noqa: A002
        """Take what switches wrote into the packet that an acknowledgement answers."""

    def notified(self, now: int) -> None:
        """Take a congestion notification."""

    def lost(self, now: int, progress: Progress) -> None:
        """Take note of a lost packet."""

    def timed_out(self, now: int) -> None:
        """Take note of an expiry of the retransmission timer."""

    def rate_at(self, now: int) -> float | None:
        """Rate at ``now`` [b/s], for samples of flows; None where there is none."""


Extension: TypeAlias = type[CongestionControl] | partial[CongestionControl]
"""A class, or one with some of its keywords set."""

_METHODS = (
    "window",
    "sent",
    "next_at",
    "is_open",
    "acknowledged",
    "measured",
    "notified",
    "lost",
    "timed_out",
    "rate_at",
)


@dataclass(frozen=True)
class Extensions:
    """What the core takes of ``extend``."""

    congestion: tuple[Callable[[FreshConnection], object], str, Sequence[str]] | None = None
    """Class, name, and names of the methods that it writes."""
    overrides: Mapping[str, object] = field(default_factory=dict)
    """Keys of the scenario that ask for it."""


def extensions_of(extend: Mapping[str, Any] | None) -> Extensions:
    """Check the classes of ``extend``.

    Raises ``TypeError`` or ``ValueError`` where one is none, or stands under another name.
    """
    for name in extend or {}:
        if name != "congestion":
            raise ValueError(f"extend: {name!r}; expected 'congestion'")
    if not extend:
        return Extensions()
    made = extend["congestion"]
    control = made.func if isinstance(made, partial) else made
    if not (isinstance(control, type) and issubclass(control, CongestionControl)):
        expected = "a subclass of etherweave.extend.CongestionControl, or a partial of one"
        raise TypeError(f"extend: congestion: {made!r}; expected {expected}")
    methods = [
        name for name in _METHODS if getattr(control, name) is not getattr(CongestionControl, name)
    ]
    asked = {
        "class": control.__name__,
        "heeds_marks": control.heeds_marks,
        "needs_echoes": control.needs_echoes,
        "telemetry_switches": control.telemetry_switches,
    }
    if control.notification_gap is not None:
        asked["notification_gap"] = control.notification_gap
    overrides = {f"transport.roce.prototype.{key}": value for key, value in asked.items()}
    return Extensions((made, control.__name__, methods), overrides)
