"""Output of ``ibnetdiscover`` of infiniband-diags: a block for each switch and each HCA.

A host is the first word of a description, so that the HCAs of a server are ports of one host. Rates
per lane are those of the kernel (drivers/infiniband/core/sysfs.c), times the width.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from etherweave.formats.network import Network, subject
from etherweave.formats.texts import Source, only

LANE_MBPS = {
    **{"SDR": 2_500, "DDR": 5_000, "QDR": 10_000, "FDR10": 10_000, "FDR": 14_000, "EDR": 25_000},
    **{"HDR": 50_000, "NDR": 100_000, "XDR": 200_000},
}
"""Rates of a SerDes lane [Mb/s]."""
ENGINE = "Mellanox Technologies Aggregation Node"
"""Description of a switch's own reduction engine, which is no host."""
_HEAD = re.compile(r'(Switch|Ca|Rt)\s+(\d+)\s+"([^"]+)"\s*(?:#\s*"([^"]*)")?')
_PORT = re.compile(r'\[(\d+)\](?:\(\w+\))?\s+"([^"]+)"\[(\d+)\](?:\(\w+\))?\s*(?:#(.*))?')
_RATE = re.compile(r"(\d+)x([A-Z]+\d*)\s*$")


@dataclass
class _Device:
    name: str
    is_switch: bool
    ports: list[tuple[str, str, str, str, str]] = field(default_factory=list)
    """Place, own port, id of the peer, its port, rate."""


def recognises(file: Source) -> bool:
    """Return whether a block of a switch or an HCA begins."""
    return any(_HEAD.match(line) for line in file.head.split("\n")) and "guid=" in file.head


def read(files: Sequence[Source], _servers: int) -> Network:
    """Read blocks; each cable is listed from both of its ends."""
    file = only(files)
    network = Network(str(file.path))
    devices = _devices(file, network)
    taken: set[frozenset[tuple[str, str]]] = set()
    listed: set[tuple[str, str]] = set()
    for device in devices.values():
        network.node(device.name, "switch" if device.is_switch else "host")
    for own, device in devices.items():
        for where, port, peer, peer_port, rate in device.ports:
            if peer not in devices:
                reason = f"{peer} has no block of its own; expected the whole output"
                raise network.mistake(where, reason)
            listed.add((own, port))
            ends = frozenset(((own, port), (peer, peer_port)))
            if devices[peer].name == device.name or ends in taken:
                continue
            taken.add(ends)
            ports = [_port(devices[own], own, port), _port(devices[peer], peer, peer_port)]
            named = {"first_port": ports[0], "second_port": ports[1]}
            network.join(device.name, devices[peer].name, named, rate=rate, where=where)
    single = [ends for ends in taken if not all(end in listed for end in ends)]
    if single:
        network.notes.append(f"{subject(len(single), 'cable')} listed from one end alone")
    return network


def pass_over_speed(network: Network, speed: str, where: str) -> None:
    """Note the first place of a speed that is not known."""
    begin = f"the speed {speed[:20]} is not known and left out"
    if not any(note.startswith(begin) for note in network.notes):
        network.notes.append(f"{begin} ({where}); known lanes: {', '.join(LANE_MBPS)}")


def _port(device: _Device, own: str, port: str) -> str:
    """Name a port: of a host with its HCA, of which it may have several."""
    return port if device.is_switch else f"{own}:{port}"


def _devices(file: Source, network: Network) -> dict[str, _Device]:
    devices: dict[str, _Device] = {}
    device: _Device | None = None
    dropped: set[str] = set()
    for where, line in file.lines(comment=""):
        if head := _HEAD.match(line):
            kind, _, own, description = head.groups()
            device = _Device(_name(kind, own, description or ""), kind == "Switch")
            if ENGINE in (description or ""):
                dropped.add(own)
            elif own in devices:
                raise network.mistake(where, f"{own} has two blocks; expected one")
            else:
                devices[own] = device
        elif port := _PORT.match(line):
            if device is None:
                raise network.mistake(where, "a port before the first Switch or Ca")
            rate = _rate(network, port[4] or "", where)
            device.ports.append((where, port[1], port[2], port[3], rate))
    for member in devices.values():
        member.ports = [port for port in member.ports if port[2] not in dropped]
    if dropped:
        what = subject(len(dropped), "aggregation node", "of switches")
        network.notes.append(f"{what} left out")
    _make_unique(devices)
    return devices


def _make_unique(devices: dict[str, _Device]) -> None:
    """Name switches whose names are equal, such as factory ones, by their GUIDs."""
    names = [device.name for device in devices.values()]
    hosts = {device.name for device in devices.values() if not device.is_switch}
    for own, device in devices.items():
        if device.is_switch and (names.count(device.name) > 1 or device.name in hosts):
            device.name = own


def _name(kind: str, own: str, description: str) -> str:
    """Name a device: ``leaf1`` of ``MF0;leaf1:MQM9700/U1``, ``gpu01`` of ``gpu01 mlx5_0``."""
    if kind == "Switch":
        managed = re.fullmatch(r"[^;]*;([^:]+):.*", description)
        return managed[1] if managed else description.strip() or own
    words = description.split()
    return words[0] if len(words) == 2 or (len(words) == 1 and words[0]) else own


def _rate(network: Network, comment: str, where: str) -> str:
    match = _RATE.search(comment)
    if not match:
        return ""
    if match[2] not in LANE_MBPS:
        pass_over_speed(network, match[0].strip(), where)
        return ""
    return f"{int(match[1]) * LANE_MBPS[match[2]]}Mb/s"
