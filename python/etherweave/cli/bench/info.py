"""The verb ``bench info``."""

import json
from dataclasses import asdict
from difflib import get_close_matches
from typing import Annotated

import typer

from etherweave.bench.adapter import Adapter
from etherweave.bench.adapters import ADAPTERS
from etherweave.bench.binaries import Binary, find
from etherweave.bench.catalogue import Entry, catalogue
from etherweave.cli.design_page import print_sheet
from etherweave.cli.exits import refuse
from etherweave.cli.parameters import AsJson

EXAMPLES = """Examples:

etherweave bench info osu

etherweave bench info iperf3 --json"""

Name = Annotated[str, typer.Argument(help="A benchmark, as `etherweave bench list` calls it.")]


def info(name: Name, as_json: AsJson = False) -> None:
    """Tell what a benchmark measures, how to obtain it, and which of its programs are here."""
    entry = entry_of(name)
    adapter = ADAPTERS.get(name)
    here = {program: find(adapter, program) for program in adapter.programs} if adapter else {}
    found = {program: binary for program, binary in here.items() if binary}
    print(_json(entry, adapter, found)) if as_json else _print(entry, adapter, found)


def entry_of(name: str) -> Entry:
    """Find a benchmark, or end with what it might have been."""
    entries = catalogue()
    if name not in entries:
        near = get_close_matches(name, entries, n=3) or ["etherweave bench list"]
        refuse(f"unknown benchmark {name}; known: {', '.join(near)}")
    return entries[name]


def _json(entry: Entry, adapter: Adapter | None, found: dict[str, Binary]) -> str:
    facts = asdict(entry) | {"is_read": entry.is_read, "programs": {}, "metrics": []}
    if adapter:
        facts["metrics"] = [asdict(metric) for metric in adapter.metrics]
        facts["programs"] = {
            program: {"path": str(binary.path), "version": binary.version, "mpi": binary.mpi}
            for program, binary in found.items()
        }
    return json.dumps(facts, indent=2)


def _print(entry: Entry, adapter: Adapter | None, found: dict[str, Binary]) -> None:
    print(f"{entry.title} ({entry.name})")
    rows = [
        ("measures", entry.measures),
        ("layer", entry.layer),
        ("transport", entry.transport),
        ("obtain", entry.obtained or "no package known"),
    ]
    if adapter is None:
        rows.append(("not read", entry.why_not))
    print_sheet(("", ""), rows)
    if adapter is None:
        return
    metrics = [(one.name, one.unit, one.better, one.meaning) for one in adapter.metrics]
    print_sheet(("metric", "unit", "better", ""), metrics)
    programs = [(name, *_place(found.get(name))) for name in adapter.programs]
    print_sheet(("program", "version", "MPI", "found"), programs)


def _place(binary: Binary | None) -> tuple[str, str, str]:
    if binary is None:
        return "", "", "not in PATH"
    return binary.version or "", binary.mpi or "", str(binary.path)
