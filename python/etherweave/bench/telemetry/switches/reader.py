"""Readers of switches, and their counters by port and priority."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from etherweave.bench.telemetry.counters import CounterRow, Value, counter_row
from etherweave.bench.telemetry.families import INTERFACE, PRIORITY

Answers = Sequence[str]  # Output of a switch at each command.


@dataclass
class PortCounters:
    """Counters of a port, by the columns of families; what is not counted is absent."""

    port: dict[str, Value] = field(default_factory=dict)
    priorities: dict[int, dict[str, Value]] = field(default_factory=dict)

    def row(self, name: str) -> CounterRow:
        """Return the row of the port."""
        return counter_row(INTERFACE, (name,), self.port)

    def priority_rows(self, name: str) -> list[CounterRow]:
        """Return the rows of its priorities."""
        return [
            counter_row(PRIORITY, (name, str(n)), self.priorities[n])
            for n in sorted(self.priorities)
        ]


@dataclass(frozen=True)
class SwitchReader:
    """Asks switches of one kind."""

    name: str  # Name in a site's file.
    of: str  # Name of its input, for messages.
    commands: tuple[tuple[str, ...], ...]
    """Words of each command behind those that reach the switch."""
    parse: Callable[[Answers], Mapping[str, PortCounters]]
    """Counters by port; raises ``ValueError`` where the answer has another form."""


def whole(text: str) -> int:
    """Read a counter; commas may part thousands.

    Raises ``ValueError`` when it is none.
    """
    digits = text.replace(",", "").strip()
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 20):
        raise ValueError(f"{text[:40]!r}; expected a counter")
    return int(digits)
