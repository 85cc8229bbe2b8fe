"""Counters of Onyx (MLNX-OS): ``show interfaces ethernet counters`` and those of each PFC priority.

A port's part begins with its name, ``Eth1/1``; ``Rx`` and ``Tx`` head the directions; a line is a
number and what it counts. Tests have texts of this form that were made by hand: no such switch was
there.
"""

import re
from collections.abc import Iterator, Sequence

from etherweave.bench.telemetry.switches.reader import PortCounters, SwitchReader, whole

_PORT = re.compile(r"(?:Port )?(Eth\d+/\d+(?:/\d+)?):?")
_DIRECTION = re.compile(r"(Rx|Tx):?")
_COUNTER = re.compile(r"([\d,]+) +([a-z].*)")
_COLUMNS = {
    ("Rx", "bytes"): "received_bytes",
    ("Tx", "bytes"): "sent_bytes",
    ("Rx", "packets"): "received_packets",
    ("Tx", "packets"): "sent_packets",
    ("Rx", "discard packets"): "received_drops",
    ("Tx", "discard packets"): "sent_drops",
    ("Rx", "error packets"): "received_errors",
    ("Rx", "pause packets"): "received_pauses",
    ("Tx", "pause packets"): "sent_pauses",
    ("Rx", "pause duration (micro seconds)"): "paused_s",
}


def parse(answers: Sequence[str]) -> dict[str, PortCounters]:
    """Read the counters of ports, then those of each priority."""
    ports: dict[str, PortCounters] = {}
    for at, answer in enumerate(answers):
        for name, column, value in _counters(answer):
            port = ports.setdefault(name, PortCounters())
            if at == 0 and column != "paused_s":
                port.port[column] = value
            elif at > 0:
                own = port.priorities.setdefault(at - 1, {})
                own[column] = value / 1e6 if column == "paused_s" else value
    return ports


def _counters(answer: str) -> Iterator[tuple[str, str, int]]:
    """Yield port, column and value of each line that counts one of the columns."""
    port, direction = "", ""
    for line in map(str.strip, answer.splitlines()):
        if match := _PORT.fullmatch(line):
            port, direction = match[1], ""
        elif match := _DIRECTION.fullmatch(line):
            direction = match[1]
        elif (match := _COUNTER.fullmatch(line)) and port:
            column = _COLUMNS.get((direction, match[2]))
            if column:
                yield port, column, whole(match[1])


READER = SwitchReader(
    "onyx",
    "show interfaces ethernet counters",
    (
        ("show interfaces ethernet counters",),
        *((f"show interfaces ethernet counters pfc prio {at}",) for at in range(8)),
    ),
    parse,
)
