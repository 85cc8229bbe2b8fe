"""JSON in the node-link form of NetworkX: nodes with ids, links or edges between them."""

import math
from collections.abc import Mapping, Sequence

from etherweave.formats.network import Kind, Network
from etherweave.formats.texts import Source, json_value, mapping, mappings, number, only

RATES = ("rate", "speed", "bandwidth", "capacity")
"""Keys that may hold a rate; a number is in bit/s."""
EDGE_RATES = ("LinkSpeedRaw", "LinkSpeed", *RATES)  # Those of Topology Zoo as well.


def recognises(file: Source) -> bool:
    """Return whether it is JSON with nodes."""
    return file.text.lstrip().startswith("{") and '"nodes"' in file.head


def read(files: Sequence[Source], _servers: int) -> Network:
    """Read nodes and links."""
    file = only(files)
    document = mapping(file, json_value(file), "")
    network = Network(str(file.path))
    for where, node in mappings(file, document.get("nodes"), "nodes"):
        if "id" not in node:
            raise file.mistake(where, "id is missing; expected a name")
        network.new_node(str(node["id"]), kind_of(node.get("kind")), where)
    key = "links" if "links" in document else "edges"
    for where, link in mappings(file, document.get(key), key):
        first, second = (str(link.get(end, "")) for end in ("source", "target"))
        for name in (first, second):
            network.known(name, where)
        network.pass_over_latency(link)
        rate = next((link[name] for name in RATES if link.get(name)), "")
        ports = {"first_port": "sourceport", "second_port": "targetport", "length": "length"}
        of = {name: str(link.get(other, "")) for name, other in ports.items()}
        of |= {"medium": str(link.get("medium", "")), "link_class": str(link.get("class", ""))}
        count = number(file, link.get("links", 1), where)
        network.join(first, second, of, rate=rate_text(rate), links=count, where=where)
    return network


def over(defaults: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Put the attributes of an edge over defaults, whose rate under any name its own replaces."""
    is_stated = any(own.get(name) for name in EDGE_RATES)
    left = (item for item in defaults.items() if not (is_stated and item[0] in EDGE_RATES))
    return {**dict(left), **own}


def rate_text(rate: object) -> str:
    """Write a rate: a number is in bit/s, a text stays."""
    if isinstance(rate, bool) or rate in ("", None):
        return ""
    if isinstance(rate, int | float) and math.isfinite(rate):
        return f"{int(rate)}b/s"
    return str(rate)


def kind_of(text: object) -> Kind | None:
    """Read what a node is, where it says so in the words that tools use."""
    word = str(text or "").strip().lower()
    if word in ("host", "server", "node", "compute", "endpoint", "gpu", "nic", "ca", "hca"):
        return "host"
    is_switch = word in ("switch", "leaf", "spine", "tor", "core", "agg", "router", "bridge")
    return "switch" if is_switch else None
