"""The verb ``bench environment``."""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer

from etherweave.api.inputs import read_bytes
from etherweave.bench.campaigns.cluster import Cluster, cluster_of
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
from etherweave.bench.site.reading import read
from etherweave.bench.site.values import SiteError
from etherweave.cli.bench.amounts import existing, octets
from etherweave.cli.exits import FAILED, mistakes, reject
from etherweave.cli.parameters import AsJson, Positive

_SIZE_MAX = 1 << 26  # Largest snapshot [bytes].


def environment(
    *,
    interface: list[str] | None = None,
    to: list[str] | None = None,
    before: Path | None = None,
    other: list[Path] | None = None,
    traffic: str | None = None,
    processes: Positive | None = None,
    root: Path = Path("/"),
    site: Path | None = None,
    as_json: AsJson = False,
) -> None:
    """Print what about this host impairs measurements, and how to correct it.

    With --site, about every host of a site, through its launcher. Nothing is changed. What cannot
    be read is reported as unchecked. Exits with 1 when there is a warning.

    Parameters
    ----------
    interface : -i NAME
        Inspect this interface, the first one as the one to be measured; repeatable.
    to : HOST
        Check that a packet as large as the MTU reaches this host; repeatable.
    before : FILE
        Compare with what --json printed before a run.
    other : FILE
        Compare with what --json printed on another host; repeatable; - is standard input.
    traffic : SIZE
        Check that the interface has carried at least this since --before, such as 5GB.
    processes
        Number of processes that a run will start on this host.
    root : DIRECTORY
        Read proc and sys of a host below here, and start no tool.
    site : FILE
        Inspect all hosts of this site instead.
    """
    bytes_expected = octets("--traffic", traffic) if traffic else None
    if site:
        if any((interface, to, before, other, bytes_expected, processes, root != ROOT)):
            reject("--site: expected no option beside it but --json")
        _everywhere(site, as_json)
        return
    if not ((root / "proc").is_dir() or (root / "sys").is_dir()):
        reject(f"--root {root}: expected a directory with proc and sys of a host")
    if bytes_expected is not None and before is None:
        reject("--traffic: counts since an earlier inspection; expected --before FILE")
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
    with mistakes(SiteError):
        cluster = cluster_of(read(site))
    # Hosts that a batch system starts things on share this directory, if any.
    with TemporaryDirectory(prefix=".etherweave-inspection-", dir=Path.cwd()) as directory:
        inspections = [
            inspection
            for fabric, launcher in cluster.launchers.items()
            for inspection in _inspected(launcher, fabric, cluster, Path(directory))
        ]
    _end({"hosts": inspection_facts(inspections, ())}, inspection_findings(inspections), as_json)


def _inspected(
    launcher: Launcher, fabric: str, cluster: Cluster, directory: Path
) -> list[HostInspection]:
    home = directory / fabric
    home.mkdir()
    return inspect_hosts(launcher, fabric, cluster.hosts, cluster.python, home)


def _end(facts: Mapping[str, Any], findings: list[EnvironmentFinding], as_json: bool) -> None:
    if as_json:
        print(json.dumps({**facts, "findings": [asdict(row) for row in findings]}, indent=2))
    else:
        _print(findings)
    if any(finding.severity is Severity.WARNING for finding in findings):
        raise typer.Exit(FAILED)


def _read(path: Path) -> Snapshot:
    with mistakes():
        is_input = str(path) == "-"
        data = sys.stdin.buffer.read(_SIZE_MAX) if is_input else read_bytes(path, _SIZE_MAX)
    expected = "; expected what `etherweave bench environment --json` writes"
    with mistakes(ValueError, before=f"{path}: ", after=expected):
        return snapshot(data.decode(errors="replace"))


def _print(findings: list[EnvironmentFinding]) -> None:
    for finding in findings:
        print(f"{finding.severity}: {finding.check}: {finding.where}: {finding.what}")
        if finding.severity is not Severity.GAP:
            print(f"  {finding.do}")
