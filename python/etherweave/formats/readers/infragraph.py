"""InfraGraph (Keysight/infragraph, ``schema/*.yaml`` of 2701fa5): devices, instances and edges.

Instances whose device has a component of the kind switch, or ports alone, are switches; others are
hosts. Edges within a device are left out.
"""

import re
from collections.abc import Sequence
from typing import Any

from etherweave.formats.listing import DELAYS, NS_PER_M
from etherweave.formats.network import Kind, Network, listed_names
from etherweave.formats.texts import Source, json_value, mapping, mappings, number, only, yaml

UNITS = {"gigabits_per_second": "Gb/s", "gigabytes_per_second": "GB/s"}
"""Choices of a bandwidth, and the unit of a rate."""
LATENCIES = {"ns": 1, "us": 1_000, "ms": 1_000_000}  # Choices of a latency [ns].
ENDS_MAX = 2**20  # Most ends of an edge.
SWITCH_KINDS = {"port", "switch", "cpu", "memory"}
"""Kinds of the components that a switch has; NICs and accelerators are those of hosts."""


def recognises(file: Source) -> bool:
    """Return whether it has devices and instances."""
    head = file.text if len(file.text) < 2**20 else file.head
    return (
        bool(re.search(r'^"?devices"?:|"devices"\s*:', head, re.MULTILINE))
        and ("instances" in head and "edges" in head)
    ) or bool(re.search(r"^infrastructure:", head, re.MULTILINE))


def read(files: Sequence[Source], _servers: int) -> Network:
    """Read instances and the edges between them."""
    file = only(files)
    is_json = file.text.lstrip().startswith("{")
    document = mapping(file, json_value(file) if is_json else yaml(file), "")
    if "infrastructure" in document:
        reason = "connections of an older grammar; expected devices, instances and edges"
        raise file.mistake("infrastructure", reason)
    network = Network(str(file.path))
    devices = _by_name(file, document, "devices")
    counts: dict[str, int] = {}
    components: dict[str, dict[str, int]] = {}
    for name, instance in _by_name(file, document, "instances").items():
        where = f"instances.{name}"
        device = devices.get(str(instance.get("device")))
        if device is None:
            reason = f"device {instance.get('device')} is not listed; expected a device's name"
            raise file.mistake(where, reason)
        counts[name] = number(file, instance.get("count", 1), f"{where}.count", 1, ENDS_MAX)
        of_device = f"devices.{instance.get('device')}.components"
        parts = list(mappings(file, device.get("components"), of_device))
        components[name] = {
            str(part.get("name")): number(file, part.get("count", 1), f"{place}.count", 1, ENDS_MAX)
            for place, part in parts
        }
        kind = _kind({str(part.get("choice")) for _, part in parts})
        for index in range(counts[name]):
            network.node(_instance(name, index, counts), kind, where)
    kinds = {name: _cable(file, link) for name, link in _by_name(file, document, "links").items()}
    for where, edge in mappings(file, document.get("edges"), "edges"):
        ends = [_ends(file, edge.get(end), where, counts, components) for end in ("ep1", "ep2")]
        of = _kind_of_link(file, edge, kinds, where)
        for first, second in _pairs(file, str(edge.get("scheme", "one2one")), ends, where):
            ports = {"first_port": first[1], "second_port": second[1]}
            network.join(first[0], second[0], of | ports, where=where)
    if any(cable["length"] for cable in kinds.values()):
        network.assumed.append(DELAYS)
    return network


def _kind_of_link(
    file: Source, edge: dict[str, Any], kinds: dict[str, dict[str, str]], where: str
) -> dict[str, str]:
    """Look up the link of an edge; one that is not listed or has another unit is a mistake."""
    name = str(edge.get("link", ""))
    if not name:
        return {}
    if name not in kinds:
        known = listed_names(list(kinds)) or "a name in links"
        raise file.mistake(where, f"the link {name[:40]} is not listed; expected {known}")
    of = dict(kinds[name])
    if unit := of.pop("unknown", ""):
        reason = f"bandwidth in {unit[:40]}; expected {' or '.join(UNITS)}"
        raise file.mistake(f"links.{name}", reason)
    return of


def _by_name(file: Source, document: dict[str, Any], key: str) -> dict[str, dict[str, Any]]:
    entries = mappings(file, document.get(key), key)
    return {str(entry.get("name")): entry for _, entry in entries}


def _kind(kinds: set[str]) -> Kind:
    """Return what an instance is whose components have some kinds."""
    return "switch" if kinds <= SWITCH_KINDS and kinds & {"port", "switch"} else "host"


def _instance(name: str, index: int, counts: dict[str, int]) -> str:
    return f"{name}{index}" if counts[name] > 1 else name


def _cable(file: Source, link: dict[str, Any]) -> dict[str, str]:
    """Read the rate of a link, and the length that its latency has at 5 ns a metre."""
    where = f"links.{link['name']}"
    physical = mapping(file, link.get("physical") or {}, where)
    bandwidth = mapping(file, physical.get("bandwidth") or {}, where)
    unit = next((choice for choice in UNITS if bandwidth.get(choice)), None)
    latency = mapping(file, physical.get("latency") or {}, where)
    scale = next((choice for choice in LATENCIES if latency.get(choice)), None)
    length = ""
    if scale and isinstance(latency[scale], int | float):
        length = f"{max(round(latency[scale] * LATENCIES[scale] / NS_PER_M * 1000), 1)}mm"
    of = {"rate": f"{bandwidth[unit]} {UNITS[unit]}" if unit else "", "length": length}
    other = next((key for key in bandwidth if key != "choice"), "")
    return of | ({"unknown": other} if other and not unit else {})


def _ends(
    file: Source,
    end: object,
    where: str,
    counts: dict[str, int],
    components: dict[str, dict[str, int]],
) -> list[tuple[str, str]]:
    """List the ends that an endpoint stands for: Python's slices of instances and components."""
    point = mapping(file, end, where)
    name, start, stop = _slice(file, point.get("instance"), where)
    if name not in counts:
        raise file.mistake(where, f"{name} is no instance; expected one of {', '.join(counts)}")
    indices = range(counts[name])[start:stop]
    component, first, last = _slice(file, point.get("component"), where)
    if component not in components[name]:
        known = ", ".join(components[name])
        raise file.mistake(where, f"{component} is no component of {name}; expected {known}")
    ports = range(components[name][component])[first:last]
    for text, owner, all_of, part in (
        (point.get("instance"), name, counts[name], indices),
        (point.get("component"), f"{name} {component}", components[name][component], ports),
    ):
        if not part:
            span = f"0 to {all_of - 1:,}" if all_of > 1 else "0 alone"
            raise file.mistake(where, f"{text} is beyond {owner}; expected {span}")
    if len(indices) * len(ports) > ENDS_MAX:
        raise file.mistake(where, f"{len(indices) * len(ports):,} ends; expected {ENDS_MAX:,}")
    names = [_instance(name, index, counts) for index in indices]
    return [(name, f"{component}[{port}]") for name in names for port in ports]


def _slice(file: Source, text: object, where: str) -> tuple[str, int | None, int | None]:
    match = re.fullmatch(r"([^\[\]]+)(?:\[(\d{0,9})(:?)(\d{0,9})\])?", str(text))
    if not match:
        raise file.mistake(where, f"{str(text)[:40]!r}; expected NAME[0] or NAME[0:4]")
    name, start, colon, stop = match.groups()
    if start is None or (not start and not colon):
        return name, None, None
    if not colon:
        return name, int(start), int(start) + 1
    return name, int(start) if start else None, int(stop) if stop else None


def _pairs(
    file: Source, scheme: str, ends: list[list[tuple[str, str]]], where: str
) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    first, second = ends
    if scheme == "one2one":
        if len(first) != len(second):
            reason = f"{len(first)} and {len(second)} ends one to one; expected equal numbers"
            raise file.mistake(where, reason)
        return list(zip(first, second, strict=True))
    if scheme == "many2many" and len(first) * len(second) <= ENDS_MAX:
        return [(near, far) for near in first for far in second]
    raise file.mistake(where, f"the scheme {scheme[:20]}; expected one2one or many2many")
