"""Counters of OpenConfig's interfaces by gNMI, as ``gnmic`` prints them.

The model (openconfig-interfaces) counts no pause frames, neither of ports nor of priorities.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from etherweave.bench.telemetry.switches.reader import PortCounters, SwitchReader, whole

_NAME = re.compile(r"interface\[name=([^\]]{1,64})\]")
_COLUMNS = {
    "received_bytes": "in-octets",
    "sent_bytes": "out-octets",
    "received_packets": "in-pkts",
    "sent_packets": "out-pkts",
    "received_drops": "in-discards",
    "sent_drops": "out-discards",
    "received_errors": "in-errors",
}


def parse(answers: Sequence[str]) -> dict[str, PortCounters]:
    """Read notifications of ``/interfaces/interface/state/counters``."""
    ports: dict[str, PortCounters] = {}
    for path, tables in _updates(json.loads(answers[0])):
        name = _NAME.search(path)
        for table in tables.values() if name else ():
            if isinstance(table, dict):
                plain = {str(key).rpartition(":")[2]: value for key, value in table.items()}
                port = ports.setdefault(name[1] if name else "", PortCounters())
                port.port |= {
                    field: whole(str(plain[word]))
                    for field, word in _COLUMNS.items()
                    if word in plain
                }
    return ports


def _updates(notifications: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    for notification in notifications if isinstance(notifications, list) else []:
        updates = notification.get("updates") if isinstance(notification, dict) else None
        for update in updates if isinstance(updates, list) else []:
            if isinstance(update, dict) and isinstance(update.get("values"), dict):
                yield str(update.get("Path", "")), update["values"]


READER = SwitchReader(
    "openconfig",
    "JSON of /interfaces/interface/state/counters",
    (("get", "--format", "json", "--path", "/interfaces/interface/state/counters"),),
    parse,
)
