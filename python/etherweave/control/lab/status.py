"""The present state of a lab: hosts, counters of ports, and installed rules."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from etherweave.control.lab.layout import LabPort, host_interface, interface
from etherweave.control.lab.lifecycle import Lab, LabError
from etherweave.control.lab.supervisor import PINS
from etherweave.control.ovs.daemons import is_running
from etherweave.control.ovs.load import differences
from etherweave.control.plan import CARRIED
from etherweave.control.text import mac_text
from etherweave.linux import namespaces, processes
from etherweave.linux.links import LinkCounters, Links


@dataclass(frozen=True)
class HostStatus:
    """State of a host."""

    host: str
    namespace: str
    switch: str
    port: int
    mac: str | None  # None: the namespace or its interface does not exist.
    mac_planned: str
    ipv4: str
    processes: int  # Number of processes in the namespace.


@dataclass(frozen=True)
class PortStatus:
    """Counters of a port of a switch."""

    port: int
    leads_to: str
    received_frames: int
    sent_frames: int


@dataclass(frozen=True)
class SwitchStatus:
    """State of a switch."""

    switch: str
    rules: int  # Number of rules planned.
    ports: tuple[PortStatus, ...]


@dataclass(frozen=True)
class Status:
    """State of a lab."""

    name: str
    fabric: str
    plane: str
    is_running: bool  # Whether its switches run.
    obeys_pauses: bool
    hosts: tuple[HostStatus, ...]
    switches: tuple[SwitchStatus, ...]

    @property
    def is_whole(self) -> bool:
        """Whether switches run and every host has its address."""
        return self.is_running and all(host.mac == host.mac_planned for host in self.hosts)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {**asdict(self), "is_whole": self.is_whole}


def status(lab: Lab) -> Status:
    """Return the state of a lab."""
    has_supervisor = lab.supervisor is not None
    is_ovs = lab.record.plane == "ovs"
    running = is_running(lab.daemons.directory) if is_ovs else has_supervisor
    plan = lab.layout.plan
    return Status(
        lab.directory.name,
        plan.name,
        lab.record.plane,
        running,
        running and has_supervisor,
        _hosts(lab),
        _switches(lab),
    )


def _hosts(lab: Lab) -> tuple[HostStatus, ...]:
    layout = lab.layout
    factories = {host.host: host.mac for host in lab.boot.hosts}
    process_counts = processes.count_by_namespace()
    hosts = []
    for host in layout.hosts:
        namespace = layout.host(host.host)
        identity = namespaces.identity(namespace)
        hosts.append(
            HostStatus(
                host.name,
                namespace,
                host.switch,
                host.port,
                _mac(namespace, host_interface(host)),
                # Under control.addresses = "rewrite", hosts keep their factory addresses.
                factories[host.name],
                layout.address(host),
                process_counts[identity] if identity else 0,
            )
        )
    return tuple(hosts)


def _mac(namespace: str, interface: str) -> str | None:
    try:
        with namespaces.inside(namespace), Links() as links:
            return mac_text(links.mac(interface))
    except namespaces.NamespaceError:
        return None


def _switches(lab: Lab) -> tuple[SwitchStatus, ...]:
    carried = port_counters(lab)
    layout = lab.layout
    names = [switch.name for switch in layout.plan.switches]

    def leads_to(other: Any) -> str:
        return other if isinstance(other, str) else f"{names[other.switch]}:{other.port}"

    return tuple(
        SwitchStatus(
            switch.name,
            len(switch.rules),
            tuple(
                PortStatus(end.port, leads_to(other), *carried.get(end, (0, 0)))
                for end, other in layout.across.items()
                if end.switch == number
            ),
        )
        for number, switch in enumerate(layout.plan.switches)
    )


def port_counters(lab: Lab) -> dict[LabPort, LinkCounters]:
    """Read the counters of all ports of switches, from the kernel's interfaces."""
    with namespaces.inside(lab.layout.fabric), Links() as links:
        by_name = links.counters()
    ends = ((end, by_name.get(interface(end))) for end in lab.layout.across)
    return {end: counters for end, counters in ends if counters}


def installed_rules(lab: Lab) -> list[int]:
    """Count, in each switch, the rules that the design counts.

    Raises ``LabError`` if a switch differs from the plan.
    """
    return _in_kernel(lab) if lab.record.plane == "ebpf" else _in_bridges(lab)


def _in_bridges(lab: Lab) -> list[int]:
    bridges = lab.layout.wiring.bridges
    for switch in lab.layout.plan.switches:
        if different := differences(lab.daemons, bridges[switch.name], switch):
            raise LabError(f"{switch.name}: {different[0]}; expected the plan's rules")
    # Without differences, the bridges have the rules of the plan.
    return [
        sum(rule.purpose in CARRIED for rule in switch.rules) for switch in lab.layout.plan.switches
    ]


def _in_kernel(lab: Lab) -> list[int]:
    from etherweave.control.ebpf.attach import AttachedSwitch

    pins = json.loads((lab.directory / PINS).read_text(encoding="utf-8"))
    counted = []
    for switch in lab.layout.plan.switches:
        numbers = AttachedSwitch(switch.name, Path(pins[switch.name])).rules()
        counted.append(sum(switch.rules[number].purpose in CARRIED for number in numbers))
    return counted
