"""InfraGraph (Keysight/infragraph, ``schema/*.yaml`` of 2701fa5), YAML: an instance a node.

Devices are hosts and switches by their number of ports; links are kinds of cables, whose latency is
that of the length.
"""

import json
from collections.abc import Mapping

from etherweave import _core
from etherweave.api.results import Result
from etherweave.formats.listing import Cable, listing, number_text


def files(fabric: _core.Fabric, _result: Result | None) -> Mapping[str, str]:
    """Write devices, links, instances and edges."""
    listed = listing(fabric)
    ports = listed.ports()
    devices = {
        name: ("host" if name in listed.hosts else "switch", count) for name, count in ports.items()
    }
    lines = [f"name: {json.dumps(listed.name)}", "devices:"]
    for kind, count in sorted(set(devices.values())):
        component = "nic" if kind == "host" else "port"
        lines.append(f"- name: {kind}-{count}")
        described = f"{{name: {component}, count: {count}, choice: {component}}}"
        lines += [f"  components: [{described}]", "  links: []", "  edges: []"]
    kinds = {_kind(cable): cable for cable in listed.cables}
    lines.append("links:")
    for name, cable in kinds.items():
        rate = number_text(cable.rate_gbps)
        bandwidth = f"bandwidth: {{choice: gigabits_per_second, gigabits_per_second: {rate}}}"
        latency = f"latency: {{choice: ns, ns: {number_text(cable.delay_ns)}}}"
        lines += [f"- name: {name}", f"  physical: {{{bandwidth}, {latency}}}"]
    lines.append("instances:")
    for name, (kind, count) in devices.items():
        lines.append(f"- {{name: {json.dumps(name)}, device: {kind}-{count}, count: 1}}")
    lines.append("edges:")
    for cable in listed.cables:
        ends = [_end(name, port, devices[name][0]) for name, port in cable.ends]
        link = f"link: {_kind(cable)}, scheme: one2one"
        lines.append(f"- {{ep1: {ends[0]}, ep2: {ends[1]}, {link}}}")
    name = listed.name.replace("/", "-")
    return {f"{name}.infragraph.yaml": "\n".join(lines) + "\n"}


def _kind(cable: Cable) -> str:
    return f"cable-{number_text(cable.rate_gbps)}-{number_text(cable.length_m)}"


def _end(name: str, port: int, kind: str) -> str:
    component = "nic" if kind == "host" else "port"
    return f'{{instance: {json.dumps(f"{name}[0]")}, component: "{component}[{port}]"}}'
