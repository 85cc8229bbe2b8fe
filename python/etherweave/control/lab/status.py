"""What of a lab is there just now, asked of the kernel."""

from dataclasses import asdict, dataclass
from typing import Any

from etherweave.control.lab import namespaces, processes
from etherweave.control.lab.counters import ports
from etherweave.control.lab.layout import HOST_INTERFACE
from etherweave.control.lab.lifecycle import Lab
from etherweave.control.ovs.daemons import is_running
from etherweave.control.text import mac_text


@dataclass(frozen=True)
class HostStatus:
    """A host as it is."""

    host: str
    namespace: str
    switch: str
    port: int
    mac: str | None
    """None: the namespace or its interface is gone."""
    mac_planned: str
    ipv4: str
    processes: int
    """How many run in it."""


@dataclass(frozen=True)
class PortStatus:
    """A port of a switch and what it has carried."""

    port: int
    leads_to: str
    received_frames: int
    sent_frames: int


@dataclass(frozen=True)
class SwitchStatus:
    """A switch as it is."""

    switch: str
    rules: int
    """As planned."""
    ports: tuple[PortStatus, ...]


@dataclass(frozen=True)
class Status:
    """A lab as it is."""

    name: str
    fabric: str
    plane: str
    is_running: bool
    """Whether its switches work."""
    hears_pauses: bool
    hosts: tuple[HostStatus, ...]
    switches: tuple[SwitchStatus, ...]

    @property
    def is_whole(self) -> bool:
        """Whether switches work and every host has its address."""
        return self.is_running and all(host.mac == host.mac_planned for host in self.hosts)

    def as_json(self) -> dict[str, Any]:
        """Give it as plain values."""
        return {**asdict(self), "is_whole": self.is_whole}


def status(lab: Lab) -> Status:
    """Look at a lab."""
    has_keeper = lab.keeper is not None
    is_ovs = lab.record.plane == "ovs"
    running = is_running(lab.daemons.directory) if is_ovs else has_keeper
    plan = lab.layout.plan
    return Status(
        lab.directory.name,
        plan.name,
        lab.record.plane,
        running,
        running and has_keeper,
        _hosts(lab),
        _switches(lab),
    )


def _hosts(lab: Lab) -> tuple[HostStatus, ...]:
    layout = lab.layout
    factories = {host["host"]: host["mac"] for host in (lab.record.boot or {})["hosts"]}
    crowds = processes.homes()
    found = []
    for host in layout.hosts:
        namespace = layout.host(host.name)
        home = namespaces.identity(namespace)
        found.append(
            HostStatus(
                host.name,
                namespace,
                host.switch,
                host.port,
                _mac(namespace),
                # Under control.addresses = "rewrite", hosts keep what they have.
                factories[host.name],
                layout.address(host),
                crowds[home] if home else 0,
            )
        )
    return tuple(found)


def _mac(namespace: str) -> str | None:
    try:
        with namespaces.inside(namespace), namespaces.Cards() as cards:
            return mac_text(cards.mac(HOST_INTERFACE))
    except namespaces.NamespaceError:
        return None


def _switches(lab: Lab) -> tuple[SwitchStatus, ...]:
    carried = ports(lab)
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
