"""Virtual machines as hosts of a lab: started, plugged into their ports, and what they report."""

import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from etherweave.api.outputs import below
from etherweave.control.lab.boot import FIRST_TABLE, StepProgress
from etherweave.control.lab.layout import Layout, factory_mac, guest_interface
from etherweave.control.lab.lifecycle import Lab, LabError
from etherweave.control.rules import HostPlan
from etherweave.control.text import mac_text
from etherweave.linux.links import Links
from etherweave.linux.namespaces import inside
from guests import reports
from guests.image import GuestKernel

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

    host: str
    ports: tuple[HostPlan, ...]
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
    guests = ports_of_guests(lab).items()
    with ExitStack() as stack:
        machines = [
            _start(lab, kernel, image, (name, tuple(ports)), orders[name], stack)
            for name, ports in guests
        ]
        # A tap has its carrier once QEMU has opened it.
        with inside(lab.layout.fabric), Links() as links:
            for port in (port for machine in machines for port in machine.ports):
                links.set_up(guest_interface(lab.layout, port))
        yield machines


def ports_of_guests(lab: Lab) -> dict[str, list[HostPlan]]:
    """Return the ports of each guest, by its name, in the order of the plan."""
    ports: dict[str, list[HostPlan]] = {}
    for port in lab.layout.plan.hosts:
        if port.host in lab.layout.guests:
            ports.setdefault(port.host, []).append(port)
    return ports


def boot_order(layout: Layout, ports: Sequence[HostPlan]) -> dict[str, Any]:
    """Write what a guest needs to give its ports their addresses."""

    def order(port: HostPlan) -> dict[str, Any]:
        return {
            "mac": mac_text(factory_mac(layout.plan.hosts.index(port))),
            "address": layout.address(port),
            "table": FIRST_TABLE + port.number,
            "plane": str(layout.plane_network(port) or ""),
        }

    requests = layout.planned.spec.addresses == "dmp"
    return {"ports": [order(port) for port in ports], "requests": requests}


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


def accelerator() -> str:
    """Return QEMU's accelerator: KVM where the processor virtualises and /dev/kvm is there."""
    flags = {"vmx", "svm"} & set(Path("/proc/cpuinfo").read_text().split())
    return "kvm" if flags and os.access("/dev/kvm", os.R_OK | os.W_OK) else "tcg,thread=multi"


def command(
    ports: Mapping[str, int], kernel: Path, image: Path, console: Path, order: str
) -> list[str]:
    """Write the command of QEMU; ``ports`` are MAC addresses by interface of the fabric."""
    offloads = ",".join(f"{name}=off" for name in _OFFLOADS)
    nics = [
        word
        for number, (port, mac) in enumerate(ports.items())
        for word in (
            *("-netdev", f"tap,id=n{number},ifname={port},script=no,downscript=no,vhost=off"),
            "-device",
            f"virtio-net-pci,netdev=n{number},mac={mac_text(mac)},romfile=,{offloads}",
        )
    ]
    return [
        *("qemu-system-x86_64", "-machine", "q35", "-accel", accelerator(), "-cpu", "max"),
        *("-m", str(MEMORY_MIB), "-nodefaults", "-no-user-config", "-display", "none"),
        *("-no-reboot", "-serial", f"file:{console}"),
        *("-kernel", str(kernel), "-initrd", str(image)),
        # On a busy machine, an emulated timer is late for the kernel's check of it at boot.
        *("-append", f"console=ttyS0 quiet panic=-1 no_timer_check {order}"),
        *nics,
    ]


def _start(
    lab: Lab,
    kernel: GuestKernel,
    image: Path,
    guest: tuple[str, tuple[HostPlan, ...]],
    order: str,
    stack: ExitStack,
) -> GuestMachine:
    name, ports = guest
    console = below(lab.directory, f"{name}.console")
    console.touch()
    index, layout = lab.layout.plan.hosts.index, lab.layout
    macs = {guest_interface(layout, port): factory_mac(index(port)) for port in ports}
    words = command(macs, kernel.file, image, console, order)
    log = stack.enter_context(below(lab.directory, f"{name}.log").open("wb"))
    with inside(lab.layout.fabric):
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=log)
    stack.callback(process.wait)
    stack.callback(process.kill)
    return GuestMachine(name, ports, process, console)


def _read_reports(
    machine: GuestMachine, known: Reports, at_s: float, progress: StepProgress
) -> None:
    """Add the reports of a guest since the last call."""
    # First, so that nothing can be said between reading and looking whether it runs.
    has_ended = machine.process.poll() is not None
    for report in list(reports.read(_lines(machine.console)))[len(known) :]:
        known.append(report | {"at_s": at_s})
        progress(f"{machine.host}: {report['step']}")
        if report["step"] == "failed":
            raise LabError(f"guest {machine.host}: {report['error']}")
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
        words.append(f"{machine.host} prints: {last_lines}")
    return "; ".join(words)
