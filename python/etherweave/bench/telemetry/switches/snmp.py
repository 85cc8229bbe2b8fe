"""Counters by SNMP, as ``snmpbulkwalk -Onq`` prints them.

The MIBs are IF-MIB (RFC 2863) and EtherLike-MIB (RFC 3635). Neither counts by priority; pauses are
those of whole links.
"""

import re
from collections.abc import Sequence

from etherweave.bench.telemetry.switches.reader import PortCounters, SwitchReader, whole

_IF, _IFX, _PAUSE = ".1.3.6.1.2.1.2.2.1", ".1.3.6.1.2.1.31.1.1.1", ".1.3.6.1.2.1.10.7.10.1"
_COLUMNS = {
    f"{_IFX}.6": "received_bytes",
    f"{_IFX}.7": "received_packets",
    f"{_IFX}.8": "received_packets",
    f"{_IFX}.9": "received_packets",
    f"{_IFX}.10": "sent_bytes",
    f"{_IFX}.11": "sent_packets",
    f"{_IFX}.12": "sent_packets",
    f"{_IFX}.13": "sent_packets",
    f"{_IF}.13": "received_drops",
    f"{_IF}.14": "received_errors",
    f"{_IF}.19": "sent_drops",
    f"{_PAUSE}.3": "received_pauses",
    f"{_PAUSE}.4": "sent_pauses",
}
"""Columns by object: ifHC*, ifIn*, ifOut*, dot3InPauseFrames, dot3OutPauseFrames.

Objects of one column are added: packets to one, to several, to all."""
_NAMES = f"{_IFX}.1"
_LINE = re.compile(r'(\.[0-9.]{1,120})\.([0-9]{1,10}) "?([^"]*)"?')


def parse(answers: Sequence[str]) -> dict[str, PortCounters]:
    """Read the walks; ports without a name in ifName are left out."""
    text = "\n".join(answers)
    lines = [line for line in map(_LINE.fullmatch, map(str.strip, text.splitlines())) if line]
    names = {index: text for object_id, index, text in _fields(lines) if object_id == _NAMES}
    ports = {name: PortCounters() for name in names.values()}
    for object_id, index, text in _fields(lines):
        if index in names and (column := _COLUMNS.get(object_id)):
            own = ports[names[index]].port
            own[column] = (own.get(column) or 0) + whole(text)
    return {name: counters for name, counters in ports.items() if counters.port}


def _fields(lines: list[re.Match[str]]) -> list[tuple[str, str, str]]:
    return [(line[1], line[2], line[3]) for line in lines]


READER = SwitchReader("snmp", "objects of IF-MIB as numbers", ((_IFX,), (_IF,), (_PAUSE,)), parse)
