"""Parts of a listed network that no cables join, and those that carry nothing between hosts.

Inventories have devices without a cable, and switches at which a single host ends. Hosts do not
forward: a cable to another switch does not join it to the rest.
"""

from collections.abc import Mapping, Sequence

from etherweave.api.units import counted
from etherweave.formats.network import Network, listed_names


def leave_out_unused(network: Network) -> None:
    """Leave out nodes without a cable."""
    degrees = network.degrees()
    unused = [name for name in network.nodes if not degrees[name]]
    leave_out(network, unused, "node", "has no cable", "have no cable")


def leave_out_ends(network: Network) -> None:
    """Leave out switches that join no two hosts where others do, and hosts at these alone.

    The kinds of all nodes are known.
    """
    parts = _parts(network)
    hosts = {name for name, node in network.nodes.items() if node.kind == "host"}
    is_used = [len(part & hosts) > 1 for part in parts]
    if not any(is_used):
        return
    used = set().union(*(part for part, is_part in zip(parts, is_used, strict=True) if is_part))
    switches = [name for name in network.nodes if name not in used | hosts]
    leave_out(network, switches, "switch", "joins no two hosts", "join no two hosts each")
    degrees = network.degrees()
    cut_off = [name for name in network.nodes if not degrees[name]]
    leave_out(network, cut_off, "host", "has no other cable", "have no other cable")


def leave_out(network: Network, names: Sequence[str], noun: str, why: str, reasons: str) -> None:
    """Leave out nodes with their cables, with a note that says why."""
    if not names:
        return
    gone = set(names)
    links = [link for link in network.links if not gone.isdisjoint(link.ends)]
    network.links = [link for link in network.links if gone.isdisjoint(link.ends)]
    for name in names:
        del network.nodes[name]
    verb = f"{why} and is left out" if len(names) == 1 else f"{reasons} and are left out"
    cables = f", with {counted(len(links), 'cable')}" if links else ""
    network.notes.append(f"{counted(len(names), noun)} {verb}{cables}: {listed_names(names)}")


def _parts(network: Network) -> list[set[str]]:
    """List the switches that cables join, each part with the hosts at it."""
    peers: dict[str, list[str]] = {name: [] for name in network.nodes}
    for first, second in (link.ends for link in network.links):
        peers[first].append(second)
        peers[second].append(first)
    left = {name for name, node in network.nodes.items() if node.kind != "host"}
    return [_part(peers, left, name) for name in network.nodes if name in left]


def _part(peers: Mapping[str, Sequence[str]], left: set[str], switch: str) -> set[str]:
    """Take the switches that are joined to one from those that are left; returns also hosts."""
    part, rest = {switch}, [switch]
    left.discard(switch)
    while rest:
        near = peers[rest.pop()]
        part.update(near)
        rest += left.intersection(near)
        left.difference_update(near)
    return part
