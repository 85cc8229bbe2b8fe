"""The verb ``bench site``."""

import json
import shlex
from dataclasses import asdict
from pathlib import Path

import typer

from etherweave.api.units import Unit, amount
from etherweave.bench.launchers.registry import launcher
from etherweave.bench.site.reading import read
from etherweave.bench.site.reframe import converted
from etherweave.bench.site.values import ClusterSite, SiteError, SiteFabric
from etherweave.cli.design_page import print_table
from etherweave.cli.exits import FAILED, mistakes, print_error, reject
from etherweave.cli.parameters import AsJson

_AMOUNTS = ("rate", "burst", "wait")  # Options of launchers that have a unit.


def site(
    file: Path | None = None,
    *,
    import_reframe: Path | None = None,
    partition: str | None = None,
    as_json: AsJson = False,
) -> None:
    """Check a site's file, and print its hosts, launcher, fabrics and their variables.

    Starts no program on other hosts. Exits with 1 when this machine lacks what the launcher needs,
    with 2 when the file is wrong.

    Parameters
    ----------
    file
        TOML file of a site.
    import_reframe : FILE
        Print a partition of this ReFrame configuration as a site; JSON, or Python with one literal,
        which is never executed.
    partition : SYSTEM:PARTITION
        Partition of the ReFrame configuration, if it has several.
    """
    if (file is None) == (import_reframe is None):
        reject("expected FILE or --import-reframe FILE")
    with mistakes(SiteError):
        if import_reframe:
            print(converted(import_reframe, partition), end="")
            return
        assert file is not None
        cluster_site = read(file)
    lacks = launcher(cluster_site).missing()
    print(_json(cluster_site, lacks)) if as_json else _print(cluster_site)
    if lacks:
        print_error(f"launcher {cluster_site.launcher}: {lacks}")
        raise typer.Exit(FAILED)


def _json(cluster_site: ClusterSite, lacks: str) -> str:
    facts = asdict(cluster_site) | {
        "options": dict(cluster_site.options),
        "environment": dict(cluster_site.environment),
        "missing": lacks,
    }
    return json.dumps(facts, indent=2)


def _print(cluster_site: ClusterSite) -> None:
    print(f"{cluster_site.name}, started by {cluster_site.launcher}")
    rows = [(name, _shown(name, value)) for name, value in cluster_site.options.items()]
    rows += [("modules", " ".join(cluster_site.modules))] * bool(cluster_site.modules)
    rows += [(name, value) for name, value in cluster_site.environment]
    if rows:
        print_table(("", ""), rows)
    print()
    hosts = [
        (host.name, host.address, host.interface or "", host.switch or "")
        for host in cluster_site.hosts
    ]
    print_table(("host", "address", "interface", "switch"), hosts)
    if cluster_site.switches:
        print()
        switches = [
            (switch.name, switch.reader, shlex.join(switch.ask)) for switch in cluster_site.switches
        ]
        print_table(("switch", "reader", "asked by"), switches)
    for link in cluster_site.links:
        print()
        _print_link(link)


def _shown(name: str, value: object) -> str:
    """Write an option of the launcher, with its unit."""
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    if not isinstance(value, int | float) or name not in _AMOUNTS:
        return f"{value}"
    if name == "burst":
        return f"{value:,.0f} B"
    return _bits(value) if name == "rate" else amount(value, Unit.SECONDS)


def _bits(rate: float) -> str:
    return amount(8 * rate, Unit.BYTES_PER_SECOND).replace("B/s", "b/s")


def _print_link(link: SiteFabric) -> None:
    print(f"fabric {link.name}: {link.kind} by {link.stack}, {_bits(link.rate)}")
    rows = [(name, value) for name, value in link.environment]
    rows += [(f"address of {host}", address) for host, address in link.addresses]
    print_table(("", ""), rows)
