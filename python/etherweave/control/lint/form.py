"""Whether a file can be read at all, and everything that it refers to is there."""

from collections.abc import Iterator

from etherweave.control.lint.config_db import MAPS, Switch, reference, spans
from etherweave.control.lint.finding import Fault
from etherweave.control.lint.host_script import Host
from etherweave.control.lint.site import Site

REFERENCES = {
    "PORT_QOS_MAP": MAPS | {"scheduler": "SCHEDULER"},
    "QUEUE": {"scheduler": "SCHEDULER", "wred_profile": "WRED_PROFILE"},
    "BUFFER_PG": {"profile": "BUFFER_PROFILE"},
    "BUFFER_QUEUE": {"profile": "BUFFER_PROFILE"},
    "BUFFER_PROFILE": {"pool": "BUFFER_POOL"},
}
"""By table and field, the table that has the name."""
OF_PORTS = ("BUFFER_PG", "BUFFER_QUEUE", "QUEUE")
"""Tables with keys PORT|NUMBER."""


def readable(site: Site) -> Iterator[Fault]:
    """Find values that are of no use."""
    both: tuple[Switch | Host, ...] = (*site.switches, *site.hosts)
    for one in both:
        for place, found, expected in one.unreadable:
            yield Fault(one.file, place, f"{found!r} cannot be read", expected)


def references(site: Site) -> Iterator[Fault]:
    """Find names of nothing."""
    for switch in site.switches:
        tables = switch.tables
        for table, known in REFERENCES.items():
            for key, entry in tables.get(table, {}).items():
                for field, target in known.items():
                    name = reference(entry.get(field, "NULL"))
                    if name != "NULL" and name not in tables.get(target, {}):
                        found = f"{field} is {name}, which {target} does not have"
                        expected = _known(list(tables.get(target, {})))
                        yield Fault(switch.file, f"{table}|{key}", found, expected)


def ports(site: Site) -> Iterator[Fault]:
    """Find settings of ports that the switch does not have."""
    for switch in site.switches:
        known = switch.tables["PORT"]
        named = {name: ("PORT_QOS_MAP", name) for name in switch.tables.get("PORT_QOS_MAP", {})}
        named.pop("global", None)
        watched = {name: ("PFC_WD", name) for name in switch.tables.get("PFC_WD", {})}
        watched.pop("GLOBAL", None)
        places = [*named.values(), *watched.values()]
        for table in OF_PORTS:
            for key in switch.tables.get(table, {}):
                places += [(f"{table}|{key}", port) for port, _ in spans(key)]
        for key in switch.tables.get("PORTCHANNEL_MEMBER", {}):
            places.append((f"PORTCHANNEL_MEMBER|{key}", key.partition("|")[2]))
        for place, port in places:
            if port not in known and port != "CPU":
                found = f"{port} is no port of the switch"
                yield Fault(switch.file, place, found, _known(list(known)))


def _known(names: list[str]) -> str:
    if not names:
        return "an entry of that name"
    more = f" and {len(names) - 4} more" if len(names) > 5 else ""
    shown = names[: 4 if more else 5]
    return f"one of {', '.join(shown)}{more}"
