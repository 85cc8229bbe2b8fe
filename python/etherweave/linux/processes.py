"""Processes of a lab: found by their namespace or by a file, and ended; nobody else's.

A number is not enough, since the kernel gives numbers again: the time of the start belongs to it,
and between looking and ending the process is held by a descriptor (``pidfd_open(2)``).
"""

import contextlib
import os
import select
import signal
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

PATIENCE_S = 3.0
"""How long processes may take to end before they are killed [s]."""
_START_FIELD = 19
"""Of ``/proc/PID/stat`` behind the name in parentheses: field 22, ``starttime``, proc(5)."""


class Process(NamedTuple):
    """A process and when it was started."""

    pid: int
    start: int
    """Since the machine's start [ticks]."""


def process(pid: int) -> Process | None:
    """Identify a running process; none: there is none, or it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else Process(pid, int(fields[_START_FIELD]))


def write(file: Path, pid: int) -> None:
    """Note a process in a file."""
    one = process(pid)
    file.write_text(f"{pid} {one.start if one else 0}\n")


def read(file: Path) -> Process | None:
    """Return the process of a file, if it is still that process."""
    try:
        pid, start = map(int, file.read_text().split())
    except (OSError, ValueError):
        return None
    return Process(pid, start) if process(pid) == (pid, start) else None


def count_by_namespace() -> Counter[tuple[int, int]]:
    """Count the processes of every network namespace."""
    numbers = (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())
    return Counter(identity for identity in map(_namespace, numbers) if identity)


def inhabitants(namespaces: Iterable[tuple[int, int]]) -> list[Process]:
    """Find the processes that live in network namespaces, but for this one."""
    wanted = frozenset(namespaces)
    numbers = (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())
    processes = (
        process(pid) for pid in numbers if pid != os.getpid() and _namespace(pid) in wanted
    )
    return [one for one in processes if one]


def _namespace(pid: int) -> tuple[int, int] | None:
    try:
        status = Path(f"/proc/{pid}/ns/net").stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def end(processes: Iterable[Process]) -> None:
    """End processes, politely first; returns when they are gone."""
    with contextlib.ExitStack() as stack:
        held: list[int] = []
        for one in processes:
            with contextlib.suppress(ProcessLookupError):
                descriptor = os.pidfd_open(one.pid)
                stack.callback(os.close, descriptor)
                if process(one.pid) == one:
                    held.append(descriptor)
        for sign in (signal.SIGTERM, signal.SIGKILL):
            for descriptor in held:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(descriptor, sign)
            held = _left(held)


def _left(held: list[int]) -> list[int]:
    """Wait until all have ended, but not for ever."""
    poll = select.poll()
    waiting = set(held)
    for descriptor in held:
        poll.register(descriptor, select.POLLIN)
    while waiting and (ended := poll.poll(PATIENCE_S * 1000)):
        for descriptor, _ in ended:
            poll.unregister(descriptor)
            waiting.discard(descriptor)
    return sorted(waiting)
