"""Processes of this machine that carry a mark in their environment: found and ended.

A process may leave its group and its session, as daemons of MPI do; what it was born with stays.
"""

import contextlib
import os
import signal
import time
from pathlib import Path

from etherweave.bench.launchers.wrapping import GRACE_S

VARIABLE = "ETHERWEAVE_LAUNCH"
_PAUSE_S = 0.01
_PATIENCE_S = 5.0
"""For what was killed to be gone: the kernel may hold a process for a while [s]."""


def bearers(mark: str) -> list[int]:
    """Return the numbers of living processes with a mark."""
    wanted = f"{VARIABLE}={mark}".encode()
    numbers = (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())
    return [number for number in numbers if _bears(number, wanted)]


def _bears(number: int, wanted: bytes) -> bool:
    with contextlib.suppress(OSError):
        return wanted in Path(f"/proc/{number}/environ").read_bytes().split(b"\0")
    return False


def end(mark: str) -> None:
    """End all with a mark: ask them, then kill what is left."""
    _signal_all(mark, signal.SIGTERM)
    asked = time.monotonic()
    while bearers(mark) and time.monotonic() < asked + GRACE_S:
        time.sleep(_PAUSE_S)
    killed = time.monotonic()
    while _signal_all(mark, signal.SIGKILL) and time.monotonic() < killed + _PATIENCE_S:
        time.sleep(_PAUSE_S)


def _signal_all(mark: str, number: signal.Signals) -> int:
    """Signal all; return how many. A descriptor holds each: the kernel gives numbers again."""
    wanted = f"{VARIABLE}={mark}".encode()
    found = bearers(mark)
    for process in found:
        with contextlib.suppress(OSError):
            held = os.pidfd_open(process)
            try:
                if _bears(process, wanted):
                    signal.pidfd_send_signal(held, number)
            finally:
                os.close(held)
    return len(found)
