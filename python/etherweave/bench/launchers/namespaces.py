"""Network namespaces on a bridge, each link shaped at both ends: made and removed."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from etherweave.bench.launchers import processes
from etherweave.bench.launchers.site_launcher import LauncherError

INTERFACE = "h0"
"""Of every host."""
_NAMED = Path("/run/netns")
_PREFIX = "ew-bench"
_OWNED = re.compile(rf"{_PREFIX}\.(\d+\.\d+)\.[0-9a-f]+\..+")
_LATENCY_S = 5e-3
"""How long a shaped frame may wait before it is dropped [s]."""
_SEGMENTS = 128 * 1024
"""That may wait in any case: TCP hands over two segments of 64 KiB before it heeds [bytes]."""
_CONTROL = "/proc/sys/net/ipv4/tcp_congestion_control"
_LENGTH = 16
"""Of the hosts' network prefix [bits]."""
_PATIENCE_S = 30.0


class Shape(NamedTuple):
    """What a token bucket lets through, counted with Ethernet's header."""

    rate: float
    """[bytes/s]"""
    burst: float
    """[bytes]"""


def missing() -> str:
    """Tell what namespaces need; empty when it is there."""
    gone = [
        name
        for name in ("ip", "tc", "unshare", "nsenter", "tee", "timeout")
        if shutil.which(name) is None
    ]
    if gone:
        return f"not found: {', '.join(gone)}; expected iproute2, util-linux and coreutils"
    if os.geteuid() != 0:
        return "network namespaces take root; expected sudo"
    trial = ["unshare", "--net", "--uts", "--mount", "true"]
    done = subprocess.run(trial, capture_output=True, text=True)
    return f"network namespaces: {done.stderr.strip()}" if done.returncode else ""


def own_prefix() -> str:
    """Return the beginning of the names of a launch, which tells who made them."""
    return f"{_PREFIX}.{processes.process_identity()}.{uuid.uuid4().hex[:8]}."


@contextlib.contextmanager
def standing(
    prefix: str, addresses: Mapping[str, str], shape: Shape, congestion_control: str = "reno"
) -> Iterator[None]:
    """Let hosts stand while the block lasts.

    Parameters
    ----------
    prefix
        Of the names of their namespaces.
    addresses
        Of hosts by name.
    shape
        Of each link, in each direction.
    congestion_control
        Of TCP. Namespaces would inherit the machine's, and machines differ; this one is allowed
        in namespaces of all of them.

    Raises
    ------
    LaunchError
        When the system refuses.
    """
    sweep()
    switch = f"{prefix}-switch"  # No host's name begins so.
    spaces = [switch, *(prefix + host for host in addresses)]
    try:
        _batch([], _making(prefix, switch, addresses))
        _batch(["-n", switch], _bridging(len(addresses)))
        for number, (host, address) in enumerate(addresses.items()):
            _batch(["-n", prefix + host], _waking(address))
            _run([*_entering(prefix + host), "tee", _CONTROL], congestion_control)
            _run(_shaping(prefix + host, INTERFACE, shape))
            _run(_shaping(switch, f"p{number}", shape))
        yield
    finally:
        remove(spaces)


def _making(prefix: str, switch: str, hosts: Iterable[str]) -> Iterator[str]:
    yield f"netns add {switch}"
    for number, host in enumerate(hosts):
        yield f"netns add {prefix}{host}"
        cable = f"type veth peer name {INTERFACE} netns {prefix}{host}"
        yield f"link add p{number} netns {switch} {cable}"


def _bridging(ports: int) -> Iterator[str]:
    yield "link add bridge type bridge"
    yield "link set bridge up"
    yield from (f"link set p{number} master bridge up" for number in range(ports))


def _waking(address: str) -> Iterator[str]:
    yield f"address add {address}/{_LENGTH} dev {INTERFACE}"
    yield from (f"link set {name} up" for name in ("lo", INTERFACE))


def _entering(space: str) -> list[str]:
    return ["nsenter", f"--net={_NAMED / space}"]


def _shaping(space: str, interface: str, shape: Shape) -> list[str]:
    bucket = ["tbf", "rate", f"{shape.rate * 8:.0f}bit", "burst", f"{shape.burst:.0f}b"]
    limit = shape.rate * _LATENCY_S + max(shape.burst, _SEGMENTS)
    words = ["tc", "-n", space, "qdisc", "add", "dev", interface, "root"]
    return [*words, *bucket, "limit", f"{limit:.0f}b"]


def remove(spaces: list[str]) -> None:
    """Take namespaces away, with their interfaces and with those who live in them."""
    for space in spaces:
        if (_NAMED / space).exists():
            _empty(space)
            with contextlib.suppress(LauncherError):
                _run(["ip", "netns", "delete", space])


def _empty(space: str) -> None:
    done = subprocess.run(
        ["ip", "netns", "pids", space], capture_output=True, text=True, timeout=_PATIENCE_S
    )
    for number in done.stdout.split():
        with contextlib.suppress(OSError):
            os.kill(int(number), signal.SIGKILL)


def sweep() -> None:
    """Remove what launches left whose process is gone."""
    if _NAMED.is_dir():
        remove([path.name for path in _NAMED.iterdir() if _is_orphan(path.name)])


def _is_orphan(space: str) -> bool:
    owner = _OWNED.fullmatch(space)
    return owner is not None and processes.has_ended(owner[1])


def _batch(options: list[str], lines: Iterable[str]) -> None:
    _run(["ip", *options, "-batch", "-"], "".join(f"{line}\n" for line in lines))


def _run(words: list[str], text: str = "") -> None:
    try:
        done = subprocess.run(
            words, input=text, capture_output=True, text=True, timeout=_PATIENCE_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LauncherError(f"{words[0]}: {error}") from None
    if done.returncode:
        raise LauncherError(f"{' '.join(words[:3])}: {' '.join(done.stderr.split())}")
