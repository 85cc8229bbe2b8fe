"""Counters by the names of the Switch Abstraction Interface (SAI, ``saiport.h``)."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from etherweave.bench.telemetry.switches.reader import PortCounters, whole

_PREFIX = "SAI_PORT_STAT_"
_PORT = {
    "received_bytes": ("IF_IN_OCTETS",),
    "sent_bytes": ("IF_OUT_OCTETS",),
    "received_packets": ("IF_IN_UCAST_PKTS", "IF_IN_NON_UCAST_PKTS"),
    "sent_packets": ("IF_OUT_UCAST_PKTS", "IF_OUT_NON_UCAST_PKTS"),
    "received_drops": ("IF_IN_DISCARDS",),
    "sent_drops": ("IF_OUT_DISCARDS",),
    "received_errors": ("IF_IN_ERRORS",),
    "received_pauses": ("PAUSE_RX_PKTS",),
    "sent_pauses": ("PAUSE_TX_PKTS",),
}
"""Columns of a port, and what they add up."""
_PFC = re.compile(r"PFC_([0-7])_(RX_PKTS|TX_PKTS|[RT]X_PAUSE_DURATION_US)")
_COLUMNS = {
    "RX_PKTS": "received_pauses",
    "TX_PKTS": "sent_pauses",
    "RX_PAUSE_DURATION_US": "paused_s",
    "TX_PAUSE_DURATION_US": "pausing_s",
}
_DEPTH_MAX = 12  # Levels of an answer; what is deeper is none of these.


def counters(texts: Mapping[str, Any]) -> PortCounters:
    """Read the counters of a port; those of other names are left out."""
    counted = PortCounters()
    stats = {
        name.removeprefix(_PREFIX): whole(str(text))
        for name, text in texts.items()
        if name.startswith(_PREFIX) and str(text) != "N/A"
    }
    for column, parts in _PORT.items():
        if all(part in stats for part in parts):
            counted.port[column] = sum(stats[part] for part in parts)
    for name, value in stats.items():
        if match := _PFC.fullmatch(name):
            column = _COLUMNS[match[2]]
            own = counted.priorities.setdefault(int(match[1]), {})
            own[column] = value / 1e6 if column.endswith("_s") else value
    return counted


def ports(tree: object, name: str = "", depth: int = 0) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield tables of a JSON value that have counters of SAI, with the key that each stands under.

    A key such as ``value`` that only wraps a table is left out.
    """
    if depth > _DEPTH_MAX:
        return
    if isinstance(tree, list):
        for branch in tree:
            yield from ports(branch, name, depth + 1)
    elif isinstance(tree, dict):
        if any(str(key).startswith(_PREFIX) for key in tree):
            yield name, tree
            return
        for key, branch in tree.items():
            yield from ports(branch, name if key in ("value", "values") else str(key), depth + 1)
