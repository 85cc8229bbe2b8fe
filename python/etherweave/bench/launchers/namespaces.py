"""Network namespaces on a bridge, each link shaped at both ends: made and removed."""

import contextlib
import re
import shutil
import signal
import subprocess
import uuid
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Interface
from typing import NamedTuple

from etherweave.bench.launchers.site_launcher import LauncherError
from etherweave.linux import namespaces, processes
from etherweave.linux.links import Links, VethEnd, set_congestion_control, shape

INTERFACE = "h0"  # Interface of every host.
_PREFIX = "ew-bench"
_OWNED = re.compile(rf"{_PREFIX}\.(\d+\.\d+)\.[0-9a-f]+\..+")
_LATENCY_S = 5e-3  # How long a shaped frame may wait before it is dropped [s].
_SEGMENTS = 128 * 1024  # Smallest queue: TCP sends two segments of 64 KiB before it reacts [bytes].
_LENGTH = 16  # Length of the hosts' network prefix [bits].


class TokenBucket(NamedTuple):
    """Rate and burst of a link, counted with Ethernet's header."""

    rate: float  # [bytes/s]
    burst: float  # [bytes]


def missing() -> str:
    """Return what namespaces need and this machine lacks; empty when nothing."""
    gone = [name for name in ("ip", "tc", "unshare", "timeout") if shutil.which(name) is None]
    if gone:
        return f"not found: {', '.join(gone)}; expected iproute2, util-linux and coreutils"
    if why := namespaces.missing():
        return why
    trial = ["unshare", "--net", "--uts", "--mount", "true"]
    done = subprocess.run(trial, capture_output=True, text=True)
    return f"network namespaces: {done.stderr.strip()}" if done.returncode else ""


def own_prefix() -> str:
    """Return the prefix of the names of a launch, which identifies its process."""
    return f"{_PREFIX}.{processes.identity()}.{uuid.uuid4().hex[:8]}."


@contextlib.contextmanager
def created(
    prefix: str, addresses: Mapping[str, str], bucket: TokenBucket, congestion_control: str = "reno"
) -> Iterator[None]:
    """Create hosts, which exist while the block lasts.

    ``bucket`` is rate and burst of each link, in each direction. ``congestion_control`` of TCP is
    stated, as namespaces would inherit the machine's, and machines differ; it is allowed in
    namespaces of all of them. Raises ``LauncherError`` when the system rejects a call.
    """
    sweep()
    switch = f"{prefix}-switch"  # No host's name begins so.
    spaces = [switch, *(prefix + host for host in addresses)]
    try:
        with _errors():
            namespaces.create(spaces)
            _connect(switch, spaces[1:])
            for number, (host, address) in enumerate(addresses.items()):
                _start_host(prefix + host, address, congestion_control)
                for space, name in ((prefix + host, INTERFACE), (switch, f"p{number}")):
                    limit = bucket.rate * _LATENCY_S + max(bucket.burst, _SEGMENTS)
                    shape(space, name, bucket.rate, bucket.burst, limit)
        yield
    finally:
        remove(spaces)


def _connect(switch: str, hosts: Sequence[str]) -> None:
    with namespaces.inside(switch), Links() as links:
        links.add_bridge("bridge")
        links.set_up("bridge")
        for number, host in enumerate(hosts):
            links.add_veth(f"p{number}", VethEnd(INTERFACE, host))
            links.set_up(f"p{number}", bridge="bridge")


def _start_host(space: str, address: str, congestion_control: str) -> None:
    with namespaces.inside(space), Links() as links:
        links.assign(INTERFACE, IPv4Interface(f"{address}/{_LENGTH}"))
        for name in ("lo", INTERFACE):
            links.set_up(name)
        set_congestion_control(congestion_control)


def remove(spaces: list[str]) -> None:
    """Remove namespaces, with their interfaces and the processes in them."""
    identities = filter(None, map(namespaces.identity, spaces))
    with contextlib.suppress(namespaces.NamespaceError):
        processes.terminate(processes.inhabitants(identities), (signal.SIGKILL,))
        namespaces.remove(spaces)


def sweep() -> None:
    """Remove the namespaces of launches whose process does not run any more."""
    remove([name for name in namespaces.existing() if _is_orphan(name)])


def _is_orphan(space: str) -> bool:
    owner = _OWNED.fullmatch(space)
    return owner is not None and processes.has_ended(owner[1])


@contextlib.contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except namespaces.NamespaceError as error:
        raise LauncherError(str(error)) from None
