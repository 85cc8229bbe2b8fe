"""The rules that write the pause vector, as timers change it."""

from collections.abc import Iterator
from typing import NamedTuple

from etherweave.control.pause.frame import CLASSES
from etherweave.control.pause.timers import UNTAGGED_CLASS, Timers
from etherweave.control.rules import Purpose, Rule, SwitchPlan, WriteMetadata


class VectorError(ValueError):
    """A plan without a pause vector; a sentence says what is missing."""


class Writer(NamedTuple):
    """A rule that writes the vector for some packets."""

    rule: Rule
    mask: int
    """Bits of the vector."""
    traffic_class: int | None
    """The priority of those packets; none: any."""

    def writing(self, vector: int) -> Rule:
        """Give the rule as it writes a vector."""
        steps = self.rule.instructions
        written = WriteMetadata(vector, self.mask)
        return self.rule._replace(
            instructions=tuple(written if isinstance(s, WriteMetadata) else s for s in steps)
        )


class Vectors:
    """The pause vectors of a switch, one for all packets or one per priority.

    Parameters
    ----------
    switch
        What the switch is told.

    Raises
    ------
    VectorError
        The plan has no rule that writes a vector.
    """

    def __init__(self, switch: SwitchPlan) -> None:
        self._bits = switch.pause_bits
        self._writers = _writers(switch)
        if not self._writers:
            raise VectorError(
                f"{switch.name}: no rule writes a pause vector; "
                'expected a plan with control.rules = "conditional"'
            )
        self._written = [0] * len(self._writers)

    def cleared(self) -> list[Rule]:
        """Give all rules while no port pauses."""
        return [writer.writing(0) for writer in self._writers]

    def changed(self, timers: Timers, now_ns: int) -> list[Rule]:
        """Give the rules that write another vector than when this was asked last.

        At first, another than 0.
        """
        before = self._written
        self._written = [
            timers.vector(self._bits, writer.traffic_class, now_ns) for writer in self._writers
        ]
        now = zip(self._writers, self._written, before, strict=True)
        return [writer.writing(vector) for writer, vector, last in now if vector != last]


def _writers(switch: SwitchPlan) -> list[Writer]:
    rules = [rule for rule in switch.rules if rule.purpose is Purpose.PAUSES]
    by_class = any(_priority(rule) is not None for rule in rules)
    return list(_each(rules, by_class))


def _each(rules: list[Rule], by_class: bool) -> Iterator[Writer]:
    for rule in rules:
        priority = _priority(rule)
        # With vectors per class, the rule without a priority is for packets without a tag.
        traffic_class = UNTAGGED_CLASS if by_class and priority is None else priority
        assert traffic_class is None or traffic_class < CLASSES, "vlan_pcp has three bits"
        for step in rule.instructions:
            if isinstance(step, WriteMetadata):
                yield Writer(rule, step.mask, traffic_class)


def _priority(rule: Rule) -> int | None:
    return next((test.value for test in rule.match if test.field == "vlan_pcp"), None)
