"""Pause frames by priority as SONiC's ``show pfc counters`` prints them: a table a direction."""

import re
from collections.abc import Sequence

from etherweave.bench.telemetry.switches.reader import PortCounters, SwitchReader, whole

_HEAD = re.compile(r"\s*Port (Rx|Tx)((?:\s+PFC[0-7])+)\s*")
_COLUMNS = {"Rx": "received_pauses", "Tx": "sent_pauses"}


def parse(answers: Sequence[str]) -> dict[str, PortCounters]:
    """Read both tables."""
    ports: dict[str, PortCounters] = {}
    column, priorities = "", []
    for line in answers[0].splitlines():
        words = line.split()
        if head := _HEAD.fullmatch(line):
            column = _COLUMNS[head[1]]
            priorities = [int(word[-1]) for word in head[2].split()]
        elif column and len(words) == len(priorities) + 1 and not line.lstrip().startswith("-"):
            port = ports.setdefault(words[0], PortCounters())
            for priority, word in zip(priorities, words[1:], strict=True):
                if word != "N/A":
                    port.priorities.setdefault(priority, {})[column] = whole(word)
    return ports


READER = SwitchReader(
    "sonic_cli", "the tables of show pfc counters", (("show", "pfc", "counters"),), parse
)
