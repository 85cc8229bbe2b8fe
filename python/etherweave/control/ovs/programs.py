"""The programs of Open vSwitch, run one at a time."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

NEEDED = ("ovsdb-tool", "ovsdb-server", "ovs-vsctl", "ovs-vswitchd", "ovs-ofctl")
"""What a fabric of bridges takes."""
TIMEOUT_S = 120.0
"""Longest that a program may take [s]."""
_DAEMON_PATHS = ("/usr/sbin", "/usr/local/sbin", "/sbin")
"""Where daemons lie that are on the path of root only."""


class OvsError(Exception):
    """Open vSwitch is missing, or refuses what it was told."""


def missing() -> list[str]:
    """Name the programs that this machine lacks."""
    return [name for name in NEEDED if _find(name) is None]


def run(
    program: str,
    *arguments: str,
    text: str = "",
    ends: Sequence[int] = (0,),
    sockets: Path | None = None,
) -> str:
    """Run a program to its end and return what it prints.

    Parameters
    ----------
    program
        Its name.
    arguments
        Given as they are; no shell reads them.
    text
        Its standard input.
    ends
        Exit codes that are no failure.
    sockets
        Where a daemon puts the sockets of its bridges; none: where the machine's own does.

    Raises
    ------
    OvsError
        If the program is missing, takes longer than ``TIMEOUT_S`` or fails.
    """
    path = _find(program)
    if path is None:
        raise OvsError(f"{program}: not found; expected Open vSwitch (openvswitch-switch)")
    try:
        done = subprocess.run(
            [path, *arguments],
            input=text,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            env=os.environ | ({"OVS_RUNDIR": str(sockets)} if sockets else {}),
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise OvsError(f"{program}: no end after {TIMEOUT_S:.0f} s") from None
    if done.returncode not in ends:
        raise OvsError(f"{program} ends with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def _find(program: str) -> str | None:
    known = os.environ.get("PATH", os.defpath)
    return shutil.which(program, path=os.pathsep.join((known, *_DAEMON_PATHS)))
