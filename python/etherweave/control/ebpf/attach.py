"""Compiles the switch with clang and attaches it to interfaces with bpftool and tc.

Everything is removed at the end. pyroute2 neither compiles nor pins programs, so that these tools
are needed in any case; it reads the numbers of interfaces.
"""

import contextlib
import json
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from etherweave.control.ebpf import maps
from etherweave.control.ebpf.maps import MapEntry, PortLink, entries
from etherweave.control.pause.frame import RatedInterface
from etherweave.control.rules import SwitchPlan
from etherweave.linux import namespaces
from etherweave.linux.links import Links

PROGRAMS = ("clang", "bpftool", "tc", "ip", "mount", "umount")
_TIMEOUT_S = 60.0


class AttachError(RuntimeError):
    """bpftool, tc or mount fails; the message has its error."""


@dataclass(frozen=True, slots=True)
class KernelProgram:
    """A compiled switch, and a file system for its loaded programs and maps."""

    program: Path
    pins: Path


@dataclass(frozen=True, slots=True)
class AttachedSwitch:
    """A switch that is attached."""

    name: str
    pins: Path  # Holds its maps, and the program as ``switch``.

    def rules(self) -> dict[int, int]:
        """Return how many packets every rule has matched, by its number in the plan."""
        rows = (row["value"] for row in self._dump("rules"))
        return {row["number"]: row["packets"] for row in rows}

    def ports(self) -> dict[int, dict[str, int]]:
        """Return what ports have received, sent and dropped, by number, without idle ones.

        Names are those of ``struct counter`` in the program.
        """
        rows = self._dump("counters")
        return {row["key"]: row["value"] for row in rows if any(row["value"].values())}

    def _dump(self, name: str) -> list[dict[str, Any]]:
        output = run("bpftool", "-j", "map", "dump", "pinned", str(self.pins / name))
        return [row["formatted"] for row in json.loads(output)]


def missing() -> str | None:
    """Return what this machine lacks to run the switch, or None."""
    absent = [program for program in PROGRAMS if shutil.which(program) is None]
    if absent:
        return f"{', '.join(absent)} not installed"
    if not namespaces.is_privileged():
        return "requires root, for programs in the kernel"
    headers = Path("/usr/include/bpf/bpf_helpers.h")
    return None if headers.exists() else f"no {headers}: libbpf's headers are not installed"


@contextlib.contextmanager
def kernel_program() -> Iterator[KernelProgram]:
    """Compile the switch, and mount a file system for what is loaded; remove both at the end.

    Raises ``BuildError`` or ``AttachError`` if it does not compile, or cannot be mounted.
    """
    with tempfile.TemporaryDirectory(prefix="ew-ebpf-") as directory:
        program = build(Path(directory))
        pins = Path(directory) / "pins"
        pins.mkdir()
        run("mount", "-t", "bpf", "etherweave", str(pins))
        try:
            yield KernelProgram(program, pins)
        finally:
            run("umount", str(pins))


@contextlib.contextmanager
def attached(
    kernel: KernelProgram, switch: SwitchPlan, interfaces: Mapping[int, RatedInterface]
) -> Iterator[AttachedSwitch]:
    """Run a switch between interfaces of the caller's namespace; detach it at the end.

    ``interfaces`` are by port number. Raises ``MapError`` if the plan needs what the program does
    not support; ``AttachError`` if an interface is missing, or the kernel rejects the program.
    """
    with Links() as links:
        indices = links.indices()
    absent = [interface.name for interface in interfaces.values() if interface.name not in indices]
    if absent:
        raise AttachError(f"{switch.name}: no interface {absent[0]}")
    wires = {
        port: PortLink(indices[interface.name], interface.bits_per_s)
        for port, interface in interfaces.items()
    }
    filled = entries(switch, wires)
    with contextlib.ExitStack() as cleanup:
        pins = Path(tempfile.mkdtemp(prefix="switch-", dir=kernel.pins))
        cleanup.callback(_remove, pins)
        load = ["bpftool", "prog", "load", str(kernel.program), str(pins / "switch")]
        run(*load, "type", "classifier", "pinmaps", str(pins))
        run("bpftool", "batch", "file", "-", text=batch(pins, filled))
        for interface in interfaces.values():
            run("tc", "qdisc", "add", "dev", interface.name, "clsact")
            cleanup.callback(_detach, interface.name)
            place = ["dev", interface.name, "ingress", "bpf", "da", "pinned", str(pins / "switch")]
            run("tc", "filter", "add", *place)
        yield AttachedSwitch(switch.name, pins)


def run(*command: str, text: str | None = None) -> str:
    """Run a program and return what it prints.

    Raises ``AttachError`` if it fails, or takes more than a minute.
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


def _short(output: str) -> str:
    """Return the last lines: the verifier prints every instruction before its error."""
    return " ".join(output.strip().splitlines()[-8:])


def batch(pins: Path, filled: Sequence[MapEntry]) -> str:
    """Write entries as commands of ``bpftool batch``."""
    return "".join(
        f"map update pinned {pins / entry.map} "
        f"key hex {entry.key.hex(' ')} value hex {entry.value.hex(' ')}\n"
        for entry in filled
    )


def _detach(interface: str) -> None:
    # The program may be gone already, together with its interface.
    with contextlib.suppress(AttachError):
        run("tc", "qdisc", "del", "dev", interface, "clsact")


def _remove(pins: Path) -> None:
    for pin in pins.iterdir():
        pin.unlink()
    pins.rmdir()


SOURCE = "switch.bpf.c"
_LIMITS = ("PORTS_MAX", "GROUPS_MAX", "MASKS_MAX", "RULES_MAX")
"""Constants of :mod:`~etherweave.control.ebpf.maps` that the program needs."""
_BUILD_TIMEOUT_S = 120.0


class BuildError(RuntimeError):
    """The switch does not compile; the message has the compiler's errors."""


def command(source: Path, target: Path) -> list[str]:
    """Write the command of the compiler."""
    limits = [f"-D{name}={getattr(maps, name)}" for name in _LIMITS]
    # The kernel's headers include <asm/types.h>, which Debian keeps with the machine's own.
    machine = sysconfig.get_config_var("MULTIARCH")
    include = [f"-I/usr/include/{machine}"] if machine else []
    flags = ["-O2", "-g", "-Wall", "-Wextra", "-Werror", "-target", "bpf"]
    return ["clang", *flags, *include, *limits, "-c", str(source), "-o", str(target)]


def build(directory: Path) -> Path:
    """Compile the switch into a directory.

    Raises ``BuildError`` if there is no clang, libbpf's headers are missing, or it takes more than
    two minutes.
    """
    if shutil.which("clang") is None:
        raise BuildError("clang is not installed; expected clang and the headers of libbpf")
    target = directory / "switch.o"
    with resources.as_file(resources.files(__package__) / SOURCE) as source:
        try:
            made = subprocess.run(
                command(source, target), capture_output=True, text=True, timeout=_BUILD_TIMEOUT_S
            )
        except subprocess.TimeoutExpired:
            raise BuildError(f"{SOURCE}: clang took more than {_BUILD_TIMEOUT_S:.0f} s") from None
    if made.returncode:
        raise BuildError(f"{SOURCE} does not compile: {made.stderr.strip()}")
    return target
