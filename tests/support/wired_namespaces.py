"""Namespaces with cables of two interfaces, and sockets at their ends."""

import contextlib
import socket
import subprocess
from collections.abc import Iterator

from etherweave.linux import namespaces


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
    """Open a socket at an interface of another namespace."""
    packets, auxiliary, ignore_outgoing = 263, 8, 23
    with namespaces.inside(namespace):
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        sock.setsockopt(packets, auxiliary, 1)
        sock.setsockopt(packets, ignore_outgoing, 1)
        sock.bind((interface, 3))
    return sock


def output(*command: str, text: str | None = None) -> str:
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
