"""A JSON patch (RFC 6902) from a running SONiC configuration to an exported one.

``config apply-patch`` applies it in a safe order, and ``config rollback`` takes it back after
``config checkpoint``. Tables that the export does not write stay as they are, and so do entries of
others in the tables that it does; settings of single ports that overlap with exported ones go.
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from etherweave.control.qos.policy import PolicyError
from etherweave.control.qos.sonic import ConfigTables

Operation: TypeAlias = dict[str, Any]

BY_PORT = ("BUFFER_PG", "BUFFER_QUEUE", "QUEUE")
"""Tables with keys PORT|NUMBERS, of which ranges overlap with exported numbers."""
MERGED = ("CABLE_LENGTH", "DEVICE_METADATA", "PORT")  # Tables whose entries have fields of others.


def patch(name: str, running: Mapping[str, Any], exported: ConfigTables) -> list[Operation]:
    """Return the operations that make a switch as it was exported.

    Raises ``PolicyError`` when the switch has other ports than the exported ones.
    """
    ports = set(exported["PORT_QOS_MAP"])
    missing = sorted(ports - set(running.get("PORT", {})))
    if missing:
        known = ", ".join(sorted(running.get("PORT", {}))[:4]) or "none"
        problem = f"{name}: the running configuration has no port {missing[0]}"
        raise PolicyError(f"{problem}; expected the ports of its PORT: {known}, ...")
    return [*_removed(ports, running, exported), *_set(running, exported)]


def _removed(
    ports: set[str], running: Mapping[str, Any], exported: ConfigTables
) -> Iterator[Operation]:
    for table in BY_PORT:
        for key in running.get(table, {}):
            own = set(key.partition("|")[0].split(",")) & ports
            if own and key not in exported.get(table, {}):
                yield {"op": "remove", "path": _path(table, key)}


def _set(running: Mapping[str, Any], exported: ConfigTables) -> Iterator[Operation]:
    for table, entries in exported.items():
        known = running.get(table)
        if known is None:
            yield {"op": "add", "path": _path(table), "value": entries}
            continue
        for key, entry in entries.items():
            if key not in known:
                yield {"op": "add", "path": _path(table, key), "value": entry}
            elif table in MERGED:
                for field, value in entry.items():
                    if known[key].get(field) != value:
                        yield {"op": "add", "path": _path(table, key, field), "value": value}
            elif known[key] != entry:
                yield {"op": "replace", "path": _path(table, key), "value": entry}


def _path(*parts: str) -> str:
    """Write a JSON pointer (RFC 6901)."""
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)
