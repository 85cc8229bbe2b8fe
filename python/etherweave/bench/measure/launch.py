"""One launch: told of while it lasts, and what went wrong in it."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from etherweave.bench.launchers.launcher import Ending, Launcher, LaunchJob, LaunchOutcome
from etherweave.bench.measure.errors import LaunchError

LATE_S = 30.0
"""The executor ends itself at the time limit; after so much more it is ended [s]."""
_EVERY_S = 0.1
_LINES = 12
"""Of what processes said."""

Tell = Callable[[float], None]
"""Takes how long a launch has taken so far [s]."""


def launch(launcher: Launcher, job: LaunchJob, tell: Tell) -> LaunchOutcome:
    """Carry out a job.

    Parameters
    ----------
    launcher, job
        What starts what.
    tell
        Called now and then, by another thread.

    Raises
    ------
    LaunchError
        When it cannot be started, fails, or takes too long; with the end of what it printed.
    KeyboardInterrupt
        When the user ended it.
    """
    with _telling(tell):
        outcome = launcher.launch(job)
    match outcome.ending:
        case Ending.DONE:
            return outcome
        case Ending.INTERRUPTED:
            raise KeyboardInterrupt
        case Ending.TIMED_OUT:
            took_s = (outcome.end_ns - outcome.start_ns) / 1e9
            raise LaunchError(
                f"no end after {took_s:.0f} s; expected a schedule that ends within --time-limit"
            )
        case Ending.FAILED:
            raise LaunchError(f"launcher {launcher.name} failed:\n{_said(outcome)}")


@contextmanager
def _telling(tell: Tell) -> Iterator[None]:
    over, started = threading.Event(), time.monotonic()

    def now_and_then() -> None:
        while not over.wait(_EVERY_S):
            tell(time.monotonic() - started)

    thread = threading.Thread(target=now_and_then, name="progress of a launch")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _said(outcome: LaunchOutcome) -> str:
    lines = f"{outcome.text}\n{outcome.errors}".strip().splitlines()
    ours = [line for line in lines if line.startswith("executor")]
    return "\n".join(ours or lines[-_LINES:]) or "it printed nothing"
