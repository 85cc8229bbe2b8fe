"""A database and a switch daemon of Open vSwitch in a directory of their own.

They are independent of an Open vSwitch that the machine may run: every
socket, file and log is in the directory. They are stopped by the process numbers written there.
"""

import contextlib
import os
import select
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

_SOCKET_PATH_MAX = 107  # Longest name of a Unix socket [octets], unix(7).
_SOCKET_NAME_MAX = len("/run/") + 32  # Room for a bridge's name and ``.mgmt`` below the directory.
_PATIENCE_S = 5.0  # Longest wait for a daemon to end before it is killed [s].


class Datapath(StrEnum):
    """Datapath that forwards packets."""

    DUMMY = "dummy"  # Nothing: packets are injected and traced, without interfaces and privileges.
    NETDEV = "netdev"  # Threads of the daemon, between network interfaces; requires root.


@dataclass(frozen=True, slots=True)
class Daemons:
    """A running Open vSwitch."""

    directory: Path  # Absolute; holds ``db``, ``run`` and ``log``.
    datapath: Datapath

    @property
    def database(self) -> str:
        """The database's address, in the form of the tools."""
        return f"unix:{self.directory}/run/db.sock"

    @property
    def control(self) -> Path:
        """The switch daemon's control socket."""
        return self.directory / "run" / "vswitchd.ctl"

    def management(self, bridge: str) -> str:
        """Return a bridge's OpenFlow address, in the form of the tools."""
        return f"unix:{self.directory}/run/{bridge}.mgmt"

    def configure(self, *arguments: str) -> str:
        """Run ``ovs-vsctl`` once, and wait until the switch daemon has applied the change."""
        return run("ovs-vsctl", f"--db={self.database}", *arguments)


@contextlib.contextmanager
def running(datapath: Datapath, keep: Path | None = None) -> Iterator[Daemons]:
    """Run Open vSwitch within the block.

    ``keep`` is a directory for its files, which stay afterwards; by default one that is removed.
    """
    directory = keep or Path(tempfile.mkdtemp(prefix="ew-ovs-"))
    try:
        yield start(directory, datapath)
    finally:
        stop(directory)
        if keep is None:
            shutil.rmtree(directory)


def start(directory: Path, datapath: Datapath) -> Daemons:
    """Start Open vSwitch in a directory without one; only ``stop`` ends it.

    Raises ``OvsError`` if the directory's name is too long, if it is in use or has files of others,
    or if a daemon does not start.
    """
    directory = directory.absolute()
    _check(directory)
    for name in ("db", "run", "log"):
        (directory / name).mkdir(parents=True, exist_ok=True)
    daemons = Daemons(directory, datapath)
    database = directory / "db" / "conf.db"
    database.unlink(missing_ok=True)
    try:
        run("ovsdb-tool", "create", str(database))
        remote = f"--remote=p{daemons.database}"
        run("ovsdb-server", str(database), remote, *_options(directory, "ovsdb-server"))
        daemons.configure("--no-wait", "init")
        options = [*_options(directory, "vswitchd"), *_isolation(datapath)]
        run("ovs-vswitchd", daemons.database, *options, sockets=directory / "run")
    except BaseException:
        stop(directory)
        raise
    return daemons


def stop(directory: Path) -> None:
    """Stop the daemons of a directory, if they run."""
    for name in ("vswitchd", "ovsdb-server"):
        pid = _pid(directory.absolute(), name)
        if pid is not None:
            _end(pid)


def is_running(directory: Path) -> bool:
    """Return whether a daemon runs in a directory."""
    return any(_pid(directory.absolute(), name) for name in ("vswitchd", "ovsdb-server"))


def _check(directory: Path) -> None:
    length = len(os.fsencode(directory)) + _SOCKET_NAME_MAX
    if length > _SOCKET_PATH_MAX:
        most = _SOCKET_PATH_MAX - _SOCKET_NAME_MAX
        raise OvsError(f"{directory}: too long for sockets in it; expected at most {most} octets")
    is_own = (directory / "log" / "vswitchd.log").exists()
    if directory.exists() and any(directory.iterdir()) and not is_own:
        raise OvsError(f"{directory}: has files of others; expected none, or those of a run before")
    if is_running(directory):
        raise OvsError(f"{directory}: an Open vSwitch runs here; expected another directory")


def _options(directory: Path, name: str) -> list[str]:
    return [
        f"--pidfile={_pid_file(directory, name)}",
        f"--unixctl={directory}/run/{name}.ctl",
        f"--log-file={directory}/log/{name}.log",
        "-vconsole:err",
        "--detach",
        "--no-chdir",
    ]


def _isolation(datapath: Datapath) -> list[str]:
    """Do not use a datapath and routes of the machine's kernel."""
    dummy = ["--enable-dummy"] if datapath is Datapath.DUMMY else []
    return [*dummy, "--disable-system", "--disable-system-route"]


def _pid_file(directory: Path, name: str) -> Path:
    return directory / "run" / f"{name}.pid"


def _pid(directory: Path, name: str) -> int | None:
    """Return a daemon's process number, if that process is still this daemon."""
    file = _pid_file(directory, name)
    try:
        pid = int(file.read_text())
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (OSError, ValueError):
        return None
    return pid if f"--pidfile={file}".encode() in words else None


def _end(pid: int) -> None:
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        for sign in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(process, sign)
            if select.select([process], [], [], _PATIENCE_S)[0]:
                return
    finally:
        os.close(process)


NEEDED = ("ovsdb-tool", "ovsdb-server", "ovs-vsctl", "ovs-vswitchd", "ovs-ofctl")
"""Programs that bridges need."""
TIMEOUT_S = 120.0  # Longest that a program may take [s].
_DAEMON_PATHS = ("/usr/sbin", "/usr/local/sbin", "/sbin")
"""Directories of daemons, which are in the PATH of root only."""


class OvsError(Exception):
    """Open vSwitch is missing, or rejects a command."""


def missing() -> list[str]:
    """Return the names of the programs that this machine lacks."""
    return [name for name in NEEDED if _find(name) is None]


def run(
    program: str,
    *arguments: str,
    text: str = "",
    ends: Sequence[int] = (0,),
    sockets: Path | None = None,
) -> str:
    """Run a program to its end and return what it prints.

    Arguments are passed unchanged, without a shell; ``text`` is its standard input, ``ends`` are
    the exit codes of success. ``sockets`` is the directory for the sockets of a daemon's bridges;
    by default the machine's. Raises ``OvsError`` if the program is missing, takes longer than
    ``TIMEOUT_S`` or fails.
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
