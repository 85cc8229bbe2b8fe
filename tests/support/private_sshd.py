"""An sshd on loopback with keys of its own: the hosts n1 and n2, both this machine."""

import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.ports import free_ports

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
_PATIENCE_S = 120.0
_SERVER = """\
ListenAddress 127.0.0.1:{port}
HostKey {directory}/key
AuthorizedKeysFile {directory}/key.pub
PidFile none
StrictModes no
UsePAM no
SetEnv HOME={directory}
AcceptEnv TMPDIR
"""
"""A user's own profile would be read at each login: half a second on some machines."""
_CLIENT = """\
Host n1 n2
    HostName 127.0.0.1
    Port {port}
    User {user}
    IdentityFile {directory}/key
    IdentitiesOnly yes
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
    LogLevel ERROR
Host n1
    SetEnv TMPDIR={directory}/n1
Host n2
    SetEnv TMPDIR={directory}/n2
"""
"""Each host has temporary files of its own: Open MPI's daemons make directories of one name."""


@contextmanager
def running(directory: Path) -> Iterator[Path]:
    """Let it run while the block lasts; gives the file that ssh takes by ``-F``."""
    port = _prepare(directory)
    words = [str(SSHD), "-D", "-e", "-f", str(directory / "server")]
    with (
        (directory / "log").open("wb") as log,
        subprocess.Popen(words, stderr=log, stdin=subprocess.DEVNULL) as daemon,
    ):
        try:
            _await(port, directory / "log")
            yield directory / "client"
        finally:
            daemon.terminate()


def _prepare(directory: Path) -> int:
    (port,) = free_ports(1)
    key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(directory / "key")]
    subprocess.run(key, check=True, stdin=subprocess.DEVNULL)
    values = {"port": port, "directory": directory, "user": getpass.getuser()}
    (directory / "server").write_text(_SERVER.format(**values))
    (directory / "client").write_text(_CLIENT.format(**values))
    for host in ("n1", "n2"):
        (directory / host).mkdir()
    Path("/run/sshd").mkdir(exist_ok=True)  # Where sshd shuts its unprivileged half in.
    return port


def _await(port: int, log: Path) -> None:
    end = time.monotonic() + _PATIENCE_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.02)
