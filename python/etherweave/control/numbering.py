"""Numbers of real switches and ports, of a listed fabric that states them.

A plan numbers switches 1, 2, 3 and the ports of each in the order of its links. Switches that are
there already have numbers of their own: in the JSON of ``topology.custom`` a switch states its
``datapath`` id, and each link its ports as ``sourceport`` and ``targetport``.
"""

import json
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from etherweave.control import rules

PORT_MAX = 0xFFFFFF00  # The highest number of a port (OpenFlow 1.3, ``OFPP_MAX``).
_DATAPATH_MAX = (1 << 64) - 1


class NumberingError(ValueError):
    """Numbers of switches and ports are missing, wrong or not unique; the message says which."""


@dataclass(frozen=True, slots=True)
class Numbering:
    """Numbers of real switches and ports."""

    datapaths: Mapping[str, int]  # Datapath ids, by switch.
    ports: Mapping[str, Mapping[int, int]]  # Number of each port of the plan, by switch.
    neighbours: Mapping[str, Sequence[str]]  # Nodes at the other ends of listed links, by switch.

    def check(self, plan: rules.FabricPlan) -> None:
        """Check that the ports of a plan are those of the listed links.

        Raises ``NumberingError`` if they are not, because links were added or removed.
        """
        for switch in plan.switches:
            if [port.node for port in switch.ports] != self.neighbours.get(switch.name):
                raise NumberingError(
                    f"topology.custom: ports of {switch.name} are not those of its links; expected "
                    "nothing in as_built, and no `links` of a link, where switches have a datapath"
                )

    def applied(self, plan: rules.FabricPlan) -> rules.FabricPlan:
        """Write a plan with these numbers."""
        hosts = (replace(host, port=self.ports[host.switch][host.port]) for host in plan.hosts)
        return replace(plan, switches=tuple(map(self._switch, plan.switches)), hosts=tuple(hosts))

    def planned(self, cable: str) -> str:
        """Return a cable's name with the port of the plan: "a:13 - b" with that of the switch."""
        first, dash, second = cable.partition(" - ")
        switch, _, port = first.rpartition(":")
        numbers = {str(real): number for number, real in self.ports.get(switch, {}).items()}
        return f"{switch}:{numbers.get(port, port)}{dash}{second}" if switch else cable

    def _switch(self, switch: rules.SwitchPlan) -> rules.SwitchPlan:
        own = self.ports[switch.name]
        return replace(
            switch,
            datapath_id=self.datapaths[switch.name],
            ports=tuple(self._port(own, port) for port in switch.ports),
            rules=tuple(_rule(own, rule) for rule in switch.rules),
            groups=tuple(
                rules.Group(group.number, tuple(own[port] for port in group.ports))
                for group in switch.groups
            ),
            pause_bits={own[port]: bit for port, bit in switch.pause_bits.items()},
        )

    def _port(self, own: Mapping[int, int], port: rules.PortPlan) -> rules.PortPlan:
        far = port.node_port if port.is_host else self.ports[port.node][port.node_port]
        return replace(port, number=own[port.number], node_port=far)


def numbering(resolved: str) -> Numbering | None:
    """Read the numbers of a scenario; None: no switch states any.

    ``resolved`` is the scenario, as TOML. Raises ``NumberingError`` if only some switches or ports
    have a number, or two have the same.
    """
    listed = tomllib.loads(resolved).get("topology", {}).get("custom", {}).get("json", "")
    graph: dict[str, Any] = json.loads(listed) if listed.strip() else {}
    nodes = graph.get("nodes", ())
    if not any("datapath" in node for node in nodes):
        return None
    switches = {str(node["id"]): node for node in nodes if node.get("kind", "switch") == "switch"}
    datapaths = {name: _datapath(name, node.get("datapath")) for name, node in switches.items()}
    _check_distinct(datapaths.values())
    ports: dict[str, dict[int, int]] = defaultdict(dict)
    neighbours: dict[str, list[str]] = defaultdict(list)
    for place, link in enumerate(graph.get("links", graph.get("edges", ()))):
        ends = (("source", "target"), ("target", "source"))
        for end, other in ends:
            name = str(link[end])
            if name in switches:
                neighbours[name].append(str(link[other]))
                number = _port_number(place, f"{end}port", name, link.get(f"{end}port"))
                ports[name][len(neighbours[name])] = number
    return Numbering(datapaths, ports, neighbours)


def _datapath(name: str, text: object) -> int:
    try:
        value = int(str(text), 16)
    except ValueError:
        value = 0
    if not 0 < value <= _DATAPATH_MAX:
        seen = "no datapath" if text is None else f"datapath {text!r}"
        raise NumberingError(
            f"topology.custom.json.nodes: {seen} of switch {name}; expected the datapath id of "
            'each switch in hexadecimal digits, as "00000000000000a1"'
        )
    return value


def _port_number(place: int, key: str, name: str, value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= PORT_MAX:
        return value
    seen = "missing" if value is None else repr(value)
    raise NumberingError(
        f"topology.custom.json.links.{place}.{key}: {seen}; expected the number of a port of "
        f"{name}, 1 to {PORT_MAX}, where switches have a datapath"
    )


def _check_distinct(datapaths: Iterable[int]) -> None:
    known: set[int] = set()
    for datapath in datapaths:
        if datapath in known:
            raise NumberingError(
                f"topology.custom.json.nodes: datapath {datapath:#x} twice; expected different ones"
            )
        known.add(datapath)


def _rule(own: Mapping[int, int], rule: rules.FlowRule) -> rules.FlowRule:
    match = tuple(_match(own, field) for field in rule.match)
    return rule._replace(match=match, actions=tuple(_action(own, step) for step in rule.actions))


def _match(own: Mapping[int, int], field: rules.MatchField) -> rules.MatchField:
    return field._replace(value=own[field.value]) if field.field == "in_port" else field


def _action(own: Mapping[int, int], action: rules.Action) -> rules.Action:
    if isinstance(action, rules.Output) and action.port <= PORT_MAX:
        return rules.Output(own[action.port])
    return action
