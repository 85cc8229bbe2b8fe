"""Reaction time to pauses: in the kernel's switch, and in Open vSwitch with the local agent.

Trials run in a process and a network namespace of their own, which leave nothing behind.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from etherweave.control.ebpf import attach
from etherweave.control.ovs import daemons
from etherweave.control.reaction_trials import Trial
from etherweave.linux import namespaces

TRIALS_MAX = 1000  # A trial takes about 0.3 s.
_START_S, _TRIAL_S = 60.0, 12.0  # Limits of the start and of each trial [s].
_MODULE = "etherweave.control.reaction_trials"


class ReactionError(RuntimeError):
    """Trials cannot be made; a sentence says why."""


class DataPlane(StrEnum):
    """The switch that obeys the pauses."""

    EBPF = "ebpf"  # The switch in the kernel, inside its lookup.
    OVS = "ovs"  # Open vSwitch, programmed by the local agent.


class TimeSpread(NamedTuple):
    """Times of several trials [us]; None: no trial has one."""

    min: float | None
    median: float | None
    max: float | None


class Reaction(NamedTuple):
    """Results of trials."""

    pause: TimeSpread  # Time from a PAUSE to the first frame at the alternative port.
    resume: TimeSpread  # Time from a PAUSE of no quanta to the first frame at the default port.
    expiry: TimeSpread  # Time from the end of the quanta to the first frame at the default port.
    trials: int
    missed: int  # Pauses, resumptions and expiries that showed no effect within 2 s.
    sent: int  # Frames.
    lost: int  # Frames that did not leave the switch.


def missing(plane: DataPlane) -> str | None:
    """Return what this machine lacks for the trials of a switch, or None."""
    if not namespaces.is_privileged():
        return "requires root, for a network namespace"
    if shutil.which("unshare") is None:
        return "unshare (util-linux) not installed"
    if plane is DataPlane.EBPF:
        return attach.missing()
    absent = daemons.missing()
    return f"{', '.join(absent)} not installed" if absent else None


def measure(
    plane: DataPlane, count: int, progress: Callable[[int], object] | None = None
) -> Reaction:
    """Measure the reaction of a switch.

    ``plane`` is the switch that obeys the pauses, ``count`` the number of trials, 1 to 1,000;
    ``progress`` is called with the number of trials done. Raises ``ReactionError`` if the machine
    lacks something, or the trials fail.
    """
    if not 1 <= count <= TRIALS_MAX:
        raise ReactionError(f"{count} trials: expected 1 to {TRIALS_MAX}")
    why_not = missing(plane)
    if why_not:
        raise ReactionError(f"{plane}: {why_not}")
    done = []
    for trial in _trials(plane, count):
        done.append(trial)
        if progress:
            progress(len(done))
    return summary(done)


def summary(trials: list[Trial]) -> Reaction:
    """Summarise trials."""
    pause = [trial.pause_us for trial in trials]
    resume = [trial.resume_us for trial in trials]
    expiry = [trial.expiry_us for trial in trials]
    return Reaction(
        _spread(pause),
        _spread(resume),
        _spread(expiry),
        trials=len(trials),
        missed=(pause + resume + expiry).count(None),
        sent=sum(trial.sent for trial in trials),
        lost=sum(trial.lost for trial in trials),
    )


def _spread(times_us: list[float | None]) -> TimeSpread:
    measured = [time_us for time_us in times_us if time_us is not None]
    if not measured:
        return TimeSpread(None, None, None)
    return TimeSpread(min(measured), statistics.median(measured), max(measured))


def _trials(plane: DataPlane, count: int) -> Iterator[Trial]:
    with tempfile.TemporaryDirectory(prefix="ew-reaction-") as directory:
        errors = Path(directory) / "errors"
        with (
            errors.open("w") as error_file,
            subprocess.Popen(
                _command(plane, count),
                stdout=subprocess.PIPE,
                stderr=error_file,
                text=True,
                env=os.environ | {"TMPDIR": directory},
            ) as process,
        ):
            assert process.stdout is not None, "asked for"
            for line in process.stdout:
                yield Trial(*json.loads(line))
        if process.returncode:
            lines = errors.read_text().strip().splitlines()
            why = lines[-1] if lines else f"ended with {process.returncode}"
            raise ReactionError(f"{plane}: {why}")


def _command(plane: DataPlane, count: int) -> list[str]:
    """Write the command of the trials: processes, namespaces and mounts end with it."""
    limit_s = _START_S + _TRIAL_S * count
    limited = ["timeout", "--foreground", "--signal=KILL", str(limit_s)]
    alone = ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]
    return [*limited, *alone, sys.executable, "-m", _MODULE, plane, str(count)]
