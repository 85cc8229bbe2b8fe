"""The hosts, networks and launchers of a site that take part in a campaign."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from etherweave.bench.campaigns.campaign import Network
from etherweave.bench.launchers import Launcher
from etherweave.bench.launchers.registry import LAUNCHERS, launcher
from etherweave.bench.site.values import ClusterSite, SiteError, SiteFabric, SiteSwitch

NATIVE = "native"  # Names the only network of a site without fabrics.


@dataclass(frozen=True)
class Cluster:
    """The part of a site that takes part."""

    name: str
    hosts: tuple[str, ...]
    networks: tuple[Network, ...]
    launchers: Mapping[str, Launcher]  # Launchers by the names of networks.
    python: str = sys.executable  # Path on the hosts of the Python interpreter that has Etherweave.
    switches: Mapping[str, str] = field(default_factory=dict)
    """The switch of each host, where the site names one."""
    recorded_switches: tuple[SiteSwitch, ...] = ()
    runs_from_path: bool = False
    """Whether its programs are those in ``PATH`` on this machine, which is all hosts."""


def cluster_of(
    site: ClusterSite, fabrics: Sequence[str] = (), hosts: Sequence[str] | None = None
) -> Cluster:
    """Choose hosts and fabrics of a site.

    ``fabrics`` and ``hosts`` are names of the site's; all unless given. Hosts are in the order of
    ranks. Raises ``SiteError`` when the site lacks one of them, a host is named twice, or this
    machine lacks a program or a privilege that the launcher needs.
    """
    wanted = list(hosts or [host.name for host in site.hosts])
    if len(set(wanted)) < len(wanted):
        raise SiteError(f"hosts {','.join(wanted)}: names a host twice; expected different ones")
    names = tuple(site.host(name).name for name in wanted)
    links: list[SiteFabric | None] = [site.link(name) for name in fabrics]
    links = links or [*site.links] or [None]
    launchers = {_name(link): launcher(site, link) for link in links}
    for fabric_launcher in launchers.values():
        if missing := fabric_launcher.missing():
            raise SiteError(f"launcher {fabric_launcher.name}: {missing}")
    networks = tuple(_network(site, link) for link in links)
    python = site.text("python", Cluster.python)
    switches = {host.name: host.switch for host in site.hosts if host.switch and host.name in names}
    return Cluster(
        site.name,
        names,
        networks,
        launchers,
        python,
        switches,
        site.switches,
        _runs_from_path(site),
    )


def _runs_from_path(site: ClusterSite) -> bool:
    """Say so, unless the site changes the environment, so that programs may be elsewhere."""
    environments = [site.environment, *(link.environment for link in site.links)]
    names = {name for environment in environments for name, _ in environment}
    return LAUNCHERS[site.launcher].is_here and not site.modules and "PATH" not in names


def _name(link: SiteFabric | None) -> str:
    return link.name if link else NATIVE


def _network(site: ClusterSite, link: SiteFabric | None) -> Network:
    """Describe a fabric; a launcher that shapes its links has their rate."""
    interface = site.hosts[0].interface or ""
    usual = link.rate if link else LAUNCHERS[site.launcher].rate or Network.rate
    rate = site.number("rate", usual)
    if link is None:
        return Network(NATIVE, rate=float(rate), interface=interface)
    return Network(
        link.name,
        link.kind,
        float(rate),
        interface=link.interface or interface,
        device=link.device or "",
    )
