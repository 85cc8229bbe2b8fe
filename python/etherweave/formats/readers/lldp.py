"""Neighbours by LLDP, a file of each device: its own name is the file's.

``lldpcli -f json show neighbors`` (an object for a single interface, a list for several), ``-f
json0`` (lists everywhere), and ``show lldp table`` of SONiC, cut by the columns of its dashes.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from etherweave.formats.network import Network, listed_names, subject
from etherweave.formats.texts import Source, json_value, mapping

FORWARDS = ("router", "bridge")
"""Capabilities of a switch (IEEE 802.1AB, table 8-4); a host has the capability station."""


def recognises(file: Source) -> bool:
    """Return whether it is a table of SONiC or JSON of lldpd."""
    is_table = "LocalPort" in file.head and "RemoteDevice" in file.head
    return is_table or (file.text.lstrip().startswith("{") and '"lldp"' in file.head[:100])


def read(files: Sequence[Source], _servers: int) -> Network:
    """Merge the views of all devices; a cable that one of two devices lists is a note."""
    network = Network(str(files[0].path))
    views: dict[frozenset[tuple[str, str]], set[str]] = {}
    locals_ = {device_of(file) for file in files}
    seen_by = {device_of(file): list(_neighbours(file)) for file in files}
    own = {
        (local, port): (device, peer_port)
        for local, neighbours in seen_by.items()
        for _, port, device, peer_port, _ in neighbours
    }
    aliases: dict[str, None] = {}
    nameless = 0
    for file in files:
        local = device_of(file)
        network.file = str(file.path)
        network.node(local, where=str(file.path))
        for where, port, device, seen_port, kind in seen_by[local]:
            if not device:
                nameless += 1
                continue
            peer_port = _own_port(own, (local, port), (device, seen_port))
            if peer_port != seen_port:
                aliases[f"{seen_port} is {peer_port} of {device}"] = None
            switch = kind == "switch" or device in locals_
            network.node(device, "switch" if switch else "host" if kind else None, where)
            ends = frozenset(((local, port), (device, peer_port)))
            if ends not in views:
                ports = {"first_port": port, "second_port": peer_port}
                network.join(local, device, ports, where=where)
            views.setdefault(ends, set()).add(local)
    for name in locals_:
        network.node(name, "switch")
    network.assumed.append("the devices whose files are read are switches")
    _settle_silent(network)
    if nameless:
        network.notes.append(f"{subject(nameless, 'neighbour', 'without a name')} left out")
    if aliases:
        network.notes.append(f"aliases of ports: {listed_names(list(aliases))}")
    single = [
        ends
        for ends, seen in views.items()
        if len({end[0] for end in ends} & locals_) == 2 and len(seen) == 1
    ]
    for ends in single[:10]:
        listed = " - ".join(f"{device} {port}" for device, port in sorted(ends))
        network.notes.append(f"a device alone lists the cable {listed}")
    return network


def _own_port(
    own: Mapping[tuple[str, str], tuple[str, str]], near: tuple[str, str], far: tuple[str, str]
) -> str:
    """Name the far port as its device does, where ``far`` has an alias such as SONiC's etp1.

    It is the port by which that device sees the near one, if it lists none of the alias's name.
    """
    if far in own:
        return far[1]
    ports = [port for (device, port), seen in own.items() if device == far[0] and seen == near]
    return ports[0] if len(ports) == 1 else far[1]


def _settle_silent(network: Network) -> None:
    """Take neighbours of a single cable that send no capabilities for hosts, where others send."""
    degrees = network.degrees()
    silent = [node for node in network.nodes.values() if not node.kind and degrees[node.name] == 1]
    if not silent or not any(node.kind == "host" for node in network.nodes.values()):
        return
    for node in silent:
        node.kind, node.is_assumed = "host", True
    names = listed_names([node.name for node in silent])
    what = subject(len(silent), "neighbour", "without capabilities")
    of = "a host" if len(silent) == 1 else "hosts"
    network.assumed.append(f"{what} {of}: {names} (--hosts)")


def device_of(file: Source) -> str:
    """Name the device of a file: ``leaf1`` of ``leaf1.json``."""
    return file.path.name.split(".")[0]


def _neighbours(file: Source) -> Iterator[tuple[str, str, str, str, str]]:
    """Give place, own port, neighbour, its port, and its kind where it is known."""
    if not file.text.lstrip().startswith("{"):
        yield from _table(file)
        return
    document = mapping(file, json_value(file), "")
    for holder in _listed(document.get("lldp")):
        for number, entry in enumerate(_listed(mapping(file, holder, "lldp").get("interface"))):
            where = f"interface[{number}]"
            member = mapping(file, entry, where)
            if "name" in member:  # json0
                yield _json0(file, member, where)
                continue
            for port, neighbour in member.items():
                yield _json(file, port, mapping(file, neighbour, where), where)


def _json(
    file: Source, port: str, neighbour: dict[str, Any], where: str
) -> tuple[str, str, str, str, str]:
    chassis = mapping(file, neighbour.get("chassis", {}), f"{where}.chassis")
    named = [(name, of) for name, of in chassis.items() if isinstance(of, dict) and name != "id"]
    device, of = named[0] if named else ("", chassis)
    peer = mapping(file, neighbour.get("port", {}), f"{where}.port")
    peer_port = str(mapping(file, peer.get("id", {}), f"{where}.port.id").get("value", ""))
    return where, port, device, peer_port, _kind(of.get("capability"))


def _json0(file: Source, member: dict[str, Any], where: str) -> tuple[str, str, str, str, str]:
    chassis = _first(file, member.get("chassis"), where)
    port = _first(file, member.get("port"), where)
    device = str(_first(file, chassis.get("name"), where).get("value", ""))
    peer_port = str(_first(file, port.get("id"), where).get("value", ""))
    return where, str(member["name"]), device, peer_port, _kind(chassis.get("capability"))


def _first(file: Source, value: object, where: str) -> dict[str, Any]:
    members = _listed(value)
    return mapping(file, members[0], where) if members else {}


def _listed(value: object) -> list[Any]:
    """Make a list of an object that stands for itself."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _kind(capability: object) -> str:
    names = [
        str(entry.get("type", "")).lower()
        for entry in _listed(capability)
        if isinstance(entry, dict) and entry.get("enabled", True)
    ]
    if any(name in FORWARDS for name in names):
        return "switch"
    return "host" if "station" in names else ""


def _table(file: Source) -> Iterator[tuple[str, str, str, str, str]]:
    """Cut a table of SONiC by its dashes."""
    spans: list[tuple[int, int]] = []
    headings: list[str] = []
    before = ""
    for where, line in file.lines(comment=""):
        if set(line.strip()) <= {"-", " "} and not spans:
            starts = [at for at in range(len(line)) if line[at] == "-" and line[at - 1 : at] != "-"]
            # A cell ends where the next column begins.
            spans = list(zip(starts, [*starts[1:], 10_000], strict=True))
            headings = [before[start:end].strip() for start, end in spans]
        elif spans and not line.startswith(("Total", "--")):
            cells = [line[start:end].strip() for start, end in spans]
            row = dict(zip(headings, cells, strict=True))
            kind = "switch" if set(row.get("Capability", "")) & set("BR") else ""
            port = row.get("RemotePortID", "")
            yield where, row.get("LocalPort", ""), row.get("RemoteDevice", ""), port, kind
        before = line
