"""Compiles the switch with clang, for the kernel it runs on."""

import shutil
import subprocess
import sysconfig
from importlib import resources
from pathlib import Path

from etherweave.control.ebpf import maps

SOURCE = "switch.bpf.c"
_LIMITS = ("PORTS_MAX", "GROUPS_MAX", "MASKS_MAX", "RULES_MAX")
"""Said in :mod:`~etherweave.control.ebpf.maps`."""
_TIMEOUT_S = 120.0


class BuildError(RuntimeError):
    """The switch does not compile; the compiler's words say why."""


def command(source: Path, target: Path) -> list[str]:
    """Tell how the switch is compiled."""
    limits = [f"-D{name}={getattr(maps, name)}" for name in _LIMITS]
    # The kernel's headers include <asm/types.h>, which Debian keeps with the machine's own.
    machine = sysconfig.get_config_var("MULTIARCH")
    include = [f"-I/usr/include/{machine}"] if machine else []
    flags = ["-O2", "-g", "-Wall", "-Wextra", "-Werror", "-target", "bpf"]
    return ["clang", *flags, *include, *limits, "-c", str(source), "-o", str(target)]


def build(directory: Path) -> Path:
    """Compile the switch into a directory.

    Raises
    ------
    BuildError
        There is no clang, libbpf's headers are missing, or it takes more than two minutes.
    """
    if shutil.which("clang") is None:
        raise BuildError("clang is not installed; expected clang and the headers of libbpf")
    target = directory / "switch.o"
    with resources.as_file(resources.files(__package__) / SOURCE) as source:
        try:
            made = subprocess.run(
                command(source, target), capture_output=True, text=True, timeout=_TIMEOUT_S
            )
        except subprocess.TimeoutExpired:
            raise BuildError(f"{SOURCE}: clang took more than {_TIMEOUT_S:.0f} s") from None
    if made.returncode:
        raise BuildError(f"{SOURCE} does not compile: {made.stderr.strip()}")
    return target
