"""One launch, with progress reports and the error when it fails."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from etherweave.bench.launchers.launcher import Ending, Launcher, LaunchJob, LaunchOutcome
from etherweave.bench.measure.errors import MeasureLaunchError

LATE_S = 30.0
"""Time after the limit, at which the executor ends itself, until its processes are killed [s]."""
_EVERY_S = 0.1
_LINES = 12
"""Number of last output lines in an error."""

Report = Callable[[float], None]
"""Takes the time since the start of a launch [s]."""


def launch(launcher: Launcher, job: LaunchJob, report: Report) -> LaunchOutcome:
    """Launch a job and wait for its end.

    Parameters
    ----------
    launcher, job
        How to start it, and what to start.
    report
        Called ten times a second, by another thread.

    Raises
    ------
    MeasureLaunchError
        When it cannot be started, fails, or takes too long; with its last output.
    KeyboardInterrupt
        When the user ended it.
    """
    with _reporting(report):
        outcome = launcher.launch(job)
    match outcome.ending:
        case Ending.DONE:
            return outcome
        case Ending.INTERRUPTED:
            raise KeyboardInterrupt
        case Ending.TIMED_OUT:
            took_s = (outcome.end_ns - outcome.start_ns) / 1e9
            raise MeasureLaunchError(
                f"no end after {took_s:.0f} s; expected a schedule that ends within --time-limit"
            )
        case Ending.FAILED:
            raise MeasureLaunchError(f"launcher {launcher.name} failed:\n{_last_lines(outcome)}")


@contextmanager
def _reporting(report: Report) -> Iterator[None]:
    over, started = threading.Event(), time.monotonic()

    def periodically() -> None:
        while not over.wait(_EVERY_S):
            report(time.monotonic() - started)

    thread = threading.Thread(target=periodically, name="progress of a launch")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _last_lines(outcome: LaunchOutcome) -> str:
    lines = f"{outcome.text}\n{outcome.errors}".strip().splitlines()
    own = [line for line in lines if line.startswith("executor")]
    return "\n".join(own or lines[-_LINES:]) or "it printed nothing"
