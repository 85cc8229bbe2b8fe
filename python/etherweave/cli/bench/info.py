"""The verbs ``bench list`` and ``bench info``."""

import json
from dataclasses import asdict
from difflib import get_close_matches

from etherweave.bench.adapters import ADAPTERS
from etherweave.bench.campaigns.campaign import adapter_of
from etherweave.bench.programs.adapter import Adapter
from etherweave.bench.programs.binaries import Binary, find
from etherweave.bench.programs.catalogue import CatalogueEntry, catalogue
from etherweave.bench.programs.plans import (
    BenchmarkPlan,
    BenchmarkPlanError,
    BenchmarkRequest,
    FabricEstimate,
    nodes_least,
)
from etherweave.cli.bench.printing import plan_rows
from etherweave.cli.design_page import print_table
from etherweave.cli.exits import reject
from etherweave.cli.parameters import AsJson


def info(name: str, *, as_json: AsJson = False) -> None:
    """Describe a benchmark: metrics, plan, checks, how to obtain it, and what is installed.

    The plan is that of the named program, or of the first one, on the fewest hosts that it needs.

    Parameters
    ----------
    name
        Benchmark as `bench list` names it, or one of its programs.
    """
    adapter, program = _known(name)
    entry = entry_of(adapter.name if adapter else name)
    every = (*adapter.programs, *adapter.rarer) if adapter else ()
    known = {other: binary for other in every if adapter and (binary := find(adapter, other))}
    show = _json if as_json else _print
    show(entry, adapter, program, known)


def _known(name: str) -> tuple[Adapter | None, str]:
    """Find who reads a benchmark or a program, if anybody does, and the program to be planned."""
    if name in catalogue() and name not in ADAPTERS:
        return None, name
    try:
        return adapter_of(name)
    except BenchmarkPlanError:
        return None, name


def entry_of(name: str) -> CatalogueEntry:
    """Find a benchmark, or end with what it might have been."""
    entries = catalogue()
    if name not in entries:
        near = get_close_matches(name, entries, n=3, cutoff=0.7)
        nearest = f"nearest: {', '.join(near)}; " if near else ""
        reject(f"unknown benchmark {name}; {nearest}`etherweave bench list` has all")
    return entries[name]


def _json(
    entry: CatalogueEntry, adapter: Adapter | None, program: str, binaries: dict[str, Binary]
) -> None:
    facts = entry.facts() | {"programs": {}, "metrics": [], "checks": [], "plan": None}
    if adapter:
        facts["metrics"] = [asdict(metric) for metric in adapter.metrics]
        facts["checks"] = adapter.checks
        planned = _plan(adapter, program)
        facts["plan"] = None if isinstance(planned, str) else asdict(planned)
        facts["programs"] = {
            name: {"path": str(binary.path), "version": binary.version, "mpi": binary.mpi}
            for name, binary in binaries.items()
        }
    print(json.dumps(facts, indent=2))


def _print(
    entry: CatalogueEntry, adapter: Adapter | None, program: str, binaries: dict[str, Binary]
) -> None:
    print(f"{entry.title} ({entry.name})")
    rows = [
        ("measures", entry.measures),
        ("layer", entry.layer),
        ("transport", entry.transport),
        *([("language", entry.language)] if entry.language else []),
        ("obtain", entry.obtained or "no package known"),
    ]
    if adapter is None:
        rows.append(("not parsed", entry.why_not))
    print_table(("", ""), rows)
    if adapter is None:
        return
    metrics = [(row.name, row.unit, row.better, row.meaning) for row in adapter.metrics]
    print_table(("metric", "unit", "better", ""), metrics)
    planned = _plan(adapter, program)
    if isinstance(planned, str):
        print(f"not planned: {planned}")
    else:
        print_table((f"plan of {planned.program}", ""), plan_rows(planned))
    print_table(("a result counts if", ""), [(check, "") for check in adapter.checks])
    options = [
        (", ".join(option.names), option.shown, option.meaning or f"set by {option.setter}")
        for option in adapter.options.options
    ]
    if options:
        print_table(("option after --", "value", ""), options)
    words = adapter.options.words_of(program)
    if words:
        print(f"arguments after --: {', '.join(words)}")
    every = (*adapter.programs, *adapter.rarer)
    for other in every:
        if other in adapter.options.words and adapter.options.words_of(other) != words:
            print(f"arguments of {other} after --: {', '.join(adapter.options.words_of(other))}")
    programs = [(name, *_location(binaries.get(name))) for name in every]
    print_table(("program", "version", "MPI", "found"), programs)


def _plan(adapter: Adapter, program: str) -> BenchmarkPlan | str:
    try:
        return adapter.plan(BenchmarkRequest(program, nodes=nodes_least(program)), FabricEstimate())
    except BenchmarkPlanError as error:
        return str(error)


def _location(binary: Binary | None) -> tuple[str, str, str]:
    if binary is None:
        return "", "", "not in PATH"
    return binary.version or "", binary.mpi or "", str(binary.path)


def list_verb(as_json: AsJson = False) -> None:
    """List the known benchmarks: what they measure, and whether their results are parsed."""
    entries = catalogue().values()
    if as_json:
        print(json.dumps([entry.facts() for entry in entries], indent=2))
        return
    rows = ((row.name, row.layer, "yes" if row.is_read else "", row.measures) for row in entries)
    print_table(("name", "layer", "parsed", "measures"), rows)
