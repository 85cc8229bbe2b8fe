"""What a verb launches on: the hosts, fabrics and launchers of a site's file."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from etherweave.bench.campaign import Network
from etherweave.bench.launchers import Launcher
from etherweave.bench.launchers.registry import launcher
from etherweave.bench.site.reading import read
from etherweave.bench.site.values import ClusterSite, SiteError, SiteFabric, this_machine
from etherweave.cli.exits import refuse, told

NATIVE = "native"
"""Names the only network of a site that tells of none."""


@dataclass(frozen=True)
class Cluster:
    """A site as far as it takes part."""

    name: str
    hosts: tuple[str, ...]
    networks: tuple[Network, ...]
    launchers: Mapping[str, Launcher]
    """By the names of networks."""
    python: str = sys.executable
    """With Etherweave, on the hosts."""
    switches: Mapping[str, str] = field(default_factory=dict)
    """By the names of hosts, where the site tells."""


def cluster_of(site: Path | None, fabrics: Sequence[str], hosts: str | None) -> Cluster:
    """Choose hosts and fabrics of a site, or end with the user's mistake."""
    try:
        return _cluster(read(site) if site else this_machine(), fabrics, hosts)
    except OSError as error:
        refuse(told(error))
    except SiteError as error:
        refuse(error)


def _cluster(site: ClusterSite, fabrics: Sequence[str], hosts: str | None) -> Cluster:
    wanted = hosts.split(",") if hosts else [one.name for one in site.hosts]
    if len(set(wanted)) < len(wanted):
        refuse(f"--hosts {hosts}: names a host twice; expected different ones")
    names = tuple(site.host(name).name for name in wanted)
    links: list[SiteFabric | None] = [site.link(name) for name in fabrics]
    links = links or [*site.links] or [None]
    launchers = {_name(link): launcher(site, link) for link in links}
    for one in launchers.values():
        if missing := one.missing():
            refuse(f"launcher {one.name}: {missing}")
    networks = tuple(_network(site, link) for link in links)
    python = site.text("python", Cluster.python)
    switches = {one.name: one.switch for one in site.hosts if one.switch and one.name in names}
    return Cluster(site.name, names, networks, launchers, python, switches)


def _name(link: SiteFabric | None) -> str:
    return link.name if link else NATIVE


def _network(site: ClusterSite, link: SiteFabric | None) -> Network:
    interface = site.hosts[0].interface or ""
    if link is None:
        return Network(NATIVE, interface=interface)
    return Network(
        link.name,
        link.kind,
        float(link.rate),
        interface=link.interface or interface,
        device=link.device or "",
    )
