"""Output of ``iblinkinfo`` of infiniband-diags: a head for each device, a line for each port.

The rate is that of a SerDes lane as signalled, which is mapped to the nearest of the kernel's.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from etherweave.formats.network import Kind, Network, subject
from etherweave.formats.readers.ibnetdiscover import LANE_MBPS, pass_over_speed
from etherweave.formats.texts import Source, only

SIGNALLED_GBPS = {"FDR": 14.0625, "EDR": 25.78125, "HDR": 53.125, "NDR": 106.25, "XDR": 212.5}
"""Signalling rates of a SerDes lane [Gb/s], where they differ from the kernel's."""
NEAR = 0.02  # Largest relative difference from a known rate.
PEERS: dict[Kind, Kind] = {"host": "switch", "switch": "host"}
"""Kind of the device at the other end of a cable, by the kind of a device that has lines."""
_HEAD = re.compile(r"(CA|Switch):\s*(?:0x[0-9a-fA-F]+\s+)?(.*?):?\s*$")
_MANAGED = re.compile(r"[^;]*;([^:]+):.*")  # Description of a switch with an address.
_ADAPTER = re.compile(r"\S+\s+(HCA-\d+|[a-z]+\d*_\d+)")  # That of a host's HCA by the kernel.
_LINE = re.compile(
    r"\s*(?:0x\w+\s+(?:\"([^\"]*)\"\s+)?)?(\d+)\s+(\d+)\[[^\]]*\]\s*==\(\s*(.*?)\s*\)==>\s*"
    r"(?:0x\w+\s+)?(\d*)\s+(\d*)\[[^\]]*\]\s*\"([^\"]*)\""
)
_SPEED = re.compile(r"(\d+)X\s+([\d.]+)\s+Gbps")


def recognises(file: Source) -> bool:
    """Return whether a port's line stands there."""
    return any(_LINE.match(line) for line in file.head.split("\n"))


@dataclass(frozen=True)
class _Device:
    """A switch, or an HCA of a host."""

    kind: Kind | None
    description: str

    def name(self, lid: str) -> str:
        """Name it: ``leaf1`` of ``MF0;leaf1:MQM9700/U1``, ``gpu01`` of ``gpu01 mlx5_0``."""
        if self.kind == "host":
            return next(iter(self.description.split()), f"LID {lid}")
        managed = _MANAGED.fullmatch(self.description)
        return managed[1] if managed else self.description or f"LID {lid}"


def read(files: Sequence[Source], _servers: int) -> Network:
    """Read ports; each cable is listed from both of its ends, by LID and port."""
    file = only(files)
    network = Network(str(file.path))
    devices: dict[str, _Device] = {}
    lines: list[tuple[str, re.Match[str]]] = []
    head: _Device | None = None
    for where, line in file.lines(comment=""):
        if match := _HEAD.match(line):
            head = _Device("switch" if match[1] == "Switch" else "host", match[2].strip())
        elif match := _LINE.match(line):
            if match[1] is not None:  # A line for each link, by `-l`, has no heads, so no kinds.
                head = _described(match[1])
            elif head is None:
                raise network.mistake(where, "a port before the first CA or Switch")
            devices[match[2]] = head
            lines.append((where, match))
    _add_silent(network, devices, [match for _, match in lines])
    names = _names(devices)
    for lid, device in devices.items():
        network.node(names[lid], device.kind)
    taken: set[frozenset[tuple[str, str]]] = set()
    for where, match in ((where, match) for where, match in lines if match[5]):
        ends = ((match[2], match[3]), (match[5], match[6]))
        if frozenset(ends) not in taken:
            taken.add(frozenset(ends))
            ports = [f"{lid}:{port}" if devices[lid].kind == "host" else port for lid, port in ends]
            named = {"first_port": ports[0], "second_port": ports[1]}
            joined = [names[lid] for lid, _ in ends]
            network.join(
                joined[0], joined[1], named, rate=_rate(network, match[4], where), where=where
            )
    if down := sum(not match[5] for _, match in lines):
        network.notes.append(f"{subject(down, 'port')} down")
    return network


def _described(text: str) -> _Device:
    """Read what a device is by its description, as far as that is usual."""
    description = text.strip()
    is_host = bool(_ADAPTER.fullmatch(description))
    kind: Kind | None = "switch" if _MANAGED.fullmatch(description) else None
    return _Device("host" if is_host else kind, description)


def _add_silent(
    network: Network, devices: dict[str, _Device], lines: Sequence[re.Match[str]]
) -> None:
    """Add devices of which the lines of others alone say something, as of switches alone."""
    silent: Counter[Kind | None] = Counter()
    for match in lines:
        if match[5] and match[5] not in devices:
            device = _described(match[7])
            near = devices[match[2]].kind
            device = replace(device, kind=device.kind or (near and PEERS[near]))
            devices[match[5]] = device
            silent[device.kind] += 1
    for kind, peer in PEERS.items():
        if silent[kind]:
            what = subject(silent[kind], kind)
            network.notes.append(f"{what} known by the other end alone, a {peer}")


def _names(devices: Mapping[str, _Device]) -> dict[str, str]:
    """Name devices by their LIDs; switches of one name, as of a chassis, have it as a suffix."""
    names = {lid: device.name(lid) for lid, device in devices.items()}
    switches = Counter(names[lid] for lid, device in devices.items() if device.kind != "host")
    hosts = {names[lid] for lid, device in devices.items() if device.kind == "host"}
    for lid, device in devices.items():
        if device.kind != "host" and (switches[names[lid]] > 1 or names[lid] in hosts):
            names[lid] += f" LID {lid}"
    return names


def _rate(network: Network, state: str, where: str) -> str:
    match = _SPEED.search(state)
    if not match:
        return ""
    lane = float(match[2])
    known = {name: value / 1000 for name, value in LANE_MBPS.items() if name != "FDR10"}
    near = [(abs(lane / value - 1), known[name]) for name, value in known.items()]
    near += [(abs(lane / value - 1), known[name]) for name, value in SIGNALLED_GBPS.items()]
    difference, gigabits = min(near)
    if difference > NEAR:
        pass_over_speed(network, match[0], where)
        return ""
    return f"{int(match[1]) * gigabits:g}Gb/s"
