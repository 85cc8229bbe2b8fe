"""The verb ``control lint``."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from etherweave.cli.exits import FAILED, mistakes, print_error, reject
from etherweave.cli.parameters import AsJson
from etherweave.control import lint as linter
from etherweave.inputs import read_text

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
            help="Directories of `control export`, or files to check together: config_db.json of "
            "SONiC, scripts of hosts.",
        ),
    ] = None,
    rules: Annotated[
        bool, typer.Option("--rules", help="List the rules and their reasons; check nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check configurations for lost packets: buffers, maps, weights, MTU, hosts.

    Exit code 1: there are findings; 2: a mistake.
    """
    if rules:
        print("\n".join(f"{one.name:15}{one.why}" for one in linter.RULES))
        return
    if not paths:
        reject("no files to check; expected directories or files")
    with mistakes(linter.ConfigError):
        site = linter.read({str(path): read_text(path, SIZE_MAX) for path in _files(paths)})
    if not (site.switches or site.hosts):
        reject(f"{paths[0]}: no config_db.json and no script of a host; expected one of them")
    findings = linter.lint(site)
    for path in site.unread:
        print_error(
            f"note: {path}: not read; the linter knows SONiC's config_db.json and hosts' scripts"
        )
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


def _print(site: linter.Configurations, findings: list[linter.LintFinding]) -> None:
    for one in findings:
        places = ", ".join(one.places[:PLACES_SHOWN])
        more = len(one.places) - PLACES_SHOWN
        places += f" and {more} more" if more > 0 else ""
        print(f"{one.file}: {places}: {one.found}; expected {one.expected}")
        print(f"    {one.rule}: {one.why}")
    counts = f"{len(site.switches)} switches, {len(site.hosts)} hosts"
    print(f"{len(findings)} findings in {counts}" if findings else f"no findings in {counts}")
