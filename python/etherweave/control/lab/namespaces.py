"""Network namespaces: made, entered and removed; and interfaces in them.

Calls are those of ``setns(2)``, ``umount(2)``, ``netdevice(7)`` and ``linux/if_tun.h``. A namespace
has a name while a file below ``/run/netns`` is bound to it, as ``ip netns`` has it.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import shutil
import socket
import struct
import subprocess
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Interface
from pathlib import Path

NAMED = Path("/run/netns")
_CLONE_NEWNET, _MNT_DETACH = 0x40000000, 2
_TIMEOUT_S = 60.0
_GET_FLAGS, _SET_FLAGS, _SET_ADDRESS, _SET_MASK = 0x8913, 0x8914, 0x8916, 0x891C
_GET_HARDWARE, _ETHTOOL = 0x8927, 0x8946
_UP = 1
_SET_INTERFACE, _SET_PERSISTENT = 0x400454CA, 0x400454CB
_TAP, _NO_PACKET_INFO = 0x0002, 0x1000
_SET_CHECKSUMS = 0x17
"""``ETHTOOL_STXCSUM``."""
_libc = ctypes.CDLL(None, use_errno=True)


class NamespaceError(Exception):
    """The system refuses a namespace or an interface; its words say why."""


def missing() -> str | None:
    """Say why this machine makes no namespaces; none: it does."""
    from etherweave.control.ebpf.attach import is_privileged

    if not is_privileged():
        return "network namespaces take root, and in a container its capabilities; expected sudo"
    return None if shutil.which("ip") else "ip: not found; expected iproute2"


def make(lines: Iterable[str]) -> None:
    """Run lines of ``ip -batch``; stops at the first that fails.

    Raises
    ------
    NamespaceError
        If one fails; what was made before it stays.
    """
    text = "".join(f"{line}\n" for line in lines)
    try:
        done = subprocess.run(
            ["ip", "-batch", "-"], input=text, capture_output=True, text=True, timeout=_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NamespaceError(f"ip -batch: {error}") from None
    if done.returncode:
        raise NamespaceError(f"ip -batch: {' '.join(done.stderr.split())}")


def existing() -> list[str]:
    """Name all namespaces that have a name."""
    return sorted(path.name for path in NAMED.iterdir()) if NAMED.is_dir() else []


def remove(names: Iterable[str]) -> None:
    """Take the names of namespaces away: those that nobody lives in go, with their interfaces."""
    for name in names:
        path = NAMED / name
        # Whoever dies while he makes a namespace leaves a file that nothing is bound to.
        if _libc.umount2(os.fsencode(path), _MNT_DETACH) and ctypes.get_errno() not in (
            errno.EINVAL,
            errno.ENOENT,
        ):
            raise NamespaceError(f"namespace {name}: {os.strerror(ctypes.get_errno())}")
        path.unlink(missing_ok=True)


def identity(name: str) -> tuple[int, int] | None:
    """Tell which namespace a name stands for; none: there is none."""
    try:
        status = (NAMED / name).stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


@contextlib.contextmanager
def inside(name: str) -> Iterator[None]:
    """Let this thread, and what it starts, be in a namespace; sockets made there stay there.

    Raises
    ------
    NamespaceError
        If there is none of that name.
    """
    with Path("/proc/thread-self/ns/net").open("rb") as before:
        try:
            with (NAMED / name).open("rb") as wanted:
                _enter(name, wanted.fileno())
        except OSError as error:
            raise NamespaceError(f"namespace {name}: {error.strerror}") from None
        try:
            yield
        finally:
            _enter("of the caller", before.fileno())


def _enter(name: str, descriptor: int) -> None:
    if _libc.setns(descriptor, _CLONE_NEWNET):
        raise NamespaceError(f"namespace {name}: {os.strerror(ctypes.get_errno())}")


def quieten() -> None:
    """Turn IPv6 off in the namespace of this thread: no frames of the kernel's own accord."""
    for scope in ("all", "default"):
        switch = Path(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6")
        # A kernel without IPv6 has nothing to turn off; a container may have it read-only.
        with contextlib.suppress(OSError):
            switch.write_text("1")


def make_tap(name: str) -> None:
    """Make an interface for a virtual machine in the namespace of this thread.

    Raises
    ------
    NamespaceError
        If the kernel has no such interfaces.
    """
    request = struct.pack("=16sH22x", name.encode(), _TAP | _NO_PACKET_INFO)
    try:
        with Path("/dev/net/tun").open("r+b", buffering=0) as device:
            fcntl.ioctl(device, _SET_INTERFACE, request)
            fcntl.ioctl(device, _SET_PERSISTENT, 1)
    except OSError as error:
        raise NamespaceError(f"interface {name}: /dev/net/tun: {error.strerror}") from None


class Cards:
    """Interfaces of the namespace in which this is made."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def __enter__(self) -> "Cards":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def set_up(self, name: str) -> None:
        """Set an interface up."""
        (flags,) = struct.unpack_from("=H", self._call(name, _GET_FLAGS, b""), 16)
        self._call(name, _SET_FLAGS, struct.pack("=H", flags | _UP))

    def mac(self, name: str) -> int:
        """Return an interface's MAC address."""
        return int.from_bytes(self._call(name, _GET_HARDWARE, b"")[18:24])

    def finish_checksums(self, name: str) -> None:
        """Let the kernel finish checksums: Open vSwitch in user space passes them on as they are.

        The same as ``ethtool -K NAME tx off``.
        """
        value = ctypes.create_string_buffer(struct.pack("=II", _SET_CHECKSUMS, 0))
        self._call(name, _ETHTOOL, struct.pack("=Q", ctypes.addressof(value)))

    def assign(self, name: str, address: IPv4Interface) -> None:
        """Give an interface its IPv4 address."""
        for call, value in ((_SET_ADDRESS, address.ip), (_SET_MASK, address.netmask)):
            self._call(name, call, struct.pack("=HH4s", socket.AF_INET, 0, value.packed))

    def _call(self, name: str, number: int, argument: bytes) -> bytes:
        request = name.encode().ljust(16, b"\0") + argument.ljust(24, b"\0")
        try:
            return fcntl.ioctl(self._socket, number, request)
        except OSError as error:
            raise NamespaceError(f"interface {name}: {error.strerror}") from None
