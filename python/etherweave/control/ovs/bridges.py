"""A bridge for every switch of a plan, its ports and links, in few transactions.

Links are patch ports, so that a packet is followed through all bridges at once, unless both ends
are network interfaces. Hosts are dummy ports, or the interfaces that the caller names.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from etherweave.control.ovs.daemons import Daemons, Datapath
from etherweave.control.ovs.programs import OvsError
from etherweave.control.rules import Plan, PortPlan, SwitchPlan

PROTOCOLS = "OpenFlow13,OpenFlow14,OpenFlow15"
"""Versions of OpenFlow; 1.4 has bundles, which the others borrow."""
_COMMANDS_PER_TRANSACTION = 1000
"""About 150 octets each: far from the 2 MiB that Linux takes as arguments."""


@dataclass(frozen=True)
class Wiring:
    """Names of bridges and of what is plugged into them."""

    bridges: Mapping[str, str]
    """By name of the switch; at most 15 octets with the netdev datapath."""
    interfaces: Mapping[tuple[str, int], str] = field(default_factory=dict)
    """Network interfaces that exist, by switch and port number; they stay when bridges go."""

    def port(self, switch: str, number: int) -> str:
        """Return the name of a switch's port."""
        return self.interfaces.get((switch, number), f"{self.bridges[switch]}-{number}")


def wiring(plan: Plan, prefix: str = "s") -> Wiring:
    """Name the bridges of a plan s0, s1, s2."""
    return Wiring({switch.name: f"{prefix}{index}" for index, switch in enumerate(plan.switches)})


def build(daemons: Daemons, plan: Plan, wiring: Wiring) -> None:
    """Make all bridges, ports and links of a plan.

    A host's port without an interface is left out with the netdev datapath.

    Raises
    ------
    OvsError
        If a port cannot be made, or has not the number of the plan.
    """
    commands = [
        *(_bridge(switch, wiring, daemons.datapath) for switch in plan.switches),
        *_ports(plan, wiring, daemons.datapath),
    ]
    _apply(daemons, commands)
    _check(daemons, plan, wiring)


def remove(daemons: Daemons, bridges: Iterable[str]) -> None:
    """Remove bridges; those that are not there are no mistake."""
    _apply(daemons, [["--if-exists", "del-br", bridge] for bridge in bridges])


def _apply(daemons: Daemons, commands: Iterable[list[str]]) -> None:
    rest = iter(commands)
    while some := list(islice(rest, _COMMANDS_PER_TRANSACTION)):
        daemons.configure(*(word for command in some for word in ("--", *command)))


def _bridge(switch: SwitchPlan, wiring: Wiring, datapath: Datapath) -> list[str]:
    name = wiring.bridges[switch.name]
    settings = [
        f"datapath_type={datapath}",
        "fail_mode=secure",
        f"protocols={PROTOCOLS}",
        f"other_config:datapath-id={switch.datapath_id:016x}",
    ]
    return ["add-br", name, "--", "set", "bridge", name, *settings]


def _ports(plan: Plan, wiring: Wiring, datapath: Datapath) -> Iterator[list[str]]:
    for switch in plan.switches:
        for port in switch.ports:
            if _is_made(switch, port, wiring, datapath):
                name = wiring.port(switch.name, port.number)
                add = ["add-port", wiring.bridges[switch.name], name]
                kind = _kind(switch, port, wiring)
                number = f"ofport_request={port.number}"
                yield [*add, "--", "set", "interface", name, *kind, number]


def _is_made(switch: SwitchPlan, port: PortPlan, wiring: Wiring, datapath: Datapath) -> bool:
    is_given = (switch.name, port.number) in wiring.interfaces
    return is_given or not port.is_host or datapath is Datapath.DUMMY


def _kind(switch: SwitchPlan, port: PortPlan, wiring: Wiring) -> list[str]:
    if (switch.name, port.number) in wiring.interfaces:
        return []
    if port.is_host:
        return ["type=dummy"]
    return ["type=patch", f"options:peer={wiring.port(port.node, port.node_port)}"]


def _check(daemons: Daemons, plan: Plan, wiring: Wiring) -> None:
    """Ask the database whether every port is what it was to be."""
    columns = "--columns=name,ofport,error"
    table = json.loads(daemons.configure("--format=json", columns, "list", "Interface"))
    made = {name: (number, error) for name, number, error in table["data"]}
    for switch in plan.switches:
        for port in switch.ports:
            if _is_made(switch, port, wiring, daemons.datapath):
                name = wiring.port(switch.name, port.number)
                number, error = made[name]
                if number != port.number:
                    why = error if isinstance(error, str) else f"has number {number}"
                    raise OvsError(
                        f"port {name} of {switch.name}: {why}; expected number {port.number}"
                    )
