"""Virtual machines as hosts of a lab: started, plugged into their ports, and what they report."""

import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from etherweave.api.outputs import below
from etherweave.control.lab.boot import StepProgress
from etherweave.control.lab.layout import factory_mac, guest_interface
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


def accelerator() -> str:
    """Return QEMU's accelerator: KVM where the processor virtualises and /dev/kvm is there."""
    flags = {"vmx", "svm"} & set(Path("/proc/cpuinfo").read_text().split())
    return "kvm" if flags and os.access("/dev/kvm", os.R_OK | os.W_OK) else "tcg,thread=multi"


def command(port: str, kernel: Path, image: Path, mac: int, console: Path, order: str) -> list[str]:
    """Write the command of QEMU."""
    offloads = ",".join(f"{name}=off" for name in _OFFLOADS)
    return [
        *("qemu-system-x86_64", "-machine", "q35", "-accel", accelerator(), "-cpu", "max"),
        *("-m", str(MEMORY_MIB), "-nodefaults", "-no-user-config", "-display", "none"),
        *("-no-reboot", "-serial", f"file:{console}"),
        *("-kernel", str(kernel), "-initrd", str(image)),
        # On a busy machine, an emulated timer is late for the kernel's check of it at boot.
        *("-append", f"console=ttyS0 quiet panic=-1 no_timer_check {order}"),
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
