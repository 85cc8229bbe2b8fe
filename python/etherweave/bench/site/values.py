"""A site as its file describes it, checked."""

from collections.abc import Mapping
from dataclasses import dataclass, field

Option = str | float | tuple[str, ...]
"""Value of an option of a launcher; amounts are in base units."""


class SiteError(ValueError):
    """A site's file is wrong: where, what, and what is expected."""


@dataclass(frozen=True)
class SiteHost:
    """A host that may take part, and receive traffic."""

    name: str
    address: str  # How the launcher reaches it: an IP address, or a name that resolves.
    interface: str | None = None
    switch: str | None = None  # Switch that it is connected to; reports group hosts by switch.


@dataclass(frozen=True)
class SiteFabric:
    """A fabric between the hosts of a site, and the variables by which a stack uses it."""

    name: str
    kind: str  # Kind in ``fabrics.toml``: roce, infiniband, tcp, ipoib.
    stack: str  # Stack in ``fabrics.toml``: open_mpi, mpich, …
    rate: float  # Rate of a host's link [bytes/s].
    interface: str | None = None
    device: str | None = None  # RDMA device of the NIC with its port: mlx5_0:1.
    addresses: tuple[tuple[str, str], ...] = ()
    """Addresses of hosts on this fabric, where the launcher uses another one."""
    environment: tuple[tuple[str, str], ...] = ()  # Variables that switch the stack to it.


@dataclass(frozen=True)
class SiteSwitch:
    """A switch whose counters are recorded."""

    name: str
    reader: str  # Kind of its answers: ``sonic``, ``snmp``, …
    ask: tuple[str, ...]  # First words of each command to it: ``ssh admin@leaf0``.


@dataclass(frozen=True)
class ClusterSite:
    """A cluster."""

    name: str
    launcher: str
    hosts: tuple[SiteHost, ...]
    options: Mapping[str, Option] = field(default_factory=dict)  # Options of the launcher.
    modules: tuple[str, ...] = ()  # Loaded before each program, in this order.
    environment: tuple[tuple[str, str], ...] = ()
    links: tuple[SiteFabric, ...] = ()
    switches: tuple[SiteSwitch, ...] = ()

    def host(self, name: str) -> SiteHost:
        """Return a host.

        Raises ``SiteError`` when it is none of the site's: nothing is sent there.
        """
        number = next((host for host in self.hosts if host.name == name), None)
        if number is None:
            known = ", ".join(host.name for host in self.hosts)
            raise SiteError(f"host {name}: is not of site {self.name}; expected {known}")
        return number

    def link(self, name: str) -> SiteFabric:
        """Return a fabric; raises ``SiteError`` when the site has none of that name."""
        number = next((link for link in self.links if link.name == name), None)
        if number is None:
            known = ", ".join(link.name for link in self.links) or "a site with fabrics"
            raise SiteError(f"fabric {name}: is not of site {self.name}; expected {known}")
        return number

    def text(self, option: str, usual: str) -> str:
        """Return an option that is a text."""
        value = self.options.get(option, usual)
        assert isinstance(value, str), f"{option} is read as a text"
        return value

    def texts(self, option: str) -> tuple[str, ...]:
        """Return an option that is a list of texts; empty if it is not given."""
        value = self.options.get(option, ())
        assert isinstance(value, tuple), f"{option} is read as a list"
        return value

    def number(self, option: str, usual: float) -> float:
        """Return an option that is an amount, in its base unit."""
        value = self.options.get(option, usual)
        assert isinstance(value, int | float), f"{option} is read as an amount"
        return value


def this_machine() -> ClusterSite:
    """Return the site that needs no file: programs of this machine talk to each other."""
    return ClusterSite("this machine", "local", (SiteHost("localhost", "127.0.0.1", "lo"),))


def variables(site: ClusterSite, link: SiteFabric | None) -> dict[str, str]:
    """Return what programs find in their environment, that of the fabric last."""
    return dict(site.environment) | dict(link.environment if link else ())


def address(site: ClusterSite, link: SiteFabric | None, host: str) -> str:
    """Return the address by which programs reach a host over a fabric."""
    own = dict(link.addresses) if link else {}
    return own.get(host) or site.host(host).address


def interface(site: ClusterSite, link: SiteFabric | None, host: str) -> str | None:
    """Return the interface that a host has on a fabric."""
    return (link.interface if link else None) or site.host(host).interface
