"""Virtual machines plugged into ports of a lab: started, listened to, and ended."""

import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from etherweave.control.lab.boot import Tell
from etherweave.control.lab.guests import reports
from etherweave.control.lab.guests.image import Kernel
from etherweave.control.lab.layout import factory, plug
from etherweave.control.lab.lifecycle import Lab, LabError
from etherweave.control.lab.namespaces import Cards, inside
from etherweave.control.rules import HostPlan
from etherweave.control.text import mac_text

MEMORY_MIB = 384
LIMIT_S = 240.0
"""Longest that guests may take, from boot to end [s]; an idle machine takes a tenth of it."""
_EVERY_S = 0.2
_OFFLOADS = (
    *("csum", "gso", "guest_csum", "guest_tso4", "guest_tso6", "guest_ufo"),
    *("host_tso4", "host_tso6", "host_ufo"),
)
"""Off: switches in user space pass on what is unfinished as it is."""

Reports: TypeAlias = list[dict[str, Any]]
"""Of a guest, in order, each with ``at_s``, when it was read since the start of waiting."""


class Machine(NamedTuple):
    """A guest that was started."""

    host: HostPlan
    process: "subprocess.Popen[bytes]"
    console: Path


@contextmanager
def running(
    lab: Lab, kernel: Kernel, image: Path, orders: Mapping[str, str]
) -> Iterator[list[Machine]]:
    """Start guests, and end them whatever happens.

    Parameters
    ----------
    lab
        Has ports for them.
    kernel, image
        What they boot.
    orders
        By host: what it is told on its kernel's command line.
    """
    hosts = [host for host in lab.layout.plan.hosts if host.name in orders]
    with ExitStack() as stack:
        machines = [_start(lab, kernel, image, host, orders[host.name], stack) for host in hosts]
        # A tap has its carrier once somebody holds it.
        with inside(lab.layout.fabric), Cards() as cards:
            for machine in machines:
                cards.set_up(plug(lab.layout, machine.host))
        yield machines


def listen(machines: Sequence[Machine], tell: Tell) -> list[Reports]:
    """Read the reports of guests until all are done.

    Raises
    ------
    LabError
        If one fails or ends early, or there is no end.
    """
    start_s = time.monotonic()
    heard: list[Reports] = [[] for _ in machines]
    while not all(map(_is_done, heard)):
        at_s = time.monotonic() - start_s
        if at_s > LIMIT_S:
            raise LabError(f"guests: no end after {LIMIT_S:.0f} s; {_last_words(machines)}")
        for machine, known in zip(machines, heard, strict=True):
            _hear(machine, known, at_s, tell)
        time.sleep(_EVERY_S)
    return heard


def command(port: str, kernel: Path, image: Path, mac: int, console: Path, order: str) -> list[str]:
    """Write how QEMU is started."""
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
    lab: Lab, kernel: Kernel, image: Path, host: HostPlan, order: str, stack: ExitStack
) -> Machine:
    console = lab.directory / f"{host.name}.console"
    console.touch()
    mac = factory(lab.layout.plan.hosts.index(host))
    words = command(plug(lab.layout, host), kernel.file, image, mac, console, order)
    log = stack.enter_context((lab.directory / f"{host.name}.log").open("wb"))
    with inside(lab.layout.fabric):
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=log)
    stack.callback(process.wait)
    stack.callback(process.kill)
    return Machine(host, process, console)


def _hear(machine: Machine, known: Reports, at_s: float, tell: Tell) -> None:
    """Add what a guest has said since it was heard last."""
    # First, so that nothing can be said between reading and looking whether it runs.
    has_ended = machine.process.poll() is not None
    for report in list(reports.read(_lines(machine.console)))[len(known) :]:
        known.append(report | {"at_s": at_s})
        tell(f"{machine.host.name}: {report['step']}")
        if report["step"] == "failed":
            raise LabError(f"guest {machine.host.name}: {report['error']}")
    if has_ended and not _is_done(known):
        raise LabError(f"guest ends early; {_last_words([machine])}")


def _is_done(heard: Reports) -> bool:
    return bool(heard) and heard[-1]["step"] == "done"


def _lines(console: Path) -> list[str]:
    return console.read_text(encoding="utf-8", errors="replace").splitlines()


def _last_words(machines: Sequence[Machine]) -> str:
    words = []
    for machine in machines:
        log = machine.console.with_suffix(".log").read_text(errors="replace").splitlines()
        said = " | ".join([*log[-2:], *_lines(machine.console)[-3:]]) or "nothing"
        words.append(f"{machine.host.name} says: {said}")
    return "; ".join(words)
