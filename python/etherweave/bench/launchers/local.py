"""Everything on this machine: what tests of programs need, and no network."""

from etherweave.bench.launchers.kind import Kind, OptionKind
from etherweave.bench.launchers.launcher import Launcher
from etherweave.bench.launchers.mpirun import Mpirun, lacking
from etherweave.bench.launchers.placed import Placed, steady
from etherweave.bench.launchers.places import Here
from etherweave.bench.site.values import Link, Site


def _make(site: Site, link: Link | None) -> Launcher:
    starter = Mpirun(site, site.text("program", "mpirun"), site.texts("arguments"))
    ground = steady(Here(site), site, starter)
    return Placed("local", site, link, ground, lambda: lacking("sh", "timeout"))


KIND = Kind(
    "local",
    _make,
    {"program": OptionKind.TEXT, "arguments": OptionKind.TEXTS},
    is_here=True,
)
