"""Slurm's ``topology.yaml`` (man page topology.yaml(5)), and the models that topograph reads."""

import re
from collections.abc import Sequence
from typing import Any

from etherweave.formats.network import Network
from etherweave.formats.readers.slurm import Tree
from etherweave.formats.texts import Source, items, mapping, mappings, only, yaml

_BEGIN = re.compile(
    r"""^(- *\{? *["']?topology["']?:|["']?(blocks|switches)["']?:)""", re.MULTILINE
)


def recognises(file: Source) -> bool:
    """Return whether it is YAML with a topology, or with switches and blocks of topograph."""
    if file.suffix not in (".yaml", ".yml"):
        return False
    return bool(_BEGIN.search(file.head))


def read(files: Sequence[Source], _servers: int) -> Network:
    """Read the topology that is the cluster's default, else the first with switches."""
    file = only(files)
    document = yaml(file)
    network = Network(str(file.path))
    tree = Tree(network, file)
    if isinstance(document, list):
        topology = _default(file, document)
        is_block = _topology(file, topology, tree)
        names = [str(other["topology"]) for other in document if "topology" in other]
        network.notes += [
            f"the topology {name} is left out: the cluster's default is read, or the first"
            for name in names
            if name != str(topology["topology"])
        ]
    else:
        is_block = _model(file, mapping(file, document, ""), tree)
    tree.finish(is_block, is_complete=isinstance(document, list))
    return network


def _default(file: Source, document: list[Any]) -> dict[str, Any]:
    topologies = [mapping(file, entry, f"{number}") for number, entry in enumerate(document)]
    usable = [topology for topology in topologies if "tree" in topology or "block" in topology]
    if not usable:
        raise file.mistake("", "no tree and no block; expected a topology with switches or blocks")
    return next((topology for topology in usable if topology.get("cluster_default")), usable[0])


def _topology(file: Source, topology: dict[str, Any], tree: Tree) -> bool:
    name = str(topology.get("topology"))
    if "block" in topology:
        block = mapping(file, topology["block"], f"{name}.block")
        for where, member in mappings(file, block.get("blocks"), f"{name}.block.blocks"):
            tree.add(_text(file, member, "block", where), _list(file, member, where), "", "", where)
        return True
    switches = mapping(file, topology["tree"], f"{name}.tree").get("switches")
    for where, member in mappings(file, switches, f"{name}.tree.switches"):
        children = _list(file, member, where, "children")
        nodes = _list(file, member, where)
        if not nodes and not children:
            others = ", ".join(key for key in member if key != "switch") or "no other key"
            reason = f"neither nodes nor children of {member.get('switch')}; there is {others}"
            raise file.mistake(where, reason)
        tree.add(_text(file, member, "switch", where), nodes, children, "", where)
    return False


def _model(file: Source, document: dict[str, Any], tree: Tree) -> bool:
    for name, entry in mapping(file, document.get("switches") or {}, "switches").items():
        where = f"switches.{name}"
        names = items(file, mapping(file, entry, where).get("switches"), where)
        if names:
            tree.add(name, "", ",".join(map(str, names)), "", where)
    for where, member in mappings(file, document.get("blocks"), "blocks"):
        nodes = ",".join(map(str, items(file, member.get("nodes"), f"{where}.nodes")))
        tree.add(_text(file, member, "switch", where), nodes, "", "", where)
    return False


def _text(file: Source, member: dict[str, Any], key: str, where: str) -> str:
    if not isinstance(member.get(key), str | int):
        raise file.mistake(where, f"{key} is missing; expected its name")
    return str(member[key])


def _list(file: Source, member: dict[str, Any], where: str, key: str = "nodes") -> str:
    value = member.get(key, "")
    if isinstance(value, list):
        raise file.mistake(f"{where}.{key}", 'a list; expected a text in quotes: "n[01-04]"')
    return str(value)
