"""The launchers: one file and one line each."""

from etherweave.bench.launchers import local, mpirun, netns, sbatch, srun, ssh
from etherweave.bench.launchers.launcher import Launcher, LauncherKind
from etherweave.bench.site.values import ClusterSite, SiteFabric

LAUNCHERS: dict[str, LauncherKind] = {
    module.KIND.name: module.KIND for module in (local, mpirun, netns, sbatch, srun, ssh)
}
"""By the name that a site's file says."""


def launcher(site: ClusterSite, link: SiteFabric | None = None) -> Launcher:
    """Return the launcher of a site.

    Parameters
    ----------
    site
        As ``reading.read`` gives it.
    link
        One of its fabrics, to which programs are switched; none leaves it to them.
    """
    return LAUNCHERS[site.launcher].make(site, link)
