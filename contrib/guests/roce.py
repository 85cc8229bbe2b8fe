"""Two guests get their addresses by DMP, and measure RoCEv2 over the fabric."""

import time
from collections.abc import Mapping
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
from guests.machines import GuestMachine, Reports, await_reports, running


@dataclass(frozen=True)
class GuestBoot:
    """A guest that has its address."""

    host: str
    factory: str
    mac: str
    is_planned: bool
    """Whether it is the address of the plan."""
    requests: int
    round_trip_ms: float
    seconds: float
    """From the machine's start."""


@dataclass(frozen=True)
class RoceResult:
    """Results of two guests; without KVM processors are emulated: they show function only."""

    guests: tuple[GuestBoot, ...]
    dmp_elsewhere: int
    """Frames of DMP at any port but those of the guests."""
    latency: reports.Latency
    bandwidth: reports.Bandwidth
    paths: dict[str, int]
    """Frames that each port on the two planned paths sent, by switch and port."""
    off_path_frames: int
    """Frames that all other ports between switches sent; ARP and its like are among them."""
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        figures = asdict(self)
        tables = {"latency": self.latency._asdict(), "bandwidth": self.bandwidth._asdict()}
        return figures | tables


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
    pair = _pair(lab)
    progress("building the guests' file system")
    image = build(lab.directory, kernel)
    before = status.port_counters(lab)
    with FrameTap(lab.layout.fabric, ETHERTYPE) as tap:
        with running(lab, kernel, image, _orders(lab, pair)) as machines:
            progress("guests boot")
            received = await_reports(machines, progress)
        dmp = list(tap.frames())
        tap.check()
    sent = {end: now.sent - before[end].sent for end, now in status.port_counters(lab).items()}
    paths = _planned_ports(lab, pair)
    inner = [end for end, other in lab.layout.across.items() if isinstance(other, LabPort)]
    by_step = {report["step"]: report for each in received for report in each}
    return RoceResult(
        tuple(_booted(machine, each) for machine, each in zip(machines, received, strict=True)),
        _elsewhere(lab, machines, dmp),
        reports.Latency(*(by_step["latency"][name] for name in reports.Latency._fields)),
        reports.Bandwidth(*(by_step["bandwidth"][name] for name in reports.Bandwidth._fields)),
        {f"{lab.layout.plan.switches[end.switch].name}:{end.port}": sent[end] for end in paths},
        sum(sent[end] for end in inner if end not in paths),
        time.monotonic() - start_s,
    )


def _pair(lab: Lab) -> HostPair:
    names = [host.name for host in lab.layout.plan.hosts]
    if len(lab.record.guests) != 2:
        raise LabError(f"{len(lab.record.guests)} guests; expected two")
    first, second = lab.record.guests
    return HostPair(names.index(first), names.index(second))


def _orders(lab: Lab, pair: HostPair) -> Mapping[str, str]:
    """Return orders: the first guest is the server, the second the client."""
    server, client = (lab.layout.plan.hosts[index] for index in pair)
    address = lab.layout.address
    peer = address(server).partition("/")[0]
    return {
        server.name: reports.option({"address": address(server), "peer": ""}),
        client.name: reports.option({"address": address(client), "peer": peer}),
    }


def _planned_ports(lab: Lab, pair: HostPair) -> list[LabPort]:
    """Return the output ports of both directions."""
    both = (pair, HostPair(pair.destination, pair.source))
    hops = (hop for direction in both for hop in predict(lab.layout, direction))
    return sorted({LabPort(hop.switch, hop.out_port) for hop in hops})


def _elsewhere(lab: Lab, machines: list[GuestMachine], observed: list[ObservedFrame]) -> int:
    switches = lab.layout.switches
    own = {LabPort(switches[machine.host.switch], machine.host.port) for machine in machines}
    return sum(one.end not in own for one in observed)


def _booted(machine: GuestMachine, received: Reports) -> GuestBoot:
    (report,) = (report for report in received if report["step"] == "addressed")
    return GuestBoot(
        machine.host.name,
        report["factory"],
        report["mac"],
        report["mac"] == mac_text(machine.host.mac),
        report["requests"],
        report["round_trip_ms"],
        report["at_s"],
    )
