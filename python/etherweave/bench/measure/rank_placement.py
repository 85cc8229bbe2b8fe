"""Placement of ranks: on hosts of a site in order, or by a launcher."""

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from etherweave.bench.launchers.access import LocalAccess
from etherweave.bench.launchers.launcher import Launcher, LaunchJob
from etherweave.bench.launchers.mpirun import lacking
from etherweave.bench.launchers.registry import LAUNCHERS, launcher
from etherweave.bench.launchers.site_launcher import SiteLauncher, fixed_context
from etherweave.bench.measure.errors import MeasureError
from etherweave.bench.measure.launch import LaunchOptions, LaunchProgram, starter
from etherweave.bench.programs.plans import BenchmarkCommand
from etherweave.bench.site.values import ClusterSite, SiteFabric, this_machine

_YIELD = ("OMPI_MCA_mpi_yield_when_idle", "1")
"""Busy waiting would take the processor from the ranks that are waited for."""


class LaunchPlacement(NamedTuple):
    """Launcher of the ranks, and their hosts."""

    launcher: Launcher
    hosts: tuple[str, ...]  # Hosts of the site that have a rank.
    ranks: int
    ranks_per_node: int  # Maximum; the last host may have fewer.
    processors: int | None  # Processors of this machine, if all ranks share it.
    rate_bps: float = math.inf  # Rate of a host's link, if the site file has it [b/s].
    modules: tuple[str, ...] = ()  # Environment modules for compiler and ranks.

    def job(self, command: BenchmarkCommand, directory: Path, limit_s: float) -> LaunchJob:
        """Return a launch of all ranks."""
        return LaunchJob(command, self.hosts, self.ranks_per_node, directory, limit_s, self.ranks)


def of_site(
    site: ClusterSite, link: SiteFabric | None, hosts: Sequence[str] | None, ranks: int
) -> LaunchPlacement:
    """Place ranks on hosts in order: one on each, or equal blocks if there are more ranks.

    ``hosts`` are names of the site's hosts; all of them if ``None``. ``ranks`` counts those of all
    jobs. Raises ``SiteError`` when the site has no such host; ``MeasureError`` when a host is named
    twice, or a program of the launcher is missing.
    """
    names = tuple(hosts or (host.name for host in site.hosts))
    for name in names:
        if names.count(site.host(name).name) > 1:
            raise MeasureError(f"host {name}: named twice; expected each host once")
    per_node = math.ceil(ranks / len(names))
    used = names[: math.ceil(ranks / per_node)]
    is_here = LAUNCHERS[site.launcher].is_here
    starting = launcher(_yielding(site, ranks) if is_here else site, link)
    rate = site.number("rate", link.rate if link else math.inf)
    count = processors() if is_here else None
    return _complete(
        LaunchPlacement(starting, used, ranks, per_node, count, 8 * rate, site.modules)
    )


def of_launcher(options: LaunchOptions, ranks: int) -> LaunchPlacement:
    """Leave the placement to the launcher, without a site.

    Raises ``MeasureError`` when the launcher is missing, or does not support an option.
    """
    is_here = options.launcher is LaunchProgram.LOCAL
    here = _yielding(this_machine(), ranks) if is_here else this_machine()
    ground = fixed_context(LocalAccess(here), here, starter(options, here))
    needed = (options.launcher.program, "env", "sh", "timeout")
    placed = SiteLauncher(options.launcher, here, None, ground, lambda: lacking(*needed))
    count = processors() if is_here else None
    return _complete(LaunchPlacement(placed, (here.hosts[0].name,), ranks, ranks, count))


def _complete(rank_placement: LaunchPlacement) -> LaunchPlacement:
    if missing := rank_placement.launcher.missing():
        raise MeasureError(f"launcher {rank_placement.launcher.name}: {missing}")
    return rank_placement


def _yielding(site: ClusterSite, ranks: int) -> ClusterSite:
    """Let waiting ranks yield if they share processors, unless the site file sets it."""
    if ranks <= processors():
        return site
    return replace(site, environment=tuple((dict([_YIELD]) | dict(site.environment)).items()))


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0))
