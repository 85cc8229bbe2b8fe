"""The machine that a result is computed on."""

import hashlib
import os
import platform
from functools import cache
from pathlib import Path

from etherweave import _core


def machine() -> dict[str, str]:
    """Describe the processor, its threads, the memory, the system and the core of this process.

    Texts are ``processor``, ``threads``, ``memory``, ``system``, ``python`` and ``core``, its
    version, profile of the compiler and architecture.
    """
    pages, page = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": _processor(),
        "threads": str(os.cpu_count() or 1),
        "memory": f"{pages * page / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "core": " ".join(_core.build().values("value")),
    }


def usable_processors() -> int:
    """Count the processors that this process may use: its affinity, where the system has one."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


@cache
def build() -> str:
    """Name the core that computes: its version, and a hash of its code."""
    code = Path(_core.__file__).read_bytes()
    return f"{_core.version()} {hashlib.sha256(code).hexdigest()[:16]}"
