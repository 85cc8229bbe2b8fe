"""Processes on other hosts by ssh; ranks of MPI are for ``mpirun``."""

from etherweave.bench.launchers.access import SshAccess, remote_shell
from etherweave.bench.launchers.launcher import Launcher, LauncherKind, OptionKind
from etherweave.bench.launchers.mpirun import lacking
from etherweave.bench.launchers.site_launcher import SiteLauncher, fixed_context
from etherweave.bench.site.values import ClusterSite, SiteFabric


def _make(site: ClusterSite, link: SiteFabric | None) -> Launcher:
    shell = remote_shell(site)
    context = fixed_context(SshAccess(site, shell), site, None)
    return SiteLauncher("ssh", site, link, context, lambda: lacking(shell[0]))


KIND = LauncherKind("ssh", _make, {"shell": OptionKind.TEXTS})
