"""Who made a thing that may outlive its maker: told in its name, so that others can sweep.

A process is its number and when it was started, for the kernel gives numbers again.
"""

import os
from pathlib import Path

_START_FIELD = 19
"""Of ``/proc/PID/stat`` behind the name in parentheses: field 22, ``starttime``, proc(5)."""


def own() -> str:
    """Return what tells this process on this machine: two numbers with a dot between."""
    return f"{os.getpid()}.{_born(os.getpid())}"


def is_gone(owner: str) -> bool:
    """Whether a process of this machine has ended, by what :func:`own` returned there."""
    number, _, born = owner.partition(".")
    return _born(int(number)) != int(born)


def _born(process: int) -> int | None:
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return None
    return int(text.rpartition(")")[2].split()[_START_FIELD])
