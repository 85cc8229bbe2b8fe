"""The launchers: one file and one line each."""

from etherweave.bench.launchers import local, mpirun, netns, sbatch, srun, ssh
from etherweave.bench.launchers.kind import Kind
from etherweave.bench.launchers.launcher import Launcher
from etherweave.bench.site.values import Link, Site

LAUNCHERS: dict[str, Kind] = {
    module.KIND.name: module.KIND for module in (local, mpirun, netns, sbatch, srun, ssh)
}
"""By the name that a site's file says."""


def launcher(site: Site, link: Link | None = None) -> Launcher:
    """Return the launcher of a site.

    Parameters
    ----------
    site
        As ``reading.read`` gives it.
    link
        One of its fabrics, to which programs are switched; none leaves it to them.
    """
    return LAUNCHERS[site.launcher].make(site, link)
