"""Rules on the form of files, references, port channels and both ends of links."""

from collections.abc import Iterable, Iterator, Mapping

from etherweave.control.lint import config_db
from etherweave.control.lint.classification import MTU, RATE
from etherweave.control.lint.comparison import Peers, compare
from etherweave.control.lint.host_script import ConfiguredHost
from etherweave.control.lint.inputs import Configurations, LintFault, LintPlace, fabric_ports
from etherweave.control.lint.systems import SONIC
from etherweave.control.qos.policy import PortPolicy

REQUIRED = {
    "BUFFER_PG": "profile",
    "BUFFER_QUEUE": "profile",
    "BUFFER_PROFILE": "pool",
    "BUFFER_PORT_INGRESS_PROFILE_LIST": "profile_list",
    "BUFFER_PORT_EGRESS_PROFILE_LIST": "profile_list",
}
"""Reference without which an entry configures nothing, by table of SONiC."""
OF_PORTS = ("BUFFER_PG", "BUFFER_QUEUE", "QUEUE")  # Tables with keys PORT|NUMBER.
LISTS_OF_PORTS = (
    "PORT_QOS_MAP",
    "PFC_WD",
    "BUFFER_PORT_INGRESS_PROFILE_LIST",
    "BUFFER_PORT_EGRESS_PROFILE_LIST",
)
"""Tables with keys PORT,PORT."""


def readable(site: Configurations) -> Iterator[LintFault]:
    """Find values that cannot be read."""
    both: tuple[config_db.ConfiguredSwitch | ConfiguredHost, ...] = (*site.switches, *site.hosts)
    for switch in both:
        for place, found, expected in switch.unreadable:
            yield LintFault(switch.file, place, f"{found!r} cannot be read", expected)


def references(site: Configurations) -> Iterator[LintFault]:
    """Find references to missing entries, and entries without the reference that they need."""
    for switch in site.switches:
        for table, fields in config_db.REFERENCES.items():
            for key, entry in switch.tables.get(table, {}).items():
                for field, target in fields.items():
                    known = switch.tables.get(target, {})
                    place = switch.system.place(table, key)
                    for name in _names(switch, table, field, entry):
                        if name in known:
                            continue
                        holder = switch.system.term(target)
                        text = f"{field} is {name}, which {holder} does not have"
                        text = text if name else f"no {field}"
                        yield LintFault(switch.file, place, text, _known(list(known)))
        for place, text, names in _missing(switch):
            yield LintFault(switch.file, place, text, _known(list(names)))


def _names(
    switch: config_db.ConfiguredSwitch, table: str, field: str, entry: Mapping[str, object]
) -> Iterator[str]:
    """Return the names that a field refers to; an empty one where it is needed and missing."""
    if field in entry:
        text = str(entry[field])
        parts = text.split(",") if field == "profile_list" else [text]
        yield from (name for name in map(config_db.reference, parts) if name != "NULL")
    elif switch.system is SONIC and REQUIRED.get(table) == field:
        yield ""


def _missing(switch: config_db.ConfiguredSwitch) -> Iterator[tuple[str, str, Iterable[str]]]:
    """Return references of commands, and port channels of members, that do not exist."""
    for place, words, name, known in switch.missing:
        yield place, f"{words} is {name}, which the switch does not have", known
    channels = switch.tables.get("PORTCHANNEL", {})
    for key in switch.tables.get("PORTCHANNEL_MEMBER", {}):
        channel = key.partition("|")[0]
        if channel not in channels:
            place = switch.system.place("PORTCHANNEL_MEMBER", key)
            yield place, f"port channel is {channel}, which PORTCHANNEL does not have", channels


def ports(site: Configurations) -> Iterator[LintFault]:
    """Find settings of missing ports: the fabric has them where no table has."""
    planned = fabric_ports(site)
    for switch in site.switches:
        own = (port for name, port in planned if name == switch.name)
        known = list(switch.tables.get("PORT", own))
        if not known:
            continue
        for table, key, port in _named_ports(switch):
            if port not in known and port not in ("CPU", "global", "GLOBAL"):
                place = f"{table}|{key}"
                yield LintFault(switch.file, place, "not a port of the switch", _known(known))


def unused(site: Configurations) -> Iterator[LintFault]:
    """Find profiles that no port has."""
    for switch in site.switches:
        for name in switch.tables.get("UNUSED", {}):
            yield LintFault(switch.file, name, "no port has the profile", "a port with it, or none")


def _named_ports(switch: config_db.ConfiguredSwitch) -> Iterator[tuple[str, str, str]]:
    """Return every port that a table names, with the table and the key."""
    tables = switch.tables
    for table in LISTS_OF_PORTS:
        for key in tables.get(table, {}):
            yield from ((table, port, port) for port in key.split(","))
    for name, lengths in tables.get("CABLE_LENGTH", {}).items():
        yield from (("CABLE_LENGTH", f"{name}|{port}", port) for port in lengths)
    for table in OF_PORTS:
        for key in tables.get(table, {}):
            yield from ((table, key, port) for port, _ in config_db.spans(key))
    for key in tables.get("PORTCHANNEL_MEMBER", {}):
        yield "PORTCHANNEL_MEMBER", key, key.partition("|")[2]


def _known(names: list[str]) -> str:
    if not names:
        return "an entry of that name"
    more = f" and {len(names) - 4} more" if len(names) > 5 else ""
    shown = names[: 4 if more else 5]
    return f"one of {', '.join(shown)}{more}"


def channels(site: Configurations) -> Iterator[LintFault]:
    """Find members of a port channel with other rates, or that the fabric has not in it.

    All else is compared at all ports.
    """
    planned = fabric_ports(site)
    for switch in site.switches:
        yield from _misplaced(switch, planned)
        members: dict[str, list[config_db.ConfiguredPort]] = {}
        for port in switch.ports:
            if port.channel and port.speed_mbps is not None:
                members.setdefault(port.channel, []).append(port)
        for channel, ports in members.items():
            places = {LintPlace(switch.file, port.name): port for port in ports}
            peers = Peers(f"ports of {channel}", f"as on most ports of {channel}")
            yield from compare(places, (RATE,), peers)


def _misplaced(
    switch: config_db.ConfiguredSwitch, planned: Mapping[tuple[str, str], PortPolicy]
) -> Iterator[LintFault]:
    """Find ports whose links are not parallel to those of their channel's first port."""
    bundles = dict[str, int | None]()
    for port in switch.ports:
        plan = planned.get((switch.name, port.name))
        if plan is None or port.channel is None:
            continue
        text = f"in {port.channel}, with links to another device"
        if plan.bundle is None:
            expected = f"in no port channel, as its link to {plan.peer} has no parallel"
            yield LintFault(switch.file, port.name, f"in {port.channel}", expected)
        elif bundles.setdefault(port.channel, plan.bundle) != plan.bundle:
            expected = f"in one with all links to {plan.peer}"
            yield LintFault(switch.file, port.name, text, expected)


def mtu(site: Configurations) -> Iterator[LintFault]:
    """Find ports with another MTU than the other ports, or the fabric."""
    sized = {
        LintPlace(switch.file, port.name): port
        for switch in site.switches
        for port in switch.ports
        if port.mtu_bytes is not None
    }
    if site.fabric is None:
        yield from compare(sized, (MTU,), Peers("ports", "as everywhere else"))
        return
    for place, port in sized.items():
        if port.mtu_bytes != site.fabric.mtu_bytes:
            expected = f"{site.fabric.mtu_bytes}, as everywhere else"
            yield LintFault(*place, f"MTU {port.mtu_bytes}", expected)


def ends(site: Configurations) -> Iterator[LintFault]:
    """Find links whose ends have different speeds; the fabric lists the cables."""
    if site.fabric is None:
        return
    planned = fabric_ports(site)
    ports = {(switch.name, port.name): port for switch in site.switches for port in switch.ports}
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
                text = f"speed {near.speed_mbps} Mb/s"
                expected = f"{far.speed_mbps} Mb/s, as {' '.join(peer)}"
                yield LintFault(switch.file, near.name, text, expected)
