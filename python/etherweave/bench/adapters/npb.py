"""NAS Parallel Benchmarks over MPI: the block of names and values at the end of a kernel.

A number counts only if the kernel verified its result.
"""

import re
from dataclasses import replace

from etherweave.bench.programs import data_traffic, plans
from etherweave.bench.programs.adapter import adapter
from etherweave.bench.programs.program_options import OptionTable
from etherweave.bench.texts.draft import Draft, decimal, find
from etherweave.measurements.benchmark_report import GarbledError, check_agreement
from etherweave.measurements.metrics import ELAPSED, OPERATION_RATE

_TITLE = (
    r" NAS Parallel Benchmarks \d[\d.]* -- (?:BT|CG|DT|EP|FT|IS|LU|MG|SP|UA)(?:-MZ)? Benchmark\s*$"
)
_ITEM = re.compile(r" ([A-Z][\w /]*?) *= +(\S.*?)\s*")
_DONE = re.compile(r"^ (\w{2})(?:[_-][\w.-]+)? Benchmark Completed")
_CLASS = re.compile(r"\(class (\w)\)")
_NEEDED = ("Class", "Time in seconds", "Total processes", "Mop/s total", "Mop/s/process")
_SECONDS = {"S": 1, "W": 3, "A": 20, "B": 80, "C": 320, "D": 5000, "E": 80_000, "F": 10**6}
"""Time of one process by class, roughly, to forecast [s]."""
_KERNELS = ("bt", "cg", "ep", "ft", "is", "lu", "mg", "sp")
_OTHERS = ("dt", "bt-mz", "lu-mz", "sp-mz")
_WITHOUT_MPI = ("dc", "ua")


def _parse(draft: Draft) -> None:
    first, *rest = draft.block.lines
    kernel = first.text.split()[-2]
    seen: dict[str, tuple[str, int]] = {}
    for line in rest:
        item = _ITEM.fullmatch(line.text)
        if item and item[1] in (*_NEEDED, "Verification", "Version", "Active processes"):
            if item[1] in seen:
                raise GarbledError(line.number, f"{item[1]} occurs twice")
            seen[item[1]] = item[2], line.number
    missing = [name for name in (*_NEEDED, "Verification", "Version") if name not in seen]
    if missing:
        raise GarbledError(draft.block.end, f"{missing[0]} is missing: the text is cut")
    done = next((match for _, match in find(_DONE, rest)), None)
    if done is None or done[1] != kernel.removesuffix("-MZ"):
        raise GarbledError(draft.block.end, f"the end is not of {kernel}: two runs are mixed")
    kind = seen["Class"][0]
    if kind not in _SECONDS:
        raise GarbledError(seen["Class"][1], f"class {kind[:20]!r} is not known")
    others = {match[1] for _, match in find(_CLASS, rest)} - {kind}
    if others:
        raise GarbledError(seen["Class"][1], f"class {kind}, and class {min(others)} above")
    draft.program, draft.version = f"{kernel.lower()}.{kind}.x", seen["Version"][0]
    draft.facts["processes"] = seen["Total processes"][0]
    verdict = seen["Verification"][0]
    draft.check(verdict == "SUCCESSFUL", f"the kernel's verification: {verdict}")
    if verdict == "SUCCESSFUL":
        _take(draft, seen, [("kernel", kernel), ("class", kind)])
    if "Active processes" in seen and seen["Active processes"][0] != seen["Total processes"][0]:
        draft.warn(f"only {seen['Active processes'][0]} processes took part")
    draft.end(True, "")


def _take(draft: Draft, seen: dict[str, tuple[str, int]], labels: list[tuple[str, str]]) -> None:
    total, line = seen["Mop/s total"]
    each = float(decimal(*seen["Mop/s/process"]))
    active = float(decimal(*seen.get("Active processes", seen["Total processes"])))
    rounding = 0.001 + 0.006 / max(each, 0.01)
    check_agreement(
        line, "total and each process", float(decimal(total, line)), each * active, rounding
    )
    draft.add(OPERATION_RATE, total, "M/s", line, labels=labels)
    time, line = seen["Time in seconds"]
    if decimal(time, line):
        draft.add(ELAPSED, time, "s", line, labels=labels)
    else:
        draft.warn("the time printed as 0.00 is left out: too short to be printed")


def _plan(request: plans.BenchmarkRequest, fabric: plans.FabricEstimate) -> plans.BenchmarkPlan:
    ranks = plans.need_ranks(request, 1, request.program)
    match = re.fullmatch(r"([a-z-]+)\.([A-F]|S|W)\.x", request.program)
    if not match or match[1] not in (*_KERNELS, *_OTHERS):
        raise plans.BenchmarkPlanError(
            f"expected a program such as cg.C.x, found {request.program}"
        )
    kernel, kind = match.groups()
    if kernel in ("bt", "sp") and int(ranks**0.5) ** 2 != ranks:
        raise plans.BenchmarkPlanError(f"{kernel} wants a square number of ranks, not {ranks}")
    if kernel in ("cg", "ft", "is", "mg") and ranks & (ranks - 1):
        raise plans.BenchmarkPlanError(f"{kernel} wants a power of two of ranks, not {ranks}")
    if kernel == "dt":
        return _plan_graph(request, fabric, ranks)
    seconds = _SECONDS[kind] / ranks
    basis = "a guess by class; communication is taken to be a tenth"
    forecast = plans.RunForecast(0.1 * seconds * fabric.rate, seconds, basis)
    return plans.all_ranks(request, (request.program,), forecast)


def _plan_graph(
    request: plans.BenchmarkRequest, fabric: plans.FabricEstimate, ranks: int
) -> plans.BenchmarkPlan:
    """Plan DT: its graph is an argument, and needs a rank for each node."""
    kind = next(iter(request.options.words), data_traffic.GRAPHS[0])
    if len(request.options.words) > 1:
        words = ", ".join(data_traffic.GRAPHS)
        raise plans.BenchmarkPlanError(f"{request.program} has one graph; expected one of {words}")
    graph = data_traffic.graph_of(request.program, kind)
    if graph is None:
        names = ", ".join(data_traffic.CLASSES)
        raise plans.BenchmarkPlanError(f"{request.program}: DT has the classes {names}")
    plans.need_ranks(request, graph.nodes, f"{request.program} {kind}")
    sent = graph.arcs_sent * graph.array * min(request.ranks_per_node, graph.nodes)
    seconds = graph.arcs_in_turn * (graph.array / fabric.rate + fabric.latency)
    basis = f"{graph.arcs_in_turn} arrays in turn along {len(graph.layers)} layers"
    base = replace(request, options=plans.GivenOptions())
    is_wide = ranks > graph.nodes
    notes = (f"the graph has {graph.nodes} ranks; the others do nothing",) if is_wide else ()
    forecast = plans.RunForecast(sent, seconds, f"{basis}, without computing")
    return plans.all_ranks(base, (request.program, kind), forecast, notes=notes)


ADAPTER = adapter(
    "npb",
    plan=_plan,
    parse=_parse,
    programs=tuple(f"{kernel}.C.x" for kernel in _KERNELS),
    rarer=tuple(f"{kernel}.C.x" for kernel in _OTHERS),
    options=OptionTable(
        words={f"dt.{kind}.x": data_traffic.GRAPHS for kind in data_traffic.CLASSES}
    ),
    begins=_TITLE,
    refused={
        f"bt.C.x.{way}_io": "it measures files, not a network"
        for way in ("ep", "fortran", "mpi_simple", "mpi_full")
    }
    | {f"{kernel}.C.x": f"{kernel} has no version for MPI" for kernel in _WITHOUT_MPI},
)
