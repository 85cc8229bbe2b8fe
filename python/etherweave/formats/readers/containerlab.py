"""Topologies of containerlab (``NAME.clab.yml``; containerlab.dev, topology definition).

Nodes of the kind linux are hosts. Ends that are no nodes (``host:``, ``mgmt-net:``, ``macvlan:``)
are left out. The labels ``rate``, ``length``, ``medium`` and ``class`` of a link are Etherweave's,
for containerlab has none.
"""

import re
from collections.abc import Sequence
from typing import Any

from etherweave.api.units import counted
from etherweave.formats.network import Kind, Network, listed_names
from etherweave.formats.parts import leave_out
from etherweave.formats.texts import Source, items, mapping, mappings, only, yaml

HOST_KINDS = ("linux", "k8s-kind", "ext-container", "host")
BRIDGES = ("bridge", "ovs-bridge")  # Kinds of bridges of the machine on which the laboratory is.
OUTSIDE = ("host", "mgmt-net", "macvlan")  # Ends of links that are no nodes.


_TOPOLOGY = re.compile(r"""^["']?topology["']?:""", re.MULTILINE)
_NODES = re.compile(r"""["']?\bnodes["']?:""")


def recognises(file: Source) -> bool:
    """Return whether it is YAML with a topology of nodes."""
    is_yaml = file.suffix in (".yml", ".yaml")
    return is_yaml and bool(_TOPOLOGY.search(file.head)) and bool(_NODES.search(file.head))


def read(files: Sequence[Source], _servers: int) -> Network:
    """Read nodes and links."""
    file = only(files)
    network = Network(str(file.path))
    document = mapping(file, yaml(file), "")
    if "topology" not in document:
        raise file.mistake("", f"no topology; there is {listed_names(list(document))}")
    topology = mapping(file, document["topology"], "topology")
    default = mapping(file, topology.get("defaults") or {}, "topology.defaults").get("kind")
    bridges: list[str] = []
    groups = mapping(file, topology.get("groups") or {}, "topology.groups")
    for name, entry in mapping(file, topology.get("nodes"), "topology.nodes").items():
        node = mapping(file, entry or {}, f"topology.nodes.{name}")
        group = _group(file, node, groups, name)
        kind = str(node.get("kind") or group.get("kind") or default or "linux")
        bridges += [name] if kind in BRIDGES else []
        node_kind: Kind = "host" if kind in HOST_KINDS else "switch"
        made = network.new_node(name, node_kind, f"nodes.{name}")
        made.is_assumed = node_kind == "host"  # A router of Linux is of that kind, too.
    left_out = 0
    for where, link in mappings(file, topology.get("links"), "topology.links"):
        ends = [_end(file, end, where) for end in _endpoints(file, link, where)]
        if "endpoint" not in link and len(ends) != 2:
            raise file.mistake(f"{where}.endpoints", f"{counted(len(ends), 'end')}; expected two")
        if len(ends) == 1 or any(name in OUTSIDE for name, _ in ends):
            left_out += 1
            continue
        for name, _ in ends:
            network.known(name, where)
        labels = mapping(file, link.get("labels") or {}, f"{where}.labels")
        of = {key: str(labels.get(key, "")) for key in ("rate", "length", "medium")}
        of["link_class"] = str(labels.get("class", ""))
        ports = {"first_port": ends[0][1], "second_port": ends[1][1]}
        network.join(ends[0][0], ends[1][0], ports | of, where=where)
    if left_out:
        verbs = (
            "that leaves the laboratory is" if left_out == 1 else "that leave the laboratory are"
        )
        network.notes.append(f"{counted(left_out, 'link')} {verbs} left out")
    _leave_out_bridges(network, bridges)
    network.assumed.append(f"nodes of the kinds {', '.join(HOST_KINDS)} are hosts (--hosts)")
    return network


def _leave_out_bridges(network: Network, bridges: Sequence[str]) -> None:
    """Leave out bridges that a single switch has cables to."""
    peers: dict[str, set[str]] = {name: set() for name in bridges}
    for first, second in (link.ends for link in network.links):
        for own, other in ((first, second), (second, first)):
            if own in peers:
                peers[own].add(other)
    stubs = [name for name, others in peers.items() if len(others) == 1]
    switches = [name for name in stubs if network.nodes[min(peers[name])].kind == "switch"]
    reasons = ("joins no two hosts", "join no two hosts each")
    leave_out(network, switches, "switch", *reasons)


def _group(file: Source, node: dict[str, Any], groups: dict[str, Any], name: str) -> dict[str, Any]:
    group = node.get("group")
    if group is None:
        return {}
    if str(group) not in groups:
        expected = listed_names(list(groups)) or "one of topology.groups"
        reason = f"the group {str(group)[:40]} is not listed; expected {expected}"
        raise file.mistake(f"topology.nodes.{name}", reason)
    return mapping(file, groups[str(group)] or {}, f"topology.groups.{group}")


def _endpoints(file: Source, link: dict[str, Any], where: str) -> list[Any]:
    if "endpoint" in link:  # Link of a single node, as of the type host.
        return [link["endpoint"]]
    return items(file, link.get("endpoints"), f"{where}.endpoints")


def _end(file: Source, end: object, where: str) -> tuple[str, str]:
    if isinstance(end, dict):
        return str(end.get("node", "")), str(end.get("interface", ""))
    name, colon, interface = str(end).rpartition(":")
    if not colon or "${" in name:
        raise file.mistake(where, f"{str(end)[:40]!r}; expected NODE:INTERFACE")
    return name, interface
