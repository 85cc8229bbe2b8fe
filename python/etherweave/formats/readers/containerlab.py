"""Topologies of containerlab (``NAME.clab.yml``; containerlab.dev, topology definition).

Nodes of the kind linux are hosts. Ends that are no nodes (``host:``, ``mgmt-net:``, ``macvlan:``)
are left out. The labels ``rate``, ``length``, ``medium`` and ``class`` of a link are Etherweave's,
for containerlab has none.
"""

import re
from collections.abc import Sequence
from typing import Any

from etherweave.api.units import counted
from etherweave.formats.network import Kind, Network
from etherweave.formats.texts import Source, items, mapping, only, yaml

HOST_KINDS = ("linux", "k8s-kind", "ext-container", "host")
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
    topology = mapping(file, mapping(file, yaml(file), "").get("topology"), "topology")
    default = mapping(file, topology.get("defaults") or {}, "topology.defaults").get("kind")
    groups = mapping(file, topology.get("groups") or {}, "topology.groups")
    for name, entry in mapping(file, topology.get("nodes"), "topology.nodes").items():
        node = mapping(file, entry or {}, f"topology.nodes.{name}")
        group = mapping(file, groups.get(str(node.get("group"))) or {}, "topology.groups")
        kind = str(node.get("kind") or group.get("kind") or default or "linux")
        node_kind: Kind = "host" if kind in HOST_KINDS else "switch"
        made = network.new_node(name, node_kind, f"nodes.{name}")
        made.is_assumed = node_kind == "host"  # A router of Linux is of that kind, too.
    left_out = 0
    for at, entry in enumerate(items(file, topology.get("links"), "topology.links")):
        where = f"topology.links[{at}]"
        link = mapping(file, entry, where)
        ends = [_end(file, end, where) for end in _endpoints(file, link, where)]
        if len(ends) != 2 or any(name in OUTSIDE for name, _ in ends):
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
    network.assumed.append(f"nodes of the kinds {', '.join(HOST_KINDS)} are hosts (--hosts)")
    return network


def _endpoints(file: Source, link: dict[str, Any], where: str) -> list[Any]:
    if "endpoint" in link:  # Of a single node, as of the type host.
        return [link["endpoint"]]
    return items(file, link.get("endpoints"), f"{where}.endpoints")


def _end(file: Source, end: object, where: str) -> tuple[str, str]:
    if isinstance(end, dict):
        return str(end.get("node", "")), str(end.get("interface", ""))
    name, colon, interface = str(end).rpartition(":")
    if not colon or "${" in name:
        raise file.mistake(where, f"{str(end)[:40]!r}; expected NODE:INTERFACE")
    return name, interface
