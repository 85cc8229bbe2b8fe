"""Network namespaces: created, entered and removed.

A namespace has a name while a file below ``/run/netns`` is bound to it, as ``ip netns`` has it.
``ip -batch`` creates them, because pyroute2 forks a process for each namespace that it creates
(24 ms on 2 cores; ``ip -batch`` takes 0.5 ms). ``setns(2)`` and ``umount2(2)`` are called
directly: pyroute2 keeps the namespaces to return to in one list of the process, which threads of
a lab would mix up, and its ``remove`` ignores the error of an unmount.
"""

import contextlib
import ctypes
import errno
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import NoReturn

NAMED = Path("/run/netns")
_CLONE_NEWNS, _CLONE_NEWNET, _MNT_DETACH = 0x00020000, 0x40000000, 2
_MS_BIND, _MS_REC, _MS_SLAVE = 0x1000, 0x4000, 0x80000
_CAP_NET_ADMIN, _CAP_SYS_ADMIN = 12, 21  # Numbers of capabilities(7).
_HOSTS = "/etc/hosts"
_TIMEOUT_S = 60.0
_libc = ctypes.CDLL(None, use_errno=True)


class NamespaceError(Exception):
    """The system rejects an operation on a namespace or an interface; the message says why."""


def missing() -> str | None:
    """Return what this machine lacks to make namespaces, or None."""
    if not is_privileged():
        return "network namespaces require root, and in a container its capabilities; expected sudo"
    return None if shutil.which("ip") else "ip: not found; expected iproute2"


def is_privileged() -> bool:
    """Return whether the caller may set up networks and mount, as root outside containers may."""
    status = Path("/proc/self/status").read_text()
    (effective,) = (line.split()[1] for line in status.splitlines() if line.startswith("CapEff"))
    required = 1 << _CAP_NET_ADMIN | 1 << _CAP_SYS_ADMIN
    return os.geteuid() == 0 and int(effective, 16) & required == required


def existing() -> list[str]:
    """Return the names of all named namespaces."""
    return sorted(path.name for path in NAMED.iterdir()) if NAMED.is_dir() else []


def create(names: Iterable[str]) -> None:
    """Create namespaces; stops at the first that fails.

    Raises ``NamespaceError`` if one fails; those created before it stay.
    """
    text = "".join(f"netns add {name}\n" for name in names)
    carry_out("ip -batch", ["ip", "-batch", "-"], text)


def carry_out(what: str, words: Sequence[str], text: str = "") -> None:
    """Run a program of iproute2, with a text as its input.

    Raises ``NamespaceError`` if it fails; begins with what it should have done.
    """
    try:
        done = subprocess.run(
            words, input=text, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NamespaceError(f"{words[0]}: {error}") from None
    if done.returncode:
        raise NamespaceError(f"{what}: {' '.join(done.stderr.split())}")


def remove(names: Iterable[str]) -> None:
    """Remove the names of namespaces; those without processes end, with their interfaces.

    Raises ``NamespaceError`` if a name cannot be unmounted.
    """
    for name in names:
        path = NAMED / name
        # A process that dies while it creates a namespace leaves a file that is not a mount.
        if _libc.umount2(os.fsencode(path), _MNT_DETACH) and ctypes.get_errno() not in (
            errno.EINVAL,
            errno.ENOENT,
        ):
            raise NamespaceError(f"namespace {name}: {os.strerror(ctypes.get_errno())}")
        path.unlink(missing_ok=True)


def identity(name: str) -> tuple[int, int] | None:
    """Return device and inode of a namespace, or None if it does not exist."""
    try:
        status = (NAMED / name).stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


@contextlib.contextmanager
def inside(name: str) -> Iterator[None]:
    """Move this thread, and what it starts, into a namespace; sockets opened there stay there.

    Raises ``NamespaceError`` if there is no namespace of that name.
    """
    with Path("/proc/thread-self/ns/net").open("rb") as before:
        try:
            with (NAMED / name).open("rb") as target:
                _enter(name, target.fileno())
        except OSError as error:
            raise NamespaceError(f"namespace {name}: {error.strerror}") from None
        try:
            yield
        finally:
            _enter("of the caller", before.fileno())


def disable_ipv6() -> None:
    """Disable IPv6 in the namespace of this thread, so that the kernel sends no frames itself."""
    for scope in ("all", "default"):
        _set(f"ipv6/conf/{scope}/disable_ipv6", "1")


def separate_interfaces() -> None:
    """Let every interface in the namespace of this thread answer ARP for its own address only."""
    values = {"arp_ignore": "1", "arp_announce": "2", "rp_filter": "0"}
    for (key, value), scope in product(values.items(), ("all", "default")):
        _set(f"ipv4/conf/{scope}/{key}", value)


def _set(name: str, value: str) -> None:
    # A kernel without IPv6 has no such file; a container may have it read-only.
    with contextlib.suppress(OSError):
        Path("/proc/sys/net", name).write_text(value)


def execute(name: str, hosts: Path, command: Sequence[str]) -> NoReturn:
    """Replace this process by a program in a namespace.

    The program sees the names and addresses of the file ``hosts`` as ``/etc/hosts``. Raises
    ``NamespaceError`` if the file cannot be bound to ``/etc/hosts`` and ``OSError`` if there is no
    such program.
    """
    # Mounts of this process alone; they end with it.
    failed = _libc.unshare(_CLONE_NEWNS)
    failed = failed or _libc.mount(b"none", b"/", None, _MS_REC | _MS_SLAVE, None)
    failed = failed or _libc.mount(os.fsencode(hosts), _HOSTS.encode(), None, _MS_BIND, None)
    if failed:
        raise NamespaceError(f"{_HOSTS}: {os.strerror(ctypes.get_errno())}")
    os.execvp("ip", ["ip", "netns", "exec", name, *command])


def _enter(name: str, descriptor: int) -> None:
    if _libc.setns(descriptor, _CLONE_NEWNET):
        raise NamespaceError(f"namespace {name}: {os.strerror(ctypes.get_errno())}")
