"""A bridge for every switch of a plan, its ports and links, in few transactions.

Links are patch ports, so that a packet is followed through all bridges at once, unless both ends
are network interfaces. Hosts are dummy ports, or the interfaces that the caller names.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain

from etherweave.control.ovs.daemons import Daemons, Datapath, OvsError, running
from etherweave.control.rules import FabricPlan, PortPlan, SwitchPlan

PROTOCOLS = {"openflow13": "OpenFlow13,OpenFlow14,OpenFlow15", "openflow10": "OpenFlow10"}
"""Versions of OpenFlow that a bridge speaks, by that of its rules; 1.4 has bundles."""
_PORTS_PER_TRANSACTION = 2000
"""About 300 octets each: far from the 2 MiB that Linux takes as arguments."""


@dataclass(frozen=True)
class BridgeNames:
    """Names of bridges and of their interfaces."""

    bridges: Mapping[str, str]  # Bridge by switch; at most 15 octets with the netdev datapath.
    interfaces: Mapping[tuple[str, int], str] = field(default_factory=dict)
    """Network interfaces that exist, by switch and port number; they stay when bridges go."""

    def port(self, switch: str, number: int) -> str:
        """Return the name of a switch's port."""
        return self.interfaces.get((switch, number), f"{self.bridges[switch]}-{number}")


def bridge_names(plan: FabricPlan) -> BridgeNames:
    """Name the bridges of a plan s0, s1, s2."""
    return BridgeNames({node.name: f"s{index}" for index, node in enumerate(plan.switches)})


@contextmanager
def built(plan: FabricPlan) -> Iterator[tuple[Daemons, BridgeNames]]:
    """Run an Open vSwitch with the bridges of a plan, without interfaces and rules; then end it.

    Raises ``OvsError`` if Open vSwitch is missing, or rejects a command.
    """
    wiring = bridge_names(plan)
    with running(Datapath.DUMMY) as daemons:
        build(daemons, plan, wiring)
        yield daemons, wiring


def build(daemons: Daemons, plan: FabricPlan, wiring: BridgeNames) -> None:
    """Make all bridges, ports and links of a plan.

    A host's port without an interface is left out with the netdev datapath.

    Raises ``OvsError`` if a name is in use, or a port cannot be made or lacks the number of the
    plan.
    """
    for switches in _transactions(plan.switches):
        rows = (_bridge(switch, wiring, daemons.datapath) for switch in switches)
        daemons.configure(*chain.from_iterable(rows))
    _check(daemons, plan, wiring)


def connect(daemons: Daemons, wiring: BridgeNames, *ports: int) -> None:
    """Let all bridges connect to controllers on this machine, by the TCP ports of these."""
    targets = [f"tcp:127.0.0.1:{port}" for port in ports]
    for bridge in wiring.bridges.values():
        daemons.configure("set-controller", bridge, *targets)


def _transactions(switches: Iterable[SwitchPlan]) -> Iterator[list[SwitchPlan]]:
    """Split switches by what goes into one transaction."""
    plans: list[SwitchPlan] = []
    for switch in switches:
        if sum(len(plan.ports) for plan in (*plans, switch)) > _PORTS_PER_TRANSACTION and plans:
            yield plans
            plans = []
        plans.append(switch)
    if plans:
        yield plans


def _bridge(switch: SwitchPlan, wiring: BridgeNames, datapath: Datapath) -> Iterator[str]:
    """Write a bridge and its ports as rows of the database.

    Rows refer to each other by labels. ``add-br`` and ``add-port`` would look every name up among
    all others, which takes longer than all the rest in a fabric of some thousand ports.
    """
    name = wiring.bridges[switch.name]
    ports = [port for port in switch.ports if _is_made(switch, port, wiring, datapath)]
    names = [wiring.port(switch.name, port.number) for port in ports]
    yield from _port(name, ["type=internal"])
    for port_name, port in zip(names, ports, strict=True):
        number = f"ofport_request={port.number}"
        yield from _port(port_name, [*_kind(switch, port, wiring), number])
    settings = [
        f"datapath_type={datapath}",
        "fail_mode=secure",
        f"protocols={PROTOCOLS[switch.protocol]}",
        f"other_config:datapath-id={switch.datapath_id:016x}",
        f"ports={','.join(f'@port-{port}' for port in (name, *names))}",
    ]
    yield from _row("bridge", name, settings)
    yield from ("--", "add", "Open_vSwitch", ".", "bridges", f"@bridge-{name}")


def _port(name: str, settings: list[str]) -> Iterator[str]:
    yield from _row("interface", name, settings)
    yield from _row("port", name, [f"interfaces=@interface-{name}"])


def _row(table: str, name: str, settings: list[str]) -> Iterator[str]:
    yield from ("--", f"--id=@{table}-{name}", "create", table, f'name="{name}"', *settings)


def _is_made(switch: SwitchPlan, port: PortPlan, wiring: BridgeNames, datapath: Datapath) -> bool:
    is_given = (switch.name, port.number) in wiring.interfaces
    return is_given or not port.is_host or datapath is Datapath.DUMMY


def _kind(switch: SwitchPlan, port: PortPlan, wiring: BridgeNames) -> list[str]:
    if (switch.name, port.number) in wiring.interfaces:
        return []
    if port.is_host:
        return ["type=dummy"]
    return ["type=patch", f'options:peer="{wiring.port(port.node, port.node_port)}"']


def _check(daemons: Daemons, plan: FabricPlan, wiring: BridgeNames) -> None:
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
