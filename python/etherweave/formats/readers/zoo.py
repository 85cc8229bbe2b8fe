"""Nodes and edges of Topology Zoo, in GML and GraphML (topology-zoo.org; Knight et al., JSAC 2011).

Nodes are keyed by id, since labels repeat. Rates are ``LinkSpeedRaw`` [bit/s], lengths those of
great circles. Nodes outside the network (``Internal`` 0) and all edges to them stay.
"""

from collections import Counter
from collections.abc import Sequence

from etherweave.formats.network import Network, subject
from etherweave.formats.readers.geography import LENGTH_MAX_M, length_between
from etherweave.formats.readers.node_link import RATES, kind_of
from etherweave.formats.texts import Source, number

GREAT_CIRCLE = "lengths are great circles between coordinates"
_UNITS = {"K": "kb/s", "M": "Mb/s", "G": "Gb/s"}


def zoo_network(
    file: Source,
    nodes: Sequence[tuple[str, dict[str, str]]],
    edges: Sequence[tuple[str, dict[str, str]]],
) -> Network:
    """Make a network of nodes and edges, each with its place and its attributes."""
    network = Network(str(file.path))
    labels = Counter(of.get("label", "") for _, of in nodes)
    names: dict[str, str] = {}
    places: dict[str, tuple[object, object]] = {}
    outside = 0
    for where, of in nodes:
        label, own = of.get("label", ""), of.get("id", "")
        name = label if label and labels[label] == 1 else f"{label}-{own}".strip("-")
        if own in names:
            raise file.mistake(where, f"two nodes have the id {own}; expected different ones")
        names[own] = name.replace("/", "-")
        network.new_node(names[own], kind_of(of.get("kind")), where)
        places[own] = (of.get("Latitude"), of.get("Longitude"))
        outside += of.get("Internal") == "0"
    is_placed, too_long = False, 0
    for where, of in edges:
        ends = [of.get(end, "") for end in ("source", "target")]
        for own in ends:
            if own not in names:
                raise file.mistake(where, f"{own[:40]!r} is no node; expected the id of a node")
        if ends[0] == ends[1]:
            network.notes.append(f"{names[ends[0]]} is joined to itself, which is left out")
            continue
        between = length_between((*places[ends[0]], *places[ends[1]]))
        length = of.get("length", "")
        if not length and between is not None:
            is_placed = True
            too_long += between > LENGTH_MAX_M
            length = f"{max(round(min(between, LENGTH_MAX_M)), 1)}m"
        network.pass_over_latency(of)
        _note_unit(network, of)
        attributes = {"rate": _rate(of), "length": length}
        attributes |= {"first_port": of.get("sourceport", "")}
        attributes |= {"second_port": of.get("targetport", ""), "medium": of.get("medium", "")}
        attributes |= {"link_class": of.get("class", "")}
        links = number(file, of.get("links", "1"), where, 1)
        network.join(names[ends[0]], names[ends[1]], attributes, links=links, where=where)
    if is_placed:
        network.assumed.append(GREAT_CIRCLE)
    if too_long:
        length = "longer than 1,000 km, the most of a scenario, which stands in place of it"
        network.notes.append(f"{subject(too_long, 'cable')} {length}")
    if outside:
        network.notes.append(f"{subject(outside, 'node')} outside the network (Internal is 0)")
    return network


def _note_unit(network: Network, of: dict[str, str]) -> None:
    unit = of.get("LinkSpeedUnits", "")
    if of.get("LinkSpeed") and not of.get("LinkSpeedRaw") and unit not in _UNITS:
        note = f"LinkSpeed in {unit[:20]!r} is left out; known units: {', '.join(_UNITS)}"
        network.notes += [note] if note not in network.notes else []


def _rate(of: dict[str, str]) -> str:
    raw = of.get("LinkSpeedRaw", "")
    try:
        return f"{round(float(raw))}b/s" if raw else _speed(of)
    except (ValueError, OverflowError):
        return _speed(of)


def _speed(of: dict[str, str]) -> str:
    if of.get("LinkSpeed") and of.get("LinkSpeedUnits") in _UNITS:
        return f"{of['LinkSpeed']}{_UNITS[of['LinkSpeedUnits']]}"
    return next((of[key] for key in RATES if of.get(key)), "")
