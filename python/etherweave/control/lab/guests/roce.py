"""Two guests get their addresses by DMP, and measure RoCEv2 over the fabric."""

import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from etherweave.control.dmp.frame import ETHERTYPE
from etherweave.control.lab import status
from etherweave.control.lab.boot import StepProgress
from etherweave.control.lab.compare import HostPair, predict
from etherweave.control.lab.guests import reports
from etherweave.control.lab.guests.image import GuestKernel, build
from etherweave.control.lab.layout import LabPort, factory_mac, guest_interface
from etherweave.control.lab.lifecycle import Lab, LabError
from etherweave.control.lab.probes import FrameTap, ObservedFrame
from etherweave.control.rules import HostPlan
from etherweave.control.text import mac_text
from etherweave.linux.links import Links
from etherweave.linux.namespaces import inside
from etherweave.outputs import below

MEMORY_MIB = 384
LIMIT_S = 240.0
"""Longest time of guests, from boot to end [s]; an idle machine takes a tenth of it."""
_EVERY_S = 0.2
_OFFLOADS = (
    *("csum", "gso", "guest_csum", "guest_tso4", "guest_tso6", "guest_ufo"),
    *("host_tso4", "host_tso6", "host_ufo"),
)
"""Disabled: switches in user space forward incomplete checksums and segments unchanged."""

Reports: TypeAlias = list[dict[str, Any]]
"""Reports of a guest, in order, each with ``at_s``, the time since the start of waiting [s]."""


class GuestMachine(NamedTuple):
    """A guest that was started."""

    host: HostPlan
    process: "subprocess.Popen[bytes]"
    console: Path


@contextmanager
def running(
    lab: Lab, kernel: GuestKernel, image: Path, orders: Mapping[str, str]
) -> Iterator[list[GuestMachine]]:
    """Run guests within the block.

    Parameters
    ----------
    lab
        Has ports for them.
    kernel, image
        Files that they boot.
    orders
        By host: its orders on the kernel's command line.
    """
    hosts = [host for host in lab.layout.plan.hosts if host.name in orders]
    with ExitStack() as stack:
        machines = [_start(lab, kernel, image, host, orders[host.name], stack) for host in hosts]
        # A tap has its carrier once QEMU has opened it.
        with inside(lab.layout.fabric), Links() as links:
            for machine in machines:
                links.set_up(guest_interface(lab.layout, machine.host))
        yield machines


def await_reports(machines: Sequence[GuestMachine], progress: StepProgress) -> list[Reports]:
    """Read the reports of guests until all are done.

    Raises
    ------
    LabError
        If one fails or ends early, or there is no end.
    """
    start_s = time.monotonic()
    received: list[Reports] = [[] for _ in machines]
    while not all(map(_is_done, received)):
        at_s = time.monotonic() - start_s
        if at_s > LIMIT_S:
            raise LabError(f"guests: no end after {LIMIT_S:.0f} s; {_last_output(machines)}")
        for machine, known in zip(machines, received, strict=True):
            _read_reports(machine, known, at_s, progress)
        time.sleep(_EVERY_S)
    return received


def command(port: str, kernel: Path, image: Path, mac: int, console: Path, order: str) -> list[str]:
    """Write the command of QEMU."""
    offloads = ",".join(f"{name}=off" for name in _OFFLOADS)
    return [
        *("qemu-system-x86_64", "-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max"),
        *("-m", str(MEMORY_MIB), "-nodefaults", "-no-user-config", "-display", "none"),
        *("-no-reboot", "-serial", f"file:{console}"),
        *("-kernel", str(kernel), "-initrd", str(image)),
        *("-append", f"console=ttyS0 quiet panic=-1 {order}"),
        *("-netdev", f"tap,id=n,ifname={port},script=no,downscript=no,vhost=off"),
        *("-device", f"virtio-net-pci,netdev=n,mac={mac_text(mac)},romfile=,{offloads}"),
    ]


def _start(
    lab: Lab, kernel: GuestKernel, image: Path, host: HostPlan, order: str, stack: ExitStack
) -> GuestMachine:
    console = below(lab.directory, f"{host.name}.console")
    console.touch()
    mac = factory_mac(lab.layout.plan.hosts.index(host))
    words = command(guest_interface(lab.layout, host), kernel.file, image, mac, console, order)
    log = stack.enter_context(below(lab.directory, f"{host.name}.log").open("wb"))
    with inside(lab.layout.fabric):
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=log)
    stack.callback(process.wait)
    stack.callback(process.kill)
    return GuestMachine(host, process, console)


def _read_reports(
    machine: GuestMachine, known: Reports, at_s: float, progress: StepProgress
) -> None:
    """Add the reports of a guest since the last call."""
    # First, so that nothing can be said between reading and looking whether it runs.
    has_ended = machine.process.poll() is not None
    for report in list(reports.read(_lines(machine.console)))[len(known) :]:
        known.append(report | {"at_s": at_s})
        progress(f"{machine.host.name}: {report['step']}")
        if report["step"] == "failed":
            raise LabError(f"guest {machine.host.name}: {report['error']}")
    if has_ended and not _is_done(known):
        raise LabError(f"guest ends early; {_last_output([machine])}")


def _is_done(received: Reports) -> bool:
    return bool(received) and received[-1]["step"] == "done"


def _lines(console: Path) -> list[str]:
    return console.read_text(encoding="utf-8", errors="replace").splitlines()


def _last_output(machines: Sequence[GuestMachine]) -> str:
    words = []
    for machine in machines:
        log = machine.console.with_suffix(".log").read_text(errors="replace").splitlines()
        last_lines = " | ".join([*log[-2:], *_lines(machine.console)[-3:]]) or "nothing"
        words.append(f"{machine.host.name} prints: {last_lines}")
    return "; ".join(words)


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
    """Results of two guests; processors are emulated, so that they show function only."""

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
