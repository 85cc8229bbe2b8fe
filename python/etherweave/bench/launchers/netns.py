"""Hosts that are namespaces of this machine, with links of a given rate between them.

::

    n1: h0 ── tbf ──┐                  ┌── tbf ── h0 :n2
                    ├── bridge, tbf ───┤
    n3: h0 ── tbf ──┘   to each host   └── tbf ── h0 :n4

Each launch makes its own and removes them; what a launch that was killed left, the next removes.
Real protocol stacks and programs, but no NIC and no switch: a machine's cores carry all hosts.
"""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from ipaddress import IPv4Address

from etherweave.bench.launchers import namespaces
from etherweave.bench.launchers.access import Task, with_modules
from etherweave.bench.launchers.launcher import Launcher, LauncherKind, LaunchJob, OptionKind
from etherweave.bench.launchers.mpirun import Mpirun
from etherweave.bench.launchers.namespaces import INTERFACE, TokenBucket
from etherweave.bench.launchers.processes import ProcessGroup
from etherweave.bench.launchers.site_launcher import LaunchContext, SiteLauncher
from etherweave.bench.site.values import ClusterSite, SiteFabric, SiteHost

_RATE = 1.25e8  # 1 Gb/s [bytes/s].
_BURST = 128 * 1024  # More than a segment of 64 KiB that the kernel has not split yet [bytes].
_FIRST = IPv4Address("10.213.0.1")
"""First address of the hosts, which is not visible outside of the namespaces."""
_ENTER = 'hostname "$1" && mount --bind "$2" /etc/hosts && shift 2 && exec "$@"'
_AGENT = """#!/bin/sh
# Started by mpirun for each host: options, the host, then words for a shell as ssh joins them.
while :; do case "$1" in -*) shift ;; *) break ;; esac; done
host=$1
shift
exec ip netns exec {prefix}"$host" unshare --uts sh -c {enter} etherweave "$host" {hosts} sh -c "$*"
"""
_USUAL = {
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl": "tcp,self",
    "OMPI_MCA_btl_tcp_if_include": INTERFACE,
    "OMPI_MCA_oob_tcp_if_include": INTERFACE,
    "OMPI_MCA_osc": "pt2pt",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "UCX_TLS": "tcp,self",
    "UCX_NET_DEVICES": INTERFACE,
}
"""Many ranks share few cores; UCX takes namespaces of one machine for one host."""


@dataclass(frozen=True)
class NamespaceAccess:
    """Runs processes in namespaces."""

    site: ClusterSite
    prefix: str
    hosts: str  # File with the names of all hosts, as hosts(5).

    def words(self, host: str, task: Task) -> list[str]:
        """Return the guarded task in a host's network, under its name."""
        inside = ["ip", "netns", "exec", self.prefix + host, "unshare", "--uts"]
        enter = ["sh", "-c", _ENTER, "etherweave", host, self.hosts]
        words = with_modules(self.site.modules, task.words)
        return task.bounded([*inside, *enter, *words])


@contextmanager
def _context(
    site: ClusterSite, shape: TokenBucket, job: LaunchJob, group: ProcessGroup
) -> Iterator[LaunchContext]:
    prefix = namespaces.own_prefix()
    hosts = job.directory / "hosts"
    lines = (f"{host.address} {host.name}\n" for host in site.hosts)
    hosts.write_text("".join(["127.0.0.1 localhost\n", *lines]), encoding="utf-8")
    names = {name: site.host(name).address for name in job.hosts}
    control = site.text("congestion_control", "reno")
    with namespaces.created(prefix, names, shape, control):
        access = NamespaceAccess(site, prefix, str(hosts))
        yield LaunchContext(access, site, _starter(site, access))


def _starter(site: ClusterSite, access: NamespaceAccess) -> Mpirun:
    agent = _AGENT.format(
        prefix=access.prefix, enter=shlex.quote(_ENTER), hosts=shlex.quote(access.hosts)
    )
    program = site.text("program", "mpirun")
    return Mpirun(site, program, site.texts("arguments"), agent, is_inside=True)


def _make(site: ClusterSite, link: SiteFabric | None) -> Launcher:
    inner = replace(
        site,
        hosts=tuple(
            SiteHost(host.name, str(_FIRST + at), INTERFACE) for at, host in enumerate(site.hosts)
        ),
        environment=tuple((_USUAL | dict(site.environment)).items()),
    )
    shape = TokenBucket(
        site.number("rate", link.rate if link else _RATE), site.number("burst", _BURST)
    )
    own = replace(link, addresses=()) if link else None
    return SiteLauncher("netns", inner, own, partial(_context, inner, shape), namespaces.missing)


KIND = LauncherKind(
    "netns",
    _make,
    {
        "rate": OptionKind.RATE,
        "burst": OptionKind.SIZE,
        "congestion_control": OptionKind.TEXT,
        "program": OptionKind.TEXT,
        "arguments": OptionKind.TEXTS,
    },
    rate=_RATE,
    is_here=True,
)
