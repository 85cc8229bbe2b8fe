"""Waits until a server listens, without touching it: its host's tables of sockets tell.

A connection for a trial would be the only one that ``iperf3 -s -1`` serves.
"""

import random
import subprocess
import time
from collections.abc import Callable

from etherweave.bench.launchers.family import Family, OverdueError

TABLES = ("cat", *(f"/proc/net/{name}" for name in ("tcp", "tcp6", "udp", "udp6")))
"""Prints the sockets of a host; a host without IPv6 has fewer tables."""
_LISTENS, _UNCONNECTED = "0A", "07"
"""States of sockets of TCP that listen, and of UDP that receive from anyone."""
_PORTS = range(20_000, 30_000)
"""Below those that Linux gives to clients."""
_PAUSE_S = 0.02


def ports(tables: str) -> frozenset[int]:
    """Return the ports at which a host listens, from its tables (proc(5), ``/proc/net/tcp``)."""
    rows = (line.split() for line in tables.splitlines())
    sockets = [row for row in rows if len(row) > 3 and row[0].endswith(":")]
    open_to_all = (row[1] for row in sockets if row[3] in (_LISTENS, _UNCONNECTED))
    return frozenset(int(local.rpartition(":")[2], 16) for local in open_to_all)


def free(taken: frozenset[int]) -> int:
    """Choose a port that nobody listens at."""
    # Any is as good: no result depends on it.
    return random.choice([port for port in _PORTS if port not in taken])


def wait(
    family: Family,
    server: subprocess.Popen[bytes],
    look: Callable[[], frozenset[int]],
    is_there: Callable[[frozenset[int]], bool],
) -> bool:
    """Wait until a server listens; return whether it does, rather than having ended.

    Raises
    ------
    OverdueError
        When the limit of the launch comes first.
    """
    while server.poll() is None:
        if is_there(look()):
            return True
        if family.left_s < _PAUSE_S:
            raise OverdueError
        time.sleep(_PAUSE_S)
    return False
