"""Interfaces of a namespace, by pyroute2: cables, bridges, addresses, offloads and counters.

pyroute2 is imported when :class:`Links` is first made: it takes 0.3 s. The token bucket of
:func:`shape` is set by ``tc``, because pyroute2 writes its rate in 32 bits, at most 34 Gb/s.
"""

import contextlib
from collections.abc import Iterator
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path
from typing import Any, NamedTuple, Self

from etherweave.linux.namespaces import NAMED, NamespaceError, carry_out


class VethEnd(NamedTuple):
    """One end of a virtual cable."""

    name: str
    namespace: str | None = None  # Default: where the other end is.
    mac: str | None = None  # Default: the kernel's choice.


class LinkCounters(NamedTuple):
    """Frames that an interface has carried since it was created."""

    received: int
    sent: int


class Links:
    """Interfaces of the namespace in which this is made; it may be used from outside of it."""

    def __init__(self) -> None:
        from pyroute2 import IPRoute
        from pyroute2.ethtool.ioctl import IoctlEthtool

        self._netlink: Any = IPRoute()
        self._ethtool: Any = IoctlEthtool()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._netlink.close()
        self._ethtool.sock.close()

    def add_veth(self, near: str, far: VethEnd) -> None:
        """Add a virtual cable from an interface here, both ends down."""
        peer: dict[str, object] = {"ifname": far.name}
        if far.mac:
            peer["address"] = far.mac
        with _errors(near), contextlib.ExitStack() as stack:
            if far.namespace:
                target = stack.enter_context((NAMED / far.namespace).open("rb"))
                peer["net_ns_fd"] = target.fileno()
            self._netlink.link("add", ifname=near, kind="veth", peer=peer)

    def add_bridge(self, name: str) -> None:
        """Add a learning bridge."""
        with _errors(name):
            self._netlink.link("add", ifname=name, kind="bridge")

    def add_tap(self, name: str) -> None:
        """Add a persistent interface for a virtual machine, which sends and receives its frames."""
        flags = {"no_pi": 1, "one_queue": 0, "vnet_hdr": 0, "multi_queue": 0}
        with _errors(name):
            self._netlink.link("add", ifname=name, kind="tuntap", mode="tap", ifr=flags)

    def set_up(self, name: str, bridge: str | None = None) -> None:
        """Set an interface up, as a port of a bridge if one is named."""
        with _errors(name):
            master = {"master": self._index(bridge)} if bridge else {}
            self._netlink.link("set", index=self._index(name), state="up", **master)

    def assign(self, name: str, address: IPv4Interface) -> None:
        """Give an interface an IPv4 address."""
        with _errors(name):
            length = address.network.prefixlen
            index = self._index(name)
            self._netlink.addr("add", index=index, address=str(address.ip), prefixlen=length)

    def route_from(self, name: str, address: IPv4Interface, table: int) -> None:
        """Send by an interface what has its address as source, by a table of routes of its own."""
        with _errors(name):
            route = {"dst": str(address.network), "oif": self._index(name), "table": table}
            self._netlink.route("add", prefsrc=str(address.ip), scope="link", **route)
            self._netlink.rule("add", src=str(address.ip), src_len=32, table=table)

    def route_to(self, name: str, network: IPv4Network, address: IPv4Interface) -> None:
        """Send by an interface, from its address, what is for a network."""
        with _errors(name):
            route = {"dst": str(network), "oif": self._index(name), "prefsrc": str(address.ip)}
            self._netlink.route("add", scope="link", **route)

    def disable_checksum_offload(self, name: str) -> None:
        """Let the kernel complete checksums before it sends, as ``ethtool -K NAME tx off``."""
        with _errors(name):
            self._ethtool.change_ifname(name)
            self._ethtool.set_offload_flag("tx-checksumming", False)

    def mac(self, name: str) -> int:
        """Return an interface's MAC address."""
        with _errors(name):
            (link,) = self._netlink.get_links(self._index(name))
            return int(str(link.get("address")).replace(":", ""), 16)

    def counters(self) -> dict[str, LinkCounters]:
        """Return the counters of all interfaces, by name."""
        rows = ((link.get("ifname"), link.get("stats64")) for link in self._netlink.get_links())
        return {name: LinkCounters(row["rx_packets"], row["tx_packets"]) for name, row in rows}

    def indices(self) -> dict[str, int]:
        """Return the kernel's numbers of all interfaces, by name."""
        return {link.get("ifname"): link["index"] for link in self._netlink.get_links()}

    def _index(self, name: str) -> int:
        numbers = self._netlink.link_lookup(ifname=name)
        if not numbers:
            raise NamespaceError(f"interface {name}: No such device")
        return int(numbers[0])


def shape(namespace: str, name: str, rate: float, burst: float, limit: float) -> None:
    """Let an interface send through a token bucket.

    ``rate`` counts Ethernet's header [bytes/s]; ``burst`` is saved while nothing is sent [bytes],
    and ``limit`` is the length of the queue before frames are dropped [bytes].
    """
    bucket = ["tbf", "rate", f"{rate * 8:.0f}bit", "burst", f"{burst:.0f}b"]
    place = ["tc", "-n", namespace, "qdisc", "add", "dev", name, "root"]
    command = [*place, *bucket, "limit", f"{limit:.0f}b"]
    carry_out(f"tc qdisc at {namespace} {name}", command)


def set_congestion_control(name: str) -> None:
    """Select TCP's congestion control in the namespace of this thread."""
    try:
        Path("/proc/sys/net/ipv4/tcp_congestion_control").write_text(name)
    except OSError as error:
        raise NamespaceError(f"congestion control {name}: {error.strerror}") from None


@contextlib.contextmanager
def _errors(name: str) -> Iterator[None]:
    """Raise what the kernel rejects with the interface's name."""
    from pyroute2 import NetlinkError

    try:
        yield
    except NetlinkError as error:
        raise NamespaceError(f"interface {name}: {error.args[-1]}") from None
    except OSError as error:
        raise NamespaceError(f"interface {name}: {error.strerror or error}") from None
