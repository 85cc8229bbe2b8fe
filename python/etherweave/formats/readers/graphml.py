"""GraphML (graphml.graphdrawing.org): attributes by name, as of Topology Zoo; labels of yEd.

yEd keeps names in ``y:NodeLabel`` and labels of edges in ``y:EdgeLabel``; groups are nested graphs,
whose nodes are read and whose frames are not.
"""

import re
from collections.abc import Sequence

from etherweave.formats.network import Network
from etherweave.formats.readers.dot import RATE
from etherweave.formats.readers.node_link import over
from etherweave.formats.readers.zoo import zoo_network
from etherweave.formats.texts import Element, Source, only, xml


def recognises(file: Source) -> bool:
    """Return whether the root is that of GraphML."""
    return bool(re.search(r"<(\w+:)?graphml[\s>]", file.head))


def read(files: Sequence[Source], _servers: int) -> Network:
    """Read nodes and edges of all graphs in the file."""
    file = only(files)
    root = xml(file)
    keys = {key.of.get("id", ""): key for key in root.named("key")}
    defaults: dict[str, dict[str, str]] = {"node": {}, "edge": {}}
    for key in keys.values():
        for default in key.named("default"):
            for domain in defaults if key.of.get("for") in ("all", None) else [key.of["for"]]:
                defaults.setdefault(domain, {})[key.of.get("attr.name", "")] = default.text.strip()
    nodes, edges = [], []
    for element in root.walk():
        if element.tag == "node" and not any(child.tag == "graph" for child in element.children):
            nodes.append((element.where, defaults["node"] | _attributes(element, keys)))
        elif element.tag == "edge":
            edges.append((element.where, over(defaults["edge"], _attributes(element, keys))))
    return zoo_network(file, nodes, edges)


def _attributes(element: Element, keys: dict[str, Element]) -> dict[str, str]:
    attributes = {"label": element.of.get("id", "")} | dict(element.of)
    for data in element.named("data"):
        key = keys.get(data.of.get("key", ""))
        name = key.of.get("attr.name", "") if key else ""
        if name and name != "id":
            attributes[name] = data.text.strip()
        for label in (child for child in data.walk() if child.tag.endswith("Label")):
            text = label.text.strip()
            if label.tag == "NodeLabel" and text:
                attributes["label"] = text
            elif label.tag == "EdgeLabel" and (match := RATE.fullmatch(text)):
                attributes |= {"rate": match[2], "links": match[1] or "1"}
    return attributes
