"""Where something is measured: a site's file, and what of it takes part."""

from pathlib import Path
from typing import NamedTuple

from etherweave.bench.site.reading import read
from etherweave.bench.site.values import ClusterSite, SiteError, SiteFabric
from etherweave.cli.exits import refuse, told


class Ground(NamedTuple):
    """What a site's file says, as far as it takes part."""

    site: ClusterSite
    link: SiteFabric | None
    hosts: tuple[str, ...] | None
    """As ranks go; all of them when nobody says."""


def read_ground(file: Path, fabric: str | None, hosts: str | None) -> Ground:
    """Read a site; of a single fabric nobody needs to tell the name."""
    try:
        site = read(file)
        if fabric is None and len(site.links) > 1:
            known = ", ".join(link.name for link in site.links)
            refuse(f"{file}: has several fabrics; expected --fabric with one of {known}")
        link = site.link(fabric) if fabric else next(iter(site.links), None)
    except SiteError as error:
        refuse(error)
    except OSError as error:
        refuse(told(error))
    return Ground(site, link, tuple(hosts.split(",")) if hosts else None)
