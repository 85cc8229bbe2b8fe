"""What a result was computed on."""

import os
import platform
from pathlib import Path


def machine() -> dict[str, str]:
    """Tell the processor, its threads, the memory and the system this process runs on.

    Returns
    -------
    dict
        ``processor``, ``threads``, ``memory``, ``system`` and ``python``, as text.
    """
    pages, page = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": _processor(),
        "threads": str(os.cpu_count() or 1),
        "memory": f"{pages * page / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
