"""Output of ``iblinkinfo`` of infiniband-diags: a head for each device, a line for each port.

The rate is that of a SerDes lane as signalled, which is mapped to the nearest of the kernel's.
"""

import re
from collections.abc import Sequence

from etherweave.formats.network import Network
from etherweave.formats.readers.ibnetdiscover import LANE_MBPS
from etherweave.formats.texts import Source, only

SIGNALLED_GBPS = {"FDR": 14.0625, "EDR": 25.78125, "HDR": 53.125, "NDR": 106.25, "XDR": 212.5}
"""Signalling rates of a SerDes lane [Gb/s], where they differ from the kernel's."""
NEAR = 0.02  # Largest relative difference from a known rate.
_HEAD = re.compile(r"(CA|Switch):\s*(?:(0x[0-9a-fA-F]+)\s+)?(.*?):?\s*$")
_LINE = re.compile(
    r"\s*(?:0x\w+\s+(?:\"([^\"]*)\"\s+)?)?(\d+)\s+(\d+)\[[^\]]*\]\s*==\(\s*(.*?)\s*\)==>\s*"
    r"(?:0x\w+\s+)?(\d*)\s+(\d*)\[[^\]]*\]\s*\"([^\"]*)\""
)
_SPEED = re.compile(r"(\d+)X\s+([\d.]+)\s+Gbps")


def recognises(file: Source) -> bool:
    """Return whether a port's line stands there."""
    return any(_LINE.match(line) for line in file.head.split("\n"))


def read(files: Sequence[Source], _servers: int) -> Network:
    """Read ports; each cable is listed from both of its ends, by LID and port."""
    file = only(files)
    network = Network(str(file.path))
    owner: dict[str, str] = {}
    lines: list[tuple[str, str, re.Match[str]]] = []
    device = ""
    for where, line in file.lines(comment=""):
        if head := _HEAD.match(line):
            device = _name(head[1], head[2], head[3])
            network.node(device, "switch" if head[1] == "Switch" else "host", where)
        elif match := _LINE.match(line):
            if match[1] is not None:  # A line for each link, by `-l`: no heads, so no kinds.
                device = _name("", None, match[1].strip())
                network.node(device, None, where)
            elif not device:
                raise network.mistake(where, "a port before the first CA or Switch")
            owner[match[2]] = device
            lines.append((where, device, match))
    taken: set[frozenset[tuple[str, str]]] = set()
    down = silent = 0
    for where, device, match in lines:
        _, lid, port, state, peer_lid, peer_port, peer = match.groups()
        if not peer_lid:
            down += 1
            continue
        if peer_lid not in owner:  # The output of switches alone.
            owner[peer_lid] = _name("CA", f"LID {peer_lid}", peer)
            network.node(owner[peer_lid], "host", where)
            silent += 1
        ends = frozenset(((lid, port), (peer_lid, peer_port)))
        if ends not in taken:
            taken.add(ends)
            named = {"first_port": _port(network, device, lid, port)}
            named["second_port"] = _port(network, owner[peer_lid], peer_lid, peer_port)
            network.join(device, owner[peer_lid], named, rate=_rate(state), where=where)
    if silent:
        network.notes.append(f"{silent} hosts are known by lines of their switches alone")
    if down:
        network.notes.append(f"{down} ports are down")
    return network


def _port(network: Network, device: str, lid: str, port: str) -> str:
    return f"{lid}:{port}" if network.nodes[device].kind == "host" else port


def _name(kind: str, guid: str | None, text: str) -> str:
    if kind == "CA":
        return text.split()[0] if text.split() else str(guid)
    managed = re.fullmatch(r"[^;]*;([^:]+):.*", text)
    return managed[1] if managed else text.strip() or str(guid)


def _rate(state: str) -> str:
    match = _SPEED.search(state)
    if not match:
        return ""
    lane = float(match[2])
    known = {name: value / 1000 for name, value in LANE_MBPS.items() if name != "FDR10"}
    near = [(abs(lane / value - 1), known[name]) for name, value in known.items()]
    near += [(abs(lane / value - 1), known[name]) for name, value in SIGNALLED_GBPS.items()]
    difference, gigabits = min(near)
    return f"{int(match[1]) * gigabits:g}Gb/s" if difference <= NEAR else ""
