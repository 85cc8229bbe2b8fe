"""The verb ``control lint``."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from etherweave.cli.exits import FAILED, alarm, refuse, told
from etherweave.cli.parameters import AsJson
from etherweave.control import lint as linter

EXAMPLES = """Examples:

etherweave control lint fabric

etherweave control lint /etc/sonic/config_db.json

etherweave control lint leaf0.json leaf1.json --json"""

SUFFIXES = (".json", ".sh", ".cfg")
"""Of files in a directory that may be configurations."""
SIZE_MAX = 64 * 2**20
"""A configuration is smaller [B]."""
PLACES_SHOWN = 3


def lint(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="DIR|FILE...",
            help="Directories of `control export`, or files: config_db.json of SONiC, scripts of "
            "hosts. All are checked together.",
        ),
    ] = None,
    rules: Annotated[
        bool, typer.Option("--rules", help="Only tell which rules there are, and why.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check that configurations would lose nothing: buffers, maps, weights, MTU, hosts.

    Ends with 1 when something is wrong, and with 2 after a mistake.
    """
    if rules:
        print("\n".join(f"{one.name:15}{one.why}" for one in linter.RULES))
        return
    if not paths:
        refuse("nothing to lint; expected directories or files")
    try:
        site = linter.read({str(path): _text(path) for path in _files(paths)})
    except linter.ConfigError as error:
        refuse(error)
    except OSError as error:
        refuse(told(error))
    if not (site.switches or site.hosts):
        refuse(f"{paths[0]}: no config_db.json and no host's script; expected one of them")
    findings = linter.lint(site)
    for path in site.unread:
        alarm(f"note: {path}: not read; the linter knows SONiC's config_db.json and hosts' scripts")
    if as_json:
        print(json.dumps([asdict(one) for one in findings], indent=1))
    else:
        _print(site, findings)
    if findings:
        raise typer.Exit(FAILED)


def _files(paths: list[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            inside = (one for one in path.rglob("*") if one.suffix in SUFFIXES and one.is_file())
            yield from sorted(inside)
        else:
            yield path


def _text(path: Path) -> str:
    if path.stat().st_size > SIZE_MAX:
        refuse(f"{path}: {path.stat().st_size:,} B; expected a configuration of at most 64 MiB")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        refuse(f"{path}: byte {error.start}: expected UTF-8 text")


def _print(site: linter.Configurations, findings: list[linter.LintFinding]) -> None:
    for one in findings:
        places = ", ".join(one.places[:PLACES_SHOWN])
        more = len(one.places) - PLACES_SHOWN
        places += f" and {more} more" if more > 0 else ""
        print(f"{one.file}: {places}: {one.found}; expected {one.expected}")
        print(f"    {one.rule}: {one.why}")
    counts = f"{len(site.switches)} switches, {len(site.hosts)} hosts"
    print(f"{len(findings)} findings in {counts}" if findings else f"nothing wrong in {counts}")
