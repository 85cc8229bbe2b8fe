"""Processes on other hosts by ssh; ranks of MPI are for ``mpirun``."""

from etherweave.bench.launchers.kind import Kind, OptionKind
from etherweave.bench.launchers.launcher import Launcher
from etherweave.bench.launchers.mpirun import lacking
from etherweave.bench.launchers.placed import Placed, steady
from etherweave.bench.launchers.places import BySsh, remote_shell
from etherweave.bench.site.values import Link, Site


def _make(site: Site, link: Link | None) -> Launcher:
    shell = remote_shell(site)
    ground = steady(BySsh(site, shell), site, None)
    return Placed("ssh", site, link, ground, lambda: lacking(shell[0]))


KIND = Kind("ssh", _make, {"shell": OptionKind.TEXTS})
