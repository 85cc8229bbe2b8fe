"""A network interface: sends and receives frames of the protocol, and is given addresses.

Calls are those of ``packet(7)`` and ``netdevice(7)``, on the socket that is open for frames anyway:
hosts run this at every boot, where the import of pyroute2 (0.3 s) would be the longest part.
"""

import errno
import fcntl
import socket
import struct
from contextlib import AbstractContextManager

from etherweave.control.dmp.frame import ETHERTYPE, GROUP
from etherweave.control.dmp.request import ReceivedFrame

_GET_FLAGS, _SET_FLAGS, _SET_ADDRESS = 0x8913, 0x8914, 0x8924
_UP, _RUNNING = 0x1, 0x40
_ETHERNET = 1
_JOIN, _MULTICAST = 1, 0
_PACKET = 263
_NAME_OCTETS_MAX = 15
_OCTETS_MAX = 2048  # More than any frame of the protocol; longer ones are too long anyway.
_LOST = {errno.ENETDOWN, errno.ENOBUFS, errno.ENETUNREACH, errno.EAGAIN}
"""Errors of a frame that may be sent later."""


class InterfaceError(Exception):
    """An operation on an interface fails; the message says which and why."""


class NoInterfaceError(InterfaceError):
    """The interface does not exist at present."""


class DmpInterface(AbstractContextManager["DmpInterface"]):
    """An Ethernet interface, open for frames of the protocol.

    ``name`` is as ``ip link`` prints it. Raises ``NoInterfaceError`` if there is none of that name;
    ``InterfaceError`` if it is not Ethernet, or the caller lacks the right to raw frames.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        if not 0 < len(name.encode()) <= _NAME_OCTETS_MAX:
            raise InterfaceError(f"interface {name!r}: expected a name of 1 to 15 octets")
        try:
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        except PermissionError as error:
            reply = "no right to raw frames; expected root or CAP_NET_RAW and CAP_NET_ADMIN"
            raise InterfaceError(f"{name}: {reply}") from error
        try:
            self._open()
        except BaseException:
            self._socket.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening."""
        self._socket.close()

    def fileno(self) -> int:
        """Return the descriptor, for selectors."""
        return self._socket.fileno()

    @property
    def address(self) -> int:
        """The present MAC address."""
        return int.from_bytes(self._socket.getsockname()[4])

    @property
    def is_up(self) -> bool:
        """Whether it is set up."""
        return bool(self._flags() & _UP)

    @property
    def is_running(self) -> bool:
        """Whether it is set up and has carrier."""
        return bool(self._flags() & _RUNNING)

    def send(self, octets: bytes) -> None:
        """Send a frame; one that the interface cannot send now is lost.

        Raises ``InterfaceError`` if the interface does not exist any more.
        """
        try:
            self._socket.send(octets)
        except OSError as error:
            if error.errno not in _LOST:
                raise self._error("does not send", error) from error

    def receive(self) -> ReceivedFrame | None:
        """Return the next frame, if there is one; does not wait."""
        try:
            octets, (_, _, kind, *_) = self._socket.recvfrom(_OCTETS_MAX)
        except OSError:
            # No frame, or an error because the link went down, which links report.
            return None
        return ReceivedFrame(
            octets, kind == socket.PACKET_OUTGOING, kind == socket.PACKET_OTHERHOST
        )

    def set_up(self) -> None:
        """Set it up, without touching its addresses.

        Raises ``InterfaceError`` if the system rejects it.
        """
        try:
            self._set_flags(self._flags() | _UP)
        except OSError as error:
            raise self._error("cannot be set up", error) from error

    def assign(self, mac: int) -> bool:
        """Give it a MAC address, while it is up if its driver can do that.

        Otherwise it is set down for a moment and loses its routes and IPv6 addresses.

        Returns whether it stayed up. Raises ``InterfaceError`` if the driver accepts no address at
        all.
        """
        try:
            return self._assign_up(mac) or self._assign_down(mac)
        except OSError as error:
            raise self._error("accepts no address", error) from error

    def _assign_up(self, mac: int) -> bool:
        try:
            self._write_address(mac)
        except OSError as error:
            if error.errno == errno.EBUSY:
                return False
            raise
        return True

    def _assign_down(self, mac: int) -> bool:
        flags = self._flags()
        self._set_flags(flags & ~_UP)
        try:
            self._write_address(mac)
        finally:
            self._set_flags(flags)
        return False

    def _open(self) -> None:
        try:
            self._socket.setblocking(False)
            self._socket.bind((self.name, ETHERTYPE))
            kind = self._socket.getsockname()[3]
            if kind != _ETHERNET:
                raise InterfaceError(f"{self.name}: hardware of type {kind}; expected Ethernet (1)")
            self._join()
        except OSError as error:
            if error.errno == errno.ENODEV:
                raise NoInterfaceError(f"{self.name}: no such interface") from error
            raise self._error("cannot be opened", error) from error

    def _join(self) -> None:
        """Let the NIC accept frames to the protocol's group, until the socket is closed."""
        index = socket.if_nametoindex(self.name)
        member = struct.pack("=iHH8s", index, _MULTICAST, 6, GROUP.to_bytes(6))
        self._socket.setsockopt(_PACKET, _JOIN, member)

    def _flags(self) -> int:
        reply = self._call(_GET_FLAGS, b"")
        return int(struct.unpack_from("=H", reply, 16)[0])

    def _set_flags(self, flags: int) -> None:
        self._call(_SET_FLAGS, struct.pack("=H", flags))

    def _write_address(self, mac: int) -> None:
        self._call(_SET_ADDRESS, struct.pack("=H6s", _ETHERNET, mac.to_bytes(6)))

    def _call(self, number: int, argument: bytes) -> bytes:
        request = self.name.encode().ljust(16, b"\0") + argument.ljust(24, b"\0")
        try:
            return fcntl.ioctl(self._socket, number, request)
        except OSError as error:
            if error.errno == errno.ENODEV:
                raise NoInterfaceError(f"{self.name}: does not exist any more") from error
            raise

    def _error(self, what: str, error: OSError) -> InterfaceError:
        return InterfaceError(f"{self.name}: {what} ({error.strerror})")
