"""The launchers by name: those of a few lines here, the others in a module each."""

from etherweave.bench.launchers import mpirun, netns, sbatch, srun
from etherweave.bench.launchers.access import LocalAccess, SshAccess, remote_shell
from etherweave.bench.launchers.launcher import Launcher, LauncherKind, OptionKind
from etherweave.bench.launchers.mpirun import Mpirun, lacking
from etherweave.bench.launchers.site_launcher import SiteLauncher, fixed_context
from etherweave.bench.site.values import ClusterSite, SiteFabric


def _make_local(site: ClusterSite, link: SiteFabric | None) -> Launcher:
    starter = Mpirun(site, site.text("program", "mpirun"), site.texts("arguments"))
    context = fixed_context(LocalAccess(site), site, starter)
    return SiteLauncher("local", site, link, context, lambda: lacking("sh", "timeout"))


def _make_ssh(site: ClusterSite, link: SiteFabric | None) -> Launcher:
    shell = remote_shell(site)
    context = fixed_context(SshAccess(site, shell), site, None)
    return SiteLauncher("ssh", site, link, context, lambda: lacking(shell[0]))


LOCAL = LauncherKind(
    "local", _make_local, {"program": OptionKind.TEXT, "arguments": OptionKind.TEXTS}, is_here=True
)
"""Everything on this machine, without a network: for tests of programs."""
SSH = LauncherKind("ssh", _make_ssh, {"shell": OptionKind.TEXTS})
"""Processes on other hosts by ssh; ranks of MPI need ``mpirun``."""
LAUNCHERS: dict[str, LauncherKind] = {
    kind.name: kind for kind in (LOCAL, mpirun.KIND, netns.KIND, sbatch.KIND, srun.KIND, SSH)
}
"""Launchers by the name in a site's file."""


def launcher(site: ClusterSite, link: SiteFabric | None = None) -> Launcher:
    """Return the launcher of a site.

    ``link`` is the fabric that programs use; they choose themselves if ``None``.
    """
    return LAUNCHERS[site.launcher].make(site, link)
