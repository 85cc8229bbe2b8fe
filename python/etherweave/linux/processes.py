"""Processes, by a namespace, a file or a variable they inherit, and signals that end them.

The kernel reuses process numbers, so that a process is identified by its number and start time, and
is held by a descriptor (``pidfd_open(2)``) between its identification and its end.
"""

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import NamedTuple

PATIENCE_S = 3.0  # Longest wait for processes to end before they are killed [s].
MARK = "ETHERWEAVE_LAUNCH"
"""Variable that marks what one process has started, whatever group or session it is in."""
ENDINGS = (signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU, signal.SIGUSR1, signal.SIGUSR2)
"""Signals that end a process beside Ctrl-C: of batch systems, which also warn of the end by the
last three, and of terminals that close."""
_PAUSE_S = 0.01
_START_FIELD = 19
"""Index in ``/proc/PID/stat`` after the name: field 22, ``starttime``, of proc(5)."""


@contextlib.contextmanager
def handled(
    numbers: Iterable[signal.Signals], handler: Callable[[int, FrameType | None], object]
) -> Iterator[None]:
    """Call a function at signals while the block lasts, in the main thread."""
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


@contextlib.contextmanager
def ending() -> Iterator[socket.socket]:
    """Give a socket that becomes readable on SIGTERM or SIGINT, which do nothing else."""
    stop, bell = socket.socketpair()
    bell.setblocking(False)
    with stop, bell, handled((signal.SIGTERM, signal.SIGINT), lambda *_: None):
        woken = signal.set_wakeup_fd(bell.fileno())
        try:
            yield stop
        finally:
            signal.set_wakeup_fd(woken)


class Process(NamedTuple):
    """A process and its start time."""

    pid: int
    start: int  # Time since the machine's boot [ticks].


def process(pid: int) -> Process | None:
    """Identify a process; None if it does not exist or has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else Process(pid, int(fields[_START_FIELD]))


def identity() -> str:
    """Return the identity of this process on this machine: its number and its time of start."""
    own = process(os.getpid())
    return f"{os.getpid()}.{own.start if own else 0}"


def has_ended(owner: str) -> bool:
    """Whether a process of this machine has ended, by what :func:`identity` returned there."""
    pid, _, start = owner.partition(".")
    return process(int(pid)) != (int(pid), int(start))


def write(file: Path, pid: int) -> None:
    """Write a process into a file."""
    named = process(pid)
    file.write_text(f"{pid} {named.start if named else 0}\n")


def read(file: Path) -> Process | None:
    """Return the process of a file if it still runs."""
    try:
        pid, start = map(int, file.read_text().split())
    except (OSError, ValueError):
        return None
    return Process(pid, start) if process(pid) == (pid, start) else None


def count_by_namespace() -> Counter[tuple[int, int]]:
    """Count the processes of every network namespace."""
    return Counter(name for name in map(_namespace, _numbers()) if name)


def inhabitants(namespaces: Iterable[tuple[int, int]]) -> list[Process]:
    """Find the processes in network namespaces, except this one."""
    members = frozenset(namespaces)
    processes = (
        process(pid) for pid in _numbers() if pid != os.getpid() and _namespace(pid) in members
    )
    return [child for child in processes if child]


def marked(variable: str, value: str) -> list[Process]:
    """Find the processes that were started with a variable in their environment."""
    entry = f"{variable}={value}".encode()
    processes = (process(pid) for pid in _numbers() if _has_entry(pid, entry))
    return [child for child in processes if child]


def _numbers() -> Iterator[int]:
    return (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())


def _has_entry(pid: int, entry: bytes) -> bool:
    with contextlib.suppress(OSError):
        return entry in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return False


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

    Only processes that still have the same start time are ended; each signal is given
    :data:`PATIENCE_S`.
    """
    with contextlib.ExitStack() as stack:
        running: list[int] = []
        for child in processes:
            with contextlib.suppress(ProcessLookupError):
                running.append(stack.enter_context(_held(child)))
        for number in signals:
            for descriptor in running:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(descriptor, number)
            running = _still_running(running)


def end_marked(variable: str, value: str, grace_s: float) -> None:
    """End all processes with a variable, also those that start meanwhile: ask, then kill.

    Children inherit the variable of their environment; ``grace_s`` is the longest time between
    SIGTERM and SIGKILL [s].
    """
    _signal(marked(variable, value), signal.SIGTERM)
    asked = time.monotonic()
    while marked(variable, value) and time.monotonic() < asked + grace_s:
        time.sleep(_PAUSE_S)
    killed = time.monotonic()
    # The kernel may hold a killed process for a while.
    while (own := marked(variable, value)) and time.monotonic() < killed + PATIENCE_S:
        _signal(own, signal.SIGKILL)
        time.sleep(_PAUSE_S)


@contextlib.contextmanager
def ended_with() -> Iterator[dict[str, str]]:
    """Give a variable for the environment of what is started in a block, and ends with it.

    Whoever has the variable ends when the block does, and when this process is killed: a process
    beside it, which inherits nothing else, waits for that.
    """
    mark = uuid.uuid4().hex
    words = [sys.executable, "-I", "-S", __file__, mark]
    watcher = subprocess.Popen(words, stdin=subprocess.PIPE, start_new_session=True)
    try:
        yield {MARK: mark}
    finally:
        end_marked(MARK, mark, PATIENCE_S)
        assert watcher.stdin, "it has a pipe"
        watcher.stdin.close()
        watcher.wait()


def _watch(mark: str) -> None:
    """Wait until the process at the other end of standard input is gone; end what it started."""
    for number in (signal.SIGINT, *ENDINGS):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    end_marked(MARK, mark, PATIENCE_S)


def _signal(processes: Iterable[Process], number: signal.Signals) -> None:
    for child in processes:
        with contextlib.suppress(OSError), _held(child) as descriptor:
            signal.pidfd_send_signal(descriptor, number)


@contextlib.contextmanager
def _held(own: Process) -> Iterator[int]:
    """Hold a process by a descriptor; raises ProcessLookupError if it has ended."""
    descriptor = os.pidfd_open(own.pid)
    try:
        if process(own.pid) != own:
            raise ProcessLookupError(own.pid)
        yield descriptor
    finally:
        os.close(descriptor)


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


if __name__ == "__main__":
    _watch(sys.argv[1])
