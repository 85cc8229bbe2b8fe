"""The verb ``bench environment``."""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from etherweave.bench.environment.checks import examine
from etherweave.bench.environment.findings import EnvironmentFinding, Evidence, Run, Severity
from etherweave.bench.environment.inspections import (
    HostInspection,
    inspect_hosts,
    inspection_facts,
    inspection_findings,
)
from etherweave.bench.environment.readers import ROOT, take
from etherweave.bench.environment.readers.files import run_tool
from etherweave.bench.environment.snapshot import Snapshot, snapshot
from etherweave.bench.launchers import Launcher
from etherweave.cli.bench.cluster import Cluster, cluster_of
from etherweave.cli.bench.interfaces import existing
from etherweave.cli.exits import FAILED, refuse, told
from etherweave.cli.parameters import AsJson

EXAMPLES = """Examples:

etherweave bench environment --interface eth0 --to node2

etherweave bench environment --site cluster.toml

etherweave bench environment --json > before.json

etherweave bench environment --before before.json --interface eth0 --bytes 5e9

ssh node2 etherweave bench environment --json | etherweave bench environment --other -"""

Interfaces = Annotated[
    list[str] | None,
    typer.Option(
        "--interface",
        "-i",
        help="Look at this one; as often as needed. The first is the one to be measured.",
    ),
]
To = Annotated[
    list[str] | None,
    typer.Option("--to", metavar="HOST", help="Does a packet of the MTU arrive there?"),
]
Before = Annotated[
    Path | None,
    typer.Option("--before", metavar="FILE", help="What --json wrote before a run."),
]
Others = Annotated[
    list[Path] | None,
    typer.Option(
        "--other",
        metavar="FILE",
        help="What --json wrote on another host; as often as needed. - is standard input.",
    ),
]
Bytes = Annotated[
    float | None,
    typer.Option(
        "--bytes", min=0, help="What must have crossed the interface since --before, in bytes."
    ),
]
Processes = Annotated[
    int | None, typer.Option(min=1, help="How many a run will start on this host.")
]
SiteFile = Annotated[
    Path | None,
    typer.Option("--site", metavar="FILE", help="Look at all hosts of this site instead."),
]
Root = Annotated[
    Path, typer.Option(metavar="DIRECTORY", help="Holds proc and sys of a host; starts no tool.")
]


def environment(
    interface: Interfaces = None,
    to: To = None,
    before: Before = None,
    other: Others = None,
    bytes_expected: Bytes = None,
    processes: Processes = None,
    root: Root = ROOT,
    site: SiteFile = None,
    as_json: AsJson = False,
) -> None:
    """Tell what about this host spoils measurements, and what to do about it.

    With --site, about every host of a site, through its launcher. Nothing is changed. What cannot
    be read is said to be unchecked. Ends with 1 when there is a warning.
    """
    if site:
        if any((interface, to, before, other, bytes_expected, processes, root != ROOT)):
            refuse("--site: expected no option beside it but --json")
        _everywhere(site, as_json)
        return
    if not root.is_dir():
        refuse(f"--root {root}: expected a directory with proc and sys of a host")
    if bytes_expected is not None and before is None:
        refuse("--bytes: counts since an earlier look; expected --before FILE")
    existing(interface or (), root)
    tools = run_tool if root == ROOT else None
    now = take(root, interfaces=interface or (), to=to or (), tools=tools)
    run = Run((interface or [""])[0], bytes_expected, processes)
    others = tuple(_read(path) for path in other or ())
    earlier = _read(before) if before else None
    evidence = Evidence(earlier or now, now if earlier else None, others, run)
    findings = examine(evidence)
    _end({"snapshot": now.facts()}, findings, as_json)


def _everywhere(site: Path, as_json: bool) -> None:
    cluster = cluster_of(site, (), None)
    # Hosts that a batch system starts things on share this directory, if any.
    with TemporaryDirectory(prefix=".etherweave-look-", dir=Path.cwd()) as directory:
        views = [
            view
            for fabric, launcher in cluster.launchers.items()
            for view in _look(launcher, fabric, cluster, Path(directory))
        ]
    _end({"hosts": inspection_facts(views, ())}, inspection_findings(views), as_json)


def _look(
    launcher: Launcher, fabric: str, cluster: Cluster, directory: Path
) -> list[HostInspection]:
    home = directory / fabric
    home.mkdir()
    return inspect_hosts(launcher, fabric, cluster.hosts, cluster.python, home)


def _end(seen: Mapping[str, Any], findings: list[EnvironmentFinding], as_json: bool) -> None:
    print(_json(seen, findings)) if as_json else _print(findings)
    if any(one.severity is Severity.WARNING for one in findings):
        raise typer.Exit(FAILED)


def _read(path: Path) -> Snapshot:
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text(errors="replace")
        return snapshot(text)
    except OSError as error:
        refuse(told(error))
    except ValueError as error:
        refuse(f"{path}: {error}; expected what `etherweave bench environment --json` writes")


def _json(seen: Mapping[str, Any], findings: list[EnvironmentFinding]) -> str:
    return json.dumps({**seen, "findings": [asdict(one) for one in findings]}, indent=2)


def _print(findings: list[EnvironmentFinding]) -> None:
    for one in findings:
        print(f"{one.severity}: {one.check}: {one.where}: {one.what}")
        if one.severity is not Severity.GAP:
            print(f"  {one.do}")
