"""Two guests at different switches get their addresses by DMP, and talk RoCEv2 over the fabric."""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from etherweave.control.dmp.frame import ETHERTYPE
from etherweave.control.lab import counters
from etherweave.control.lab.boot import Tell
from etherweave.control.lab.compare import Pair, predict
from etherweave.control.lab.guests import reports
from etherweave.control.lab.guests.image import Kernel, build
from etherweave.control.lab.guests.machines import Machine, Reports, listen, running
from etherweave.control.lab.layout import End
from etherweave.control.lab.lifecycle import Lab, LabError
from etherweave.control.lab.tap import Seen, Tap
from etherweave.control.text import mac_text


@dataclass(frozen=True)
class Booted:
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
class Talk:
    """What two guests found; of an emulated processor, so that only existence counts."""

    guests: tuple[Booted, ...]
    dmp_elsewhere: int
    """Frames of DMP at any port but those of the guests."""
    latency: reports.Latency
    bandwidth: reports.Bandwidth
    ways: dict[str, int]
    """Frames that each port on the two planned ways sent, by switch and port."""
    off_the_ways: int
    """Frames that all other ports between switches sent; ARP and its like are among them."""
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """Give it as plain values."""
        figures = asdict(self)
        spoken = {"latency": self.latency._asdict(), "bandwidth": self.bandwidth._asdict()}
        return figures | spoken


def talk(lab: Lab, kernel: Kernel, tell: Tell = lambda _: None) -> Talk:
    """Boot the two guests of a lab, and let the second measure against the first.

    Raises
    ------
    LabError
        If a guest fails, or there is no end.
    ImageError
        If there is no image for them.
    """
    start_s = time.monotonic()
    pair = _pair(lab)
    tell("building the guests' file system")
    image = build(lab.directory, kernel)
    before = counters.ports(lab)
    with Tap(lab.layout.fabric, ETHERTYPE) as tap:
        with running(lab, kernel, image, _orders(lab, pair)) as machines:
            tell("guests boot")
            heard = listen(machines, tell)
        dmp = list(tap.seen())
        tap.check()
    sent = {end: now.sent - before[end].sent for end, now in counters.ports(lab).items()}
    ways = _ways(lab, pair)
    inner = [end for end, other in lab.layout.across.items() if isinstance(other, End)]
    said = {report["step"]: report for each in heard for report in each}
    return Talk(
        tuple(_booted(machine, each) for machine, each in zip(machines, heard, strict=True)),
        _elsewhere(lab, machines, dmp),
        reports.Latency(*(said["latency"][name] for name in reports.Latency._fields)),
        reports.Bandwidth(*(said["bandwidth"][name] for name in reports.Bandwidth._fields)),
        {f"{lab.layout.plan.switches[end.switch].name}:{end.port}": sent[end] for end in ways},
        sum(sent[end] for end in inner if end not in ways),
        time.monotonic() - start_s,
    )


def _pair(lab: Lab) -> Pair:
    names = [host.name for host in lab.layout.plan.hosts]
    if len(lab.record.guests) != 2:
        raise LabError(f"{len(lab.record.guests)} guests; expected two")
    first, second = lab.record.guests
    return Pair(names.index(first), names.index(second))


def _orders(lab: Lab, pair: Pair) -> Mapping[str, str]:
    """Let the first wait, and the second come to it."""
    server, client = (lab.layout.plan.hosts[index] for index in pair)
    address = lab.layout.address
    peer = address(server).partition("/")[0]
    return {
        server.name: reports.option({"address": address(server), "peer": ""}),
        client.name: reports.option({"address": address(client), "peer": peer}),
    }


def _ways(lab: Lab, pair: Pair) -> list[End]:
    """Name the ports that frames leave by, there and back."""
    both = (pair, Pair(pair.destination, pair.source))
    hops = (hop for way in both for hop in predict(lab.layout, way))
    return sorted({End(hop.switch, hop.out_port) for hop in hops})


def _elsewhere(lab: Lab, machines: list[Machine], seen: list[Seen]) -> int:
    switches = lab.layout.switches
    own = {End(switches[machine.host.switch], machine.host.port) for machine in machines}
    return sum(one.end not in own for one in seen)


def _booted(machine: Machine, heard: Reports) -> Booted:
    (report,) = (report for report in heard if report["step"] == "addressed")
    return Booted(
        machine.host.name,
        report["factory"],
        report["mac"],
        report["mac"] == mac_text(machine.host.mac),
        report["requests"],
        report["round_trip_ms"],
        report["at_s"],
    )
