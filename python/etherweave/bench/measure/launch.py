"""One launch: processes that end with us, whatever happens."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from etherweave.bench.measure.errors import LaunchError

GRACE_S = 5.0
"""Launchers may take so long to end what they have started [s]."""
LATE_S = 30.0
"""The executor ends itself at the time limit; after so much more it is ended [s]."""
POLL_S = 0.1

Tell = Callable[[float], None]
"""Takes how long a launch has taken so far [s]."""


def launch(words: Sequence[str], limit_s: float, log: Path, tell: Tell) -> float:
    """Start a command and wait for its end.

    Parameters
    ----------
    words
        The command; no shell reads it.
    limit_s
        Longest that it may take, beyond which it is ended [s].
    log
        Takes what it prints.
    tell
        Called now and then.

    Returns
    -------
    float
        Real time that it took [s].

    Raises
    ------
    LaunchError
        When it cannot be started, fails, or takes too long; with the end of what it printed.
    """
    started = time.monotonic()
    with log.open("wb") as out:
        process = _started(words, out.fileno())
        try:
            _wait(process, started, limit_s + LATE_S, tell)
        finally:
            end(process)
    took_s = time.monotonic() - started
    if process.returncode != 0:
        raise LaunchError(f"{words[0]} ends with {process.returncode}:\n{_tail(log)}")
    return took_s


def _started(words: Sequence[str], out: int) -> subprocess.Popen[bytes]:
    try:
        # In a session of its own: Ctrl-C reaches us alone, and we end it in order.
        return subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        )
    except OSError as error:
        raise LaunchError(f"{words[0]}: {error.strerror}") from None


def _wait(process: subprocess.Popen[bytes], started: float, limit_s: float, tell: Tell) -> None:
    while True:
        try:
            process.wait(POLL_S)
        except subprocess.TimeoutExpired:
            took_s = time.monotonic() - started
            tell(took_s)
            if took_s > limit_s:
                raise LaunchError(
                    f"no end after {took_s:.0f} s; expected a schedule that ends "
                    "within --time-limit"
                ) from None
        else:
            return


def end(process: subprocess.Popen[bytes]) -> None:
    """End a launcher and its ranks: ask it first, then end its whole session's group."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _tail(log: Path, lines: int = 12) -> str:
    said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    ours = [line for line in said if line.startswith("executor")]
    return "\n".join(ours or said[-lines:]) or "it printed nothing"
