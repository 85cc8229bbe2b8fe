"""Rules on the form of files, references, port channels and both ends of links."""

from collections import Counter
from collections.abc import Iterator

from etherweave.control.lint.config_db import (
    MAPS,
    ConfiguredPort,
    ConfiguredSwitch,
    reference,
    spans,
)
from etherweave.control.lint.host_script import ConfiguredHost
from etherweave.control.lint.inputs import Configurations, LintFault, fabric_ports

REFERENCES = {
    "PORT_QOS_MAP": MAPS | {"scheduler": "SCHEDULER"},
    "QUEUE": {"scheduler": "SCHEDULER", "wred_profile": "WRED_PROFILE"},
    "BUFFER_PG": {"profile": "BUFFER_PROFILE"},
    "BUFFER_QUEUE": {"profile": "BUFFER_PROFILE"},
    "BUFFER_PROFILE": {"pool": "BUFFER_POOL"},
}
"""By table and field, the table that is referred to."""
OF_PORTS = ("BUFFER_PG", "BUFFER_QUEUE", "QUEUE")
"""Tables with keys PORT|NUMBER."""


def readable(site: Configurations) -> Iterator[LintFault]:
    """Find values that cannot be read."""
    both: tuple[ConfiguredSwitch | ConfiguredHost, ...] = (*site.switches, *site.hosts)
    for one in both:
        for place, found, expected in one.unreadable:
            yield LintFault(one.file, place, f"{found!r} cannot be read", expected)


def references(site: Configurations) -> Iterator[LintFault]:
    """Find references to missing entries."""
    for switch in site.switches:
        tables = switch.tables
        for table, known in REFERENCES.items():
            for key, entry in tables.get(table, {}).items():
                for field, target in known.items():
                    name = reference(entry.get(field, "NULL"))
                    if name != "NULL" and name not in tables.get(target, {}):
                        holder = switch.system.term(target)
                        found = f"{field} is {name}, which {holder} does not have"
                        expected = _known(list(tables.get(target, {})))
                        place = switch.system.place(table, key)
                        yield LintFault(switch.file, place, found, expected)


def ports(site: Configurations) -> Iterator[LintFault]:
    """Find settings of missing ports."""
    for switch in site.switches:
        known = switch.tables.get("PORT", {})
        if not known:
            continue
        for table, key, port in _named_ports(switch):
            if port not in known and port not in ("CPU", "global", "GLOBAL"):
                found = f"{port} is not a port of the switch"
                place = table if key == port else f"{table}|{key}"
                yield LintFault(switch.file, place, found, _known(list(known)))


def _named_ports(switch: ConfiguredSwitch) -> Iterator[tuple[str, str, str]]:
    """Return every port that a table names, with the table and the key."""
    tables = switch.tables
    for key in tables.get("PORT_QOS_MAP", {}):
        yield from (("PORT_QOS_MAP", port, port) for port in key.split(","))
    yield from (("PFC_WD", port, port) for port in tables.get("PFC_WD", {}))
    for table in OF_PORTS:
        for key in tables.get(table, {}):
            yield from ((table, key, port) for port, _ in spans(key))
    for key in tables.get("PORTCHANNEL_MEMBER", {}):
        yield "PORTCHANNEL_MEMBER", key, key.partition("|")[2]


def _known(names: list[str]) -> str:
    if not names:
        return "an entry of that name"
    more = f" and {len(names) - 4} more" if len(names) > 5 else ""
    shown = names[: 4 if more else 5]
    return f"one of {', '.join(shown)}{more}"


def channels(site: Configurations) -> Iterator[LintFault]:
    """Find members of a port channel with different settings."""
    for switch in site.switches:
        members: dict[str, list[ConfiguredPort]] = {}
        for port in switch.ports:
            if port.channel:
                members.setdefault(port.channel, []).append(port)
        for channel, ports in members.items():
            first = ports[0]
            for port in ports[1:]:
                for what, one, other in _differences(port, first, site.fabric is None):
                    found = f"{what} {one} in {channel}"
                    yield LintFault(switch.file, port.name, found, f"{other}, as {first.name}")


def _differences(
    port: ConfiguredPort, first: ConfiguredPort, has_no_scenario: bool
) -> Iterator[tuple[str, object, object]]:
    pairs: list[tuple[str, object, object]] = [("speed", port.speed_mbps, first.speed_mbps)]
    if has_no_scenario:  # Otherwise each port is compared with it.
        pairs.append(("lossless priorities", sorted(port.lossless), sorted(first.lossless)))
    if has_no_scenario and port.lossless == first.lossless:  # Maps to groups may follow from them.
        pairs += [
            (f"{field}", dict(port.maps.get(field, {})), dict(first.maps.get(field, {})))
            for field in sorted({*port.maps, *first.maps})
        ]
    return (pair for pair in pairs if pair[1] != pair[2])


def mtu(site: Configurations) -> Iterator[LintFault]:
    """Find ports with another MTU than the other ports, or the fabric."""
    switches = site.switches
    sizes = Counter(port.mtu_bytes for one in switches for port in one.ports if port.mtu_bytes)
    usual = sizes.most_common(1)[0][0] if sizes else None
    wanted = site.fabric.mtu_bytes if site.fabric else usual
    for switch in switches:
        for port in switch.ports:
            if port.mtu_bytes is not None and port.mtu_bytes != wanted:
                found = f"MTU {port.mtu_bytes}"
                yield LintFault(switch.file, port.name, found, f"{wanted}, as everywhere else")


def ends(site: Configurations) -> Iterator[LintFault]:
    """Find links whose ends have different speeds; the fabric lists the cables."""
    if site.fabric is None:
        return
    planned = fabric_ports(site)
    ports = {(one.name, port.name): port for one in site.switches for port in one.ports}
    numbered = {(name, plan.number): port for (name, port), plan in planned.items()}
    for switch in site.switches:
        for near in switch.ports:
            plan = planned.get((switch.name, near.name))
            if plan is None or (plan.peer, plan.peer_port) not in numbered:
                continue
            peer = plan.peer, numbered[plan.peer, plan.peer_port]
            far = ports.get(peer)
            if far is None:
                continue
            if None not in (near.speed_mbps, far.speed_mbps) and near.speed_mbps != far.speed_mbps:
                found = f"speed {near.speed_mbps} Mb/s"
                expected = f"{far.speed_mbps} Mb/s, as {' '.join(peer)}"
                yield LintFault(switch.file, near.name, found, expected)
