"""Loads the switch and attaches it to interfaces, with bpftool and tc; all of it goes again."""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from etherweave.control.ebpf.build import build
from etherweave.control.ebpf.maps import Entry, Wire, entries
from etherweave.control.rules import SwitchPlan

PROGRAMS = ("clang", "bpftool", "tc", "ip", "mount", "umount")
_TIMEOUT_S = 60.0
_CAP_NET_ADMIN, _CAP_SYS_ADMIN = 12, 21
"""Of capabilities(7)."""


class AttachError(RuntimeError):
    """A program refuses; its words say why."""


class Plug(NamedTuple):
    """An interface for a port."""

    interface: str
    """Its name in the namespace of the switch."""
    bits_per_s: int
    """Rate of the link, which the quanta of pauses count in."""


class RuleCount(NamedTuple):
    """What a rule has matched."""

    packets: int
    octets: int


@dataclass(frozen=True, slots=True)
class Kernel:
    """A compiled switch, and a file system of its own that keeps what is loaded."""

    program: Path
    pins: Path


@dataclass(frozen=True, slots=True)
class Attached:
    """A switch at work."""

    name: str
    pins: Path
    """Holds its maps, and the program as ``switch``."""

    def rules(self) -> dict[int, RuleCount]:
        """Tell what every rule has matched, by its number in the plan."""
        rows = (row["value"] for row in self._dump("rules"))
        return {row["number"]: RuleCount(row["packets"], row["octets"]) for row in rows}

    def ports(self) -> dict[int, dict[str, int]]:
        """Tell what ports have received, sent and dropped, by number; idle ones are not there.

        Names are those of ``struct counter`` in the program.
        """
        rows = self._dump("counters")
        return {row["key"]: row["value"] for row in rows if any(row["value"].values())}

    def _dump(self, name: str) -> list[dict[str, Any]]:
        told = run("bpftool", "-j", "map", "dump", "pinned", str(self.pins / name))
        return [row["formatted"] for row in json.loads(told)]


def missing() -> str | None:
    """Say why this machine cannot run the switch; none: it can."""
    absent = [program for program in PROGRAMS if shutil.which(program) is None]
    if absent:
        return f"{', '.join(absent)} not installed"
    if not is_powerful():
        return "takes root: programs in the kernel"
    headers = Path("/usr/include/bpf/bpf_helpers.h")
    return None if headers.exists() else f"no {headers}: libbpf's headers are not installed"


def is_powerful() -> bool:
    """Tell whether the caller may set up networks and mount, as root outside containers may."""
    status = Path("/proc/self/status").read_text()
    (effective,) = (line.split()[1] for line in status.splitlines() if line.startswith("CapEff"))
    needed = 1 << _CAP_NET_ADMIN | 1 << _CAP_SYS_ADMIN
    return os.geteuid() == 0 and int(effective, 16) & needed == needed


@contextlib.contextmanager
def kernel() -> Iterator[Kernel]:
    """Compile the switch, and mount a file system for what is loaded; both go at the end.

    Raises
    ------
    BuildError, AttachError
        It does not compile, or may not be mounted.
    """
    with tempfile.TemporaryDirectory(prefix="ew-ebpf-") as directory:
        program = build(Path(directory))
        pins = Path(directory) / "pins"
        pins.mkdir()
        run("mount", "-t", "bpf", "etherweave", str(pins))
        try:
            yield Kernel(program, pins)
        finally:
            run("umount", str(pins))


@contextlib.contextmanager
def attached(
    kernel: Kernel, switch: SwitchPlan, plugs: Mapping[int, Plug], namespace: str | None = None
) -> Iterator[Attached]:
    """Run a switch between interfaces; they are free again at the end.

    Parameters
    ----------
    kernel
        Where it is loaded.
    switch
        What it is told.
    plugs
        Interfaces by port number.
    namespace
        Of the interfaces, as ``ip netns`` names it; none: that of the caller.

    Raises
    ------
    MapError
        The switch cannot follow the plan.
    AttachError
        An interface is missing, or the kernel refuses.
    """
    inside = ["-n", namespace] if namespace else []
    indices = _indices(inside)
    absent = [plug.interface for plug in plugs.values() if plug.interface not in indices]
    if absent:
        raise AttachError(f"{switch.name}: no interface {absent[0]} in {namespace or 'here'}")
    wires = {port: Wire(indices[plug.interface], plug.bits_per_s) for port, plug in plugs.items()}
    filled = entries(switch, wires)
    with contextlib.ExitStack() as undo:
        pins = Path(tempfile.mkdtemp(prefix="switch-", dir=kernel.pins))
        undo.callback(_remove, pins)
        load = ["bpftool", "prog", "load", str(kernel.program), str(pins / "switch")]
        run(*load, "type", "classifier", "pinmaps", str(pins))
        _fill(pins, filled)
        for plug in plugs.values():
            run("tc", *inside, "qdisc", "add", "dev", plug.interface, "clsact")
            undo.callback(_detach, inside, plug.interface)
            place = ["dev", plug.interface, "ingress", "bpf", "da", "pinned", str(pins / "switch")]
            run("tc", *inside, "filter", "add", *place)
        yield Attached(switch.name, pins)


def run(*command: str, text: str | None = None) -> str:
    """Run a program and return what it prints.

    Raises
    ------
    AttachError
        It fails, or takes more than a minute.
    """
    try:
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=_TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        raise AttachError(f"{command[0]}: no end after {_TIMEOUT_S:.0f} s") from None
    except FileNotFoundError:
        raise AttachError(f"{command[0]}: not installed") from None
    if done.returncode:
        raise AttachError(f"{' '.join(command)}: {_short(done.stderr or done.stdout)}")
    return done.stdout


def _short(told: str) -> str:
    """Keep the end: the verifier tells every instruction before it says what is wrong."""
    return " ".join(told.strip().splitlines()[-8:])


def batch(pins: Path, filled: Sequence[Entry]) -> str:
    """Write entries as commands of ``bpftool batch``."""
    return "".join(
        f"map update pinned {pins / entry.map} "
        f"key hex {entry.key.hex(' ')} value hex {entry.value.hex(' ')}\n"
        for entry in filled
    )


def _fill(pins: Path, filled: Sequence[Entry]) -> None:
    run("bpftool", "batch", "file", "-", text=batch(pins, filled))


def _indices(inside: Sequence[str]) -> dict[str, int]:
    links = json.loads(run("ip", *inside, "-j", "link", "show"))
    return {link["ifname"]: link["ifindex"] for link in links}


def _detach(inside: Sequence[str], interface: str) -> None:
    # Whoever removes the interface first takes the program with it.
    with contextlib.suppress(AttachError):
        run("tc", *inside, "qdisc", "del", "dev", interface, "clsact")


def _remove(pins: Path) -> None:
    for pin in pins.iterdir():
        pin.unlink()
    pins.rmdir()
