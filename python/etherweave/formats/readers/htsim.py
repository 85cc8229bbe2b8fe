"""``.topo`` of htsim: trees of two or three tiers.

As csg-htsim reads it in ``sim/datacenter/fat_tree_topology.cpp``. A tier's ``Downlink_speed_Gbps``
is that of the cables below it. ``Radix_Up`` counts cables of a switch, of which ``Bundle`` lead to
the same switch above. Latencies are times: a length at 5 ns a metre stands for them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from etherweave.formats.listing import DELAYS, NS_PER_M
from etherweave.formats.network import Network
from etherweave.formats.texts import Source, number, only

NODES_MAX = 2**18


@dataclass
class _Tier:
    down: int = 0
    up: int = 0
    bundle: int = 1
    gigabits: int = 0
    latency_ns: int = 0


def recognises(file: Source) -> bool:
    """Return whether nodes and tiers are counted."""
    return bool(re.search(r"^\s*tiers\s+\d", file.head, re.MULTILINE | re.IGNORECASE))


def read(files: Sequence[Source], _servers: int) -> Network:
    """Build the tree."""
    file = only(files)
    counts, tiers = _parsed(file)
    network = Network(str(file.path))
    nodes, levels = counts.get("nodes", 0), counts.get("tiers", 0)
    if levels not in (2, 3) or set(tiers) != set(range(levels)):
        raise file.mistake("Tiers", f"{levels} with {len(tiers)} sections; expected 2 or 3 tiers")
    pod = nodes if levels == 2 else counts.get("podsize", 0)
    down = tiers[0].down
    if not down or not pod or nodes % pod or pod % down:
        pods = f"pods of {pod}, " if levels == 3 else ""
        reason = f"{nodes} nodes, {pods}{down} a ToR; expected multiples of each other"
        raise file.mistake("Nodes", reason)
    if "podsize" in counts and nodes % counts["podsize"]:
        reason = f"{counts['podsize']} of {nodes} nodes; expected equal pods"
        raise file.mistake("Podsize", reason)
    tors = [f"tor{at}" for at in range(nodes // down)]
    for node in range(nodes):
        host, tor = network.node(f"host{node}", "host"), network.node(tors[node // down], "switch")
        network.join(host.name, tor.name, _cable(tiers[0]))
    per_pod = pod // down
    names = "core" if levels == 2 else "agg"
    below = [tors[at : at + per_pod] for at in range(0, len(tors), per_pod)]
    above: list[str] = []
    for members in below:
        above += _stage(file, network, members, tiers[0], tiers[1], f"{names}{{}}", len(above))
    if levels == 3:
        _top(file, network, above, len(below), tiers)
    if any(tier.latency_ns for tier in tiers.values()):
        network.assumed.append(DELAYS)
    return network


def _parsed(file: Source) -> tuple[dict[str, int], dict[int, _Tier]]:
    fields = {"radix_down": "down", "radix_up": "up", "bundle": "bundle"}
    fields |= {"downlink_speed_gbps": "gigabits", "downlink_latency_ns": "latency_ns"}
    others = ("oversubscribed", "queue_up", "queue_down", "switch_latency_ns")
    counts: dict[str, int] = {}
    tiers: dict[int, _Tier] = {}
    tier: _Tier | None = None
    for where, line in file.lines():
        key, *values = line.split()
        key = key.lower()
        if len(values) != 1:
            raise file.mistake(where, f"{line[:40]!r}; expected a word and a number")
        if key in ("nodes", "tiers", "podsize"):
            counts[key] = number(file, values[0], where, 1, NODES_MAX)
        elif key == "tier":
            tier = tiers.setdefault(number(file, values[0], where, 0, 2), _Tier())
        elif key in fields and tier is not None:
            setattr(tier, fields[key], number(file, values[0], where, 0, 2**30))
        elif key not in others:
            raise file.mistake(where, f"{key[:40]!r}; expected a word of htsim, after its Tier")
    return counts, tiers


def _cable(tier: _Tier) -> dict[str, str]:
    rate = f"{tier.gigabits}Gb/s" if tier.gigabits else ""
    metres = tier.latency_ns // NS_PER_M
    return {"rate": rate, "length": f"{metres}m" if metres else ""}


def _stage(
    file: Source,
    network: Network,
    members: Sequence[str],
    lower: _Tier,
    upper: _Tier,
    name: str,
    first: int,
) -> list[str]:
    """Join the switches of a pod to all switches above them, ``bundle`` cables each."""
    if not lower.up or lower.up % upper.bundle:
        reason = f"Radix_Up {lower.up}, Bundle {upper.bundle}; expected a multiple"
        raise file.mistake("Tier", reason)
    switches = [name.format(first + at) for at in range(lower.up // upper.bundle)]
    if upper.down and upper.down != len(members) * upper.bundle:
        reason = f"Radix_Down {upper.down}; expected {len(members) * upper.bundle}"
        raise file.mistake("Tier", f"{reason}, as many as cables come from below")
    for member in members:
        for switch in switches:
            network.node(switch, "switch")
            network.join(member, switch, _cable(upper), links=upper.bundle)
    return switches


def _top(
    file: Source, network: Network, above: Sequence[str], pods: int, tiers: dict[int, _Tier]
) -> None:
    """Join the switches at the same place of every pod to cores of their own."""
    per_pod = len(above) // pods
    cores: list[str] = []
    for place in range(per_pod):
        members = above[place::per_pod]
        cores += _stage(file, network, members, tiers[1], tiers[2], "core{}", len(cores))
