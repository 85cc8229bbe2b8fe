"""Everything on this machine: what tests of programs need, and no network."""

from etherweave.bench.launchers.access import LocalAccess
from etherweave.bench.launchers.launcher import Launcher, LauncherKind, OptionKind
from etherweave.bench.launchers.mpirun import Mpirun, lacking
from etherweave.bench.launchers.site_launcher import SiteLauncher, fixed_context
from etherweave.bench.site.values import ClusterSite, SiteFabric


def _make(site: ClusterSite, link: SiteFabric | None) -> Launcher:
    starter = Mpirun(site, site.text("program", "mpirun"), site.texts("arguments"))
    context = fixed_context(LocalAccess(site), site, starter)
    return SiteLauncher("local", site, link, context, lambda: lacking("sh", "timeout"))


KIND = LauncherKind(
    "local",
    _make,
    {"program": OptionKind.TEXT, "arguments": OptionKind.TEXTS},
    is_here=True,
)
