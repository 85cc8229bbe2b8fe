"""Where the ranks of a scenario sit: on hosts of a site in order, or where a launcher puts them."""

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from etherweave.bench.launchers.access import LocalAccess
from etherweave.bench.launchers.launcher import Launcher as Starting
from etherweave.bench.launchers.launcher import LaunchJob
from etherweave.bench.launchers.mpirun import lacking
from etherweave.bench.launchers.registry import LAUNCHERS, launcher
from etherweave.bench.launchers.site_launcher import SiteLauncher, fixed_context
from etherweave.bench.measure.errors import MeasureError
from etherweave.bench.measure.launchers import Launcher, Launching, starter
from etherweave.bench.plans import BenchmarkCommand
from etherweave.bench.site.values import ClusterSite, SiteFabric, this_machine

_PATIENT = ("OMPI_MCA_mpi_yield_when_idle", "1")
"""Ranks that wait busily would take the processor from those that they wait for."""


class Seating(NamedTuple):
    """What launches the ranks, and where they sit."""

    launcher: Starting
    hosts: tuple[str, ...]
    """Those of the site that have a rank."""
    ranks: int
    ranks_per_node: int
    """At most; the last host may have fewer."""
    processors: int | None
    """Of this machine, when all ranks share it."""
    rate_bps: float = math.inf
    """Of a host's link, as far as the site tells [b/s]."""
    modules: tuple[str, ...] = ()
    """With which programs are compiled, too."""

    def job(self, command: BenchmarkCommand, directory: Path, limit_s: float) -> LaunchJob:
        """Return a launch of all ranks."""
        return LaunchJob(command, self.hosts, self.ranks_per_node, directory, limit_s, self.ranks)


def of_site(
    site: ClusterSite, link: SiteFabric | None, hosts: Sequence[str] | None, ranks: int
) -> Seating:
    """Seat ranks on hosts in order: one on each, or as many as it takes, block after block.

    Parameters
    ----------
    site, link
        As for :func:`etherweave.bench.launchers.registry.launcher`.
    hosts
        Names of the site's hosts; all of them if ``None``.
    ranks
        Of all jobs.

    Raises
    ------
    SiteError
        When a host is none of the site's.
    MeasureError
        When a host is named twice, or its launcher lacks something.
    """
    names = tuple(hosts or (host.name for host in site.hosts))
    for name in names:
        if names.count(site.host(name).name) > 1:
            raise MeasureError(f"host {name}: is named twice; expected each host once")
    per_node = math.ceil(ranks / len(names))
    used = names[: math.ceil(ranks / per_node)]
    is_here = LAUNCHERS[site.launcher].is_here
    starting = launcher(_patient(site, ranks) if is_here else site, link)
    rate = site.number("rate", link.rate if link else math.inf)
    count = processors() if is_here else None
    return _complete(Seating(starting, used, ranks, per_node, count, 8 * rate, site.modules))


def found(launching: Launching, ranks: int) -> Seating:
    """Seat ranks without a site, where the launcher finds hosts.

    Raises
    ------
    MeasureError
        When the launcher cannot do what is asked, or is not there.
    """
    is_here = launching.launcher is Launcher.LOCAL
    here = _patient(this_machine(), ranks) if is_here else this_machine()
    ground = fixed_context(LocalAccess(here), here, starter(launching, here))
    needed = (launching.launcher.program, "env", "sh", "timeout")
    placed = SiteLauncher(launching.launcher, here, None, ground, lambda: lacking(*needed))
    count = processors() if is_here else None
    return _complete(Seating(placed, (here.hosts[0].name,), ranks, ranks, count))


def _complete(seating: Seating) -> Seating:
    if missing := seating.launcher.missing():
        raise MeasureError(f"launcher {seating.launcher.name}: {missing}")
    return seating


def _patient(site: ClusterSite, ranks: int) -> ClusterSite:
    """Let ranks that take turns on processors give way, unless the site says otherwise."""
    if ranks <= processors():
        return site
    return replace(site, environment=tuple((dict([_PATIENT]) | dict(site.environment)).items()))


def processors() -> int:
    """Count those that this process may run on."""
    return len(os.sched_getaffinity(0))
