"""Processes, by their network namespace or by a file, and how to end exactly those.

The kernel reuses process numbers, so that a process is identified by its number and start time, and
is held by a descriptor (``pidfd_open(2)``) between its identification and its end.
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
"""Longest wait for processes to end before they are killed [s]."""
_START_FIELD = 19
"""Index in ``/proc/PID/stat`` after the name: field 22, ``starttime``, of proc(5)."""


class Process(NamedTuple):
    """A process and its start time."""

    pid: int
    start: int
    """Time since the machine's boot [ticks]."""


def process(pid: int) -> Process | None:
    """Identify a process; None if it does not exist or has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else Process(pid, int(fields[_START_FIELD]))


def write(file: Path, pid: int) -> None:
    """Write a process into a file."""
    one = process(pid)
    file.write_text(f"{pid} {one.start if one else 0}\n")


def read(file: Path) -> Process | None:
    """Return the process of a file if it still runs."""
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
    """Find the processes in network namespaces, except this one."""
    members = frozenset(namespaces)
    numbers = (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())
    processes = (
        process(pid) for pid in numbers if pid != os.getpid() and _namespace(pid) in members
    )
    return [one for one in processes if one]


def _namespace(pid: int) -> tuple[int, int] | None:
    try:
        status = Path(f"/proc/{pid}/ns/net").stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def terminate(
    processes: Iterable[Process],
    signals: Iterable[signal.Signals] = (signal.SIGTERM, signal.SIGKILL),
) -> None:
    """End processes by one signal after the other; returns when they have ended.

    Parameters
    ----------
    processes
        Those that still have the same start time.
    signals
        In order; each is given :data:`PATIENCE_S`.
    """
    with contextlib.ExitStack() as stack:
        running: list[int] = []
        for one in processes:
            with contextlib.suppress(ProcessLookupError):
                descriptor = os.pidfd_open(one.pid)
                stack.callback(os.close, descriptor)
                if process(one.pid) == one:
                    running.append(descriptor)
        for number in signals:
            for descriptor in running:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(descriptor, number)
            running = _still_running(running)


def _still_running(descriptors: list[int]) -> list[int]:
    """Wait until all have ended, at most :data:`PATIENCE_S` after the last that did."""
    poll = select.poll()
    running = set(descriptors)
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    while running and (ended := poll.poll(PATIENCE_S * 1000)):
        for descriptor, _ in ended:
            poll.unregister(descriptor)
            running.discard(descriptor)
    return sorted(running)
