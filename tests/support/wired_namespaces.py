"""Namespaces with cables of two interfaces, and sockets at their ends."""

import contextlib
import ctypes
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def namespace(name: str) -> Iterator[None]:
    """Make a namespace in which no interface speaks by itself."""
    output("ip", "netns", "add", name)
    try:
        quiet = ["sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1"]
        output("ip", "netns", "exec", name, *quiet)
        yield
    finally:
        output("ip", "netns", "del", name)


def pair(namespace: str, *ends: str) -> None:
    """Make a cable with two interfaces."""
    first, other = ends
    output("ip", "-n", namespace, "link", "add", first, "type", "veth", "peer", "name", other)
    for end in ends:
        output("ip", "-n", namespace, "link", "set", end, "up")


def inside(namespace: str, interface: str) -> socket.socket:
    """Open a socket at an interface of another namespace, by a thread that moves there."""
    opened: list[socket.socket] = []

    def move() -> None:
        with Path(f"/run/netns/{namespace}").open() as there:
            assert ctypes.CDLL(None).setns(there.fileno(), 0) == 0
        packets, auxiliary, ignore_outgoing = 263, 8, 23
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        sock.setsockopt(packets, auxiliary, 1)
        sock.setsockopt(packets, ignore_outgoing, 1)
        sock.bind((interface, 3))
        opened.append(sock)

    thread = threading.Thread(target=move)
    thread.start()
    thread.join()
    return opened[0]


def output(*command: str, text: str | None = None) -> str:
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
