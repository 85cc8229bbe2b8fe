"""Timers of PAUSE and PFC, and the rules that write the pause vector as they change it."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from etherweave.control.pause.frame import CLASSES, Pause, PauseFrame
from etherweave.control.rules import CLASS_TABLE, FlowRule, Purpose, SwitchPlan, WriteMetadata

UNTAGGED_CLASS = 0  # The priority of packets without a VLAN tag (IEEE 802.1Q-2018, table 6-4).

_ALL = CLASSES  # Index of a port's timer for PAUSE, after those of its priorities.


class PauseTimers:
    """The pause timers of a switch's ports.

    PAUSE and PFC have timers of their own: either pauses, and either ends by its own time.

    ``quantum_ps`` is the length of a quantum at each port [ps].
    """

    def __init__(self, quantum_ps: Mapping[int, int]) -> None:
        self._quantum_ps = dict(quantum_ps)
        self._until_ns = {port: [0] * (CLASSES + 1) for port in quantum_ps}

    def receive(self, port: int, frame: PauseFrame, now_ns: int) -> None:
        """Set timers by a frame that arrived at a port.

        A new frame replaces the time of the former, longer or shorter (802.3, 31B.3.3).
        """
        until_ns = self._until_ns[port]
        if isinstance(frame, Pause):
            until_ns[_ALL] = now_ns + self._lasts_ns(port, frame.quanta)
            return
        for traffic_class, quanta in enumerate(frame.quanta):
            if quanta is not None:
                until_ns[traffic_class] = now_ns + self._lasts_ns(port, quanta)

    def is_paused(self, port: int, traffic_class: int, now_ns: int) -> bool:
        """Return whether packets of a priority are paused at a port."""
        until_ns = self._until_ns[port]
        return now_ns < until_ns[_ALL] or now_ns < until_ns[traffic_class]

    def next_end_ns(self, now_ns: int) -> int | None:
        """Return when the next timer ends [ns]; None: no timer runs."""
        ends = (end for until_ns in self._until_ns.values() for end in until_ns)
        return min((end for end in ends if end > now_ns), default=None)

    def vector(
        self,
        bits: Mapping[int, int],
        traffic_class: int | None,
        now_ns: int,
        sent_in: Mapping[int, int] = MappingProxyType({}),
    ) -> int:
        """Write the pauses of a priority as one number.

        ``bits`` has the bit of each port; 0 for ports without timers. Without a ``traffic_class`` a
        port's bit is set if any priority is paused. ``now_ns`` is the clock [ns]; ``sent_in`` is by
        port the priority in which its packets leave, where that is another one.
        """
        classes = range(CLASSES) if traffic_class is None else (traffic_class,)
        timed = self._until_ns.keys() & bits.keys()

        def is_paused(port: int) -> bool:
            return any(self.is_paused(port, sent_in.get(port, own), now_ns) for own in classes)

        return sum(1 << bits[port] for port in timed if is_paused(port))

    def _lasts_ns(self, port: int, quanta: int) -> int:
        return quanta * self._quantum_ps[port] // 1000


class VectorError(ValueError):
    """A plan without a pause vector; the message says what is missing."""


class VectorRule(NamedTuple):
    """A rule that writes the vector for some packets."""

    rule: FlowRule
    mask: int  # Bits of the vector.
    traffic_class: int | None  # The priority of those packets; None: any.
    sent_in: Mapping[int, int]  # Priority in which rules send them instead, by port.

    def writing(self, vector: int) -> FlowRule:
        """Return the rule with a vector."""
        steps = self.rule.instructions
        written = WriteMetadata(vector, self.mask)
        return self.rule._replace(
            instructions=tuple(written if isinstance(s, WriteMetadata) else s for s in steps)
        )


class PauseVectors:
    """The pause vectors of a switch, one for all packets or one per priority.

    Raises ``VectorError`` if the plan has no rule that writes a vector.
    """

    def __init__(self, switch: SwitchPlan) -> None:
        self._bits = switch.pause_bits
        self._writers = list(_vector_rules(switch))
        if not self._writers:
            raise VectorError(
                f"{switch.name}: no rule writes a pause vector; "
                'expected a plan with control.rules = "conditional"'
            )
        self._written = [0] * len(self._writers)

    def cleared(self) -> list[FlowRule]:
        """Return all rules with an empty vector."""
        return [writer.writing(0) for writer in self._writers]

    def changed(self, timers: PauseTimers, now_ns: int) -> list[FlowRule]:
        """Return the rules whose vector has changed since the last call.

        The first call compares with empty vectors.
        """
        before = self._written
        self._written = [
            timers.vector(self._bits, writer.traffic_class, now_ns, writer.sent_in)
            for writer in self._writers
        ]
        now = zip(self._writers, self._written, before, strict=True)
        return [writer.writing(vector) for writer, vector, last in now if vector != last]


def _vector_rules(switch: SwitchPlan) -> Iterator[VectorRule]:
    rules = [rule for rule in switch.rules if rule.purpose is Purpose.PAUSE_VECTOR]
    by_class = any(rule.matched("vlan_pcp") is not None for rule in rules)
    lossless = {rule.matched("vlan_pcp") for rule in switch.rules if rule.table == CLASS_TABLE}
    for rule in rules:
        priority = rule.matched("vlan_pcp")
        # With vectors per class, the rule without a priority is for packets without a tag.
        traffic_class = UNTAGGED_CLASS if by_class and priority is None else priority
        assert traffic_class is None or traffic_class < CLASSES, "vlan_pcp has three bits"
        sent_in = switch.pause_classes if priority in lossless - {None} else {}
        for step in rule.instructions:
            if isinstance(step, WriteMetadata):
                yield VectorRule(rule, step.mask, traffic_class, sent_in)
