"""Commands of Slurm, and the state of its jobs; works without accounting."""

import re
import subprocess

_PATIENCE_S = 60.0
_STATE = re.compile(r"\bJobState=(\S+)")


class SlurmError(Exception):
    """A command of Slurm failed; the text is the reason."""


def slurm(*words: str, patience_s: float = _PATIENCE_S) -> str:
    """Carry out a command of Slurm and return what it prints; raises ``SlurmError``."""
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=patience_s
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SlurmError(f"{words[0]}: {error}") from None
    if done.returncode:
        raise SlurmError(f"{words[0]}: {' '.join(done.stderr.split())}")
    return done.stdout


def lives(number: str) -> bool:
    """Whether a job still exists."""
    try:
        return bool(slurm("squeue", "--noheader", f"--jobs={number}", "--format=%i").strip())
    except SlurmError:
        return False  # An old number is an error to squeue.


def fate(number: str) -> str:
    """Write how a job ended, for which Slurm keeps it a while."""
    try:
        states = set(_STATE.findall(slurm("scontrol", "--oneliner", "show", "job", number)))
    except SlurmError as error:
        return str(error)
    return f"ended as {', '.join(sorted(states))}"
