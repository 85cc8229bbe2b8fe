"""Two guests get their addresses by DMP, and measure RoCEv2 over the fabric."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from etherweave.control.dmp.frame import ETHERTYPE
from etherweave.control.lab import status
from etherweave.control.lab.boot import StepProgress
from etherweave.control.lab.compare import HostPair, predict
from etherweave.control.lab.layout import LabPort
from etherweave.control.lab.lifecycle import Lab, LabError
from etherweave.control.lab.probes import FrameTap, ObservedFrame
from etherweave.control.text import mac_text
from guests import reports
from guests.image import GuestKernel, build
from guests.machines import (
    GuestMachine,
    Reports,
    await_reports,
    boot_order,
    ports_of_guests,
    running,
)


@dataclass(frozen=True)
class GuestBoot:
    """A port of a guest that has its address."""

    host: str  # Name of the port.
    factory: str
    mac: str
    is_planned: bool  # Whether it is the address of the plan.
    requests: int
    round_trip_ms: float
    seconds: float  # Time since the machine started.


@dataclass(frozen=True)
class PortMeasurement:
    """Figures of perftest from a port of the second guest to one of the first."""

    ports: tuple[str, str]
    latency: reports.Latency
    bandwidth: reports.Bandwidth


@dataclass(frozen=True)
class RoceResult:
    """Results of two guests; without KVM processors are emulated: they show function only."""

    guests: tuple[GuestBoot, ...]
    dmp_elsewhere: int  # Frames of DMP at any port but those of the guests.
    measured: tuple[PortMeasurement, ...]  # A measurement for each port of the guests.
    paths: dict[str, int]  # Frames that each port on the planned paths sent, by switch and port.
    off_path_frames: int
    """Frames that all other ports between switches sent; ARP and its like are among them."""
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        measured = [
            {
                "ports": measured.ports,
                "latency": measured.latency._asdict(),
                "bandwidth": measured.bandwidth._asdict(),
            }
            for measured in self.measured
        ]
        return asdict(self) | {"measured": measured}


def measure_roce(
    lab: Lab, kernel: GuestKernel, progress: StepProgress = lambda _: None
) -> RoceResult:
    """Boot the two guests of a lab, and measure from the second to the first.

    Raises
    ------
    LabError
        If a guest fails, or there is no end.
    ImageError
        If there is no image for them.
    """
    start_s = time.monotonic()
    pairs = _pairs(lab)
    progress("building the guests' file system")
    image = build(lab.directory, kernel)
    before = status.port_counters(lab)
    with FrameTap(lab.layout.fabric, ETHERTYPE) as tap:
        with running(lab, kernel, image, _orders(lab, pairs)) as machines:
            progress("guests boot")
            received = await_reports(machines, progress)
        dmp = list(tap.frames())
        tap.check()
    sent = {end: now.sent - before[end].sent for end, now in status.port_counters(lab).items()}
    paths = _planned_ports(lab, pairs)
    inner = [end for end, other in lab.layout.across.items() if isinstance(other, LabPort)]
    booted = zip(machines, received, strict=True)
    return RoceResult(
        tuple(port for machine, each in booted for port in _booted(machine, each)),
        _elsewhere(lab, machines, dmp),
        tuple(_measured(lab, pairs, [report for each in received for report in each])),
        {f"{lab.layout.plan.switches[end.switch].name}:{end.port}": sent[end] for end in paths},
        sum(sent[end] for end in inner if end not in paths),
        time.monotonic() - start_s,
    )


def _pairs(lab: Lab) -> list[HostPair]:
    """Pair the ports of both guests by their numbers."""
    if len(lab.record.guests) != 2:
        raise LabError(f"{len(lab.record.guests)} guests; expected two")
    ports, index = ports_of_guests(lab), lab.layout.plan.hosts.index
    both = [ports[name] for name in lab.record.guests]
    if len(both[0]) != len(both[1]):
        counts = " and ".join(str(len(own)) for own in both)
        raise LabError(f"guests with {counts} ports; expected equal numbers")
    return [HostPair(index(first), index(second)) for first, second in zip(*both, strict=True)]


def _orders(lab: Lab, pairs: Sequence[HostPair]) -> Mapping[str, str]:
    """Return orders: the first guest is the server, the second the client."""
    hosts, ports = lab.layout.plan.hosts, ports_of_guests(lab)
    address = lab.layout.address
    servers = [address(hosts[pair.source]).partition("/")[0] for pair in pairs]
    peers: tuple[list[str], list[str]] = ([], servers)
    return {
        name: reports.option(boot_order(lab.layout, ports[name]) | {"peers": own})
        for name, own in zip(lab.record.guests, peers, strict=True)
    }


def _planned_ports(lab: Lab, pairs: Sequence[HostPair]) -> list[LabPort]:
    """Return the output ports of both directions."""
    both = [*pairs, *(HostPair(pair.destination, pair.source) for pair in pairs)]
    hops = (hop for direction in both for hop in predict(lab.layout, direction))
    return sorted({LabPort(hop.switch, hop.out_port) for hop in hops})


def _measured(lab: Lab, pairs: Sequence[HostPair], received: Reports) -> Iterator[PortMeasurement]:
    def rows(step: str) -> Reports:
        return [report for report in received if report["step"] == step]

    hosts = lab.layout.plan.hosts
    for pair, latency, bandwidth in zip(pairs, rows("latency"), rows("bandwidth"), strict=True):
        yield PortMeasurement(
            (hosts[pair.destination].name, hosts[pair.source].name),
            reports.Latency(*(latency[name] for name in reports.Latency._fields)),
            reports.Bandwidth(*(bandwidth[name] for name in reports.Bandwidth._fields)),
        )


def _elsewhere(lab: Lab, machines: list[GuestMachine], observed: list[ObservedFrame]) -> int:
    switches, ports = lab.layout.switches, (port for each in machines for port in each.ports)
    own = {LabPort(switches[port.switch], port.port) for port in ports}
    return sum(frame.end not in own for frame in observed)


def _booted(machine: GuestMachine, received: Reports) -> Iterator[GuestBoot]:
    addressed = (report for report in received if report["step"] == "addressed")
    for port, report in zip(machine.ports, addressed, strict=True):
        yield GuestBoot(
            port.name,
            report["factory"],
            report["mac"],
            report["mac"] == mac_text(port.mac),
            report["requests"],
            report["round_trip_ms"],
            report["at_s"],
        )
