"""High-Performance Linpack: rows count only if their residual check passed.

NVIDIA's prints the rate of a GPU behind that of all, in parentheses, and rounds both to four
digits. HPL-AI's computes in mixed precision: its rate is of the factorisation, the last column of
the solve with its refinement.
"""

import re

from etherweave.bench.programs import plans
from etherweave.bench.programs.adapter import adapter
from etherweave.bench.texts.draft import FIXED_2, INTEGER, Draft, fields
from etherweave.measurements.benchmark_report import TextLine, check_agreement
from etherweave.measurements.hpcc import flops
from etherweave.measurements.metrics import ELAPSED, FLOP_RATE

CORE_FLOPS = 20e9  # Assumed rate of a core [flop/s], to forecast.
MEMORY_RANK = 2**30  # Part of the matrix of a rank, unless options say otherwise [bytes].
_ROW = re.compile(r"\s*(?:HPL_AI\s+)?W\S*\s+\d")
_TABLE = r"[ \t]*T/V[ \t]+N[ \t]+NB[ \t]+P[ \t]+Q[ \t]+Time[ \t]+Gflops"
_VARIANT = re.compile(r"W[RC]\d{1,3}(?:[LCR]\d{1,3}[LCR]\d{1,3})?")
_RATE = re.compile(r"[0-9]\.[0-9]{3,4}e[+-][0-9]{2}")
_EACH = re.compile(r"\s*\(\s*([0-9]\.[0-9]{3,4}e[+-][0-9]{2})\)\s*$")
_NVIDIA = re.compile(r"HPL-NVIDIA (\S+)")
_MIXED = "HPL_AI"
_LONG_RATE = len("1.2345e+00")
_KINDS = (_VARIANT, INTEGER, INTEGER, INTEGER, INTEGER, FIXED_2, _RATE)
_VERDICT = re.compile(r"\|\|Ax-b\|\|_oo/.*\.{3,} (PASSED|FAILED)\s*$")
_COUNTS = re.compile(r"\s*(\d+) tests? completed and (passed|failed) residual checks,\s*$")


def _parse(draft: Draft) -> None:
    draft.program = "xhpl"
    _take_version(draft)
    row: TextLine | None = None
    passed = failed = 0
    is_over = False
    for line in draft.block.lines:
        if _ROW.match(line.text):
            row = line
        elif verdict := _VERDICT.match(line.text.strip()):
            if row is not None:
                passed, failed = (
                    passed + (verdict[1] == "PASSED"),
                    failed + (verdict[1] != "PASSED"),
                )
                _take(draft, row, verdict[1])
            row = None
        elif counts := _COUNTS.match(line.text):
            counted = passed if counts[2] == "passed" else failed
            if int(counts[1]) != counted:
                draft.miss(f"{counts[1]} tests {counts[2]}, of which {counted} are here")
        is_over = is_over or line.text.startswith("End of Tests.")
    if row is not None:
        draft.miss("the last test has no verdict")
    if is_over or not re.match(_TABLE, draft.block.lines[0].text):
        draft.end(is_over, "the line `End of Tests.`")


def _take_version(draft: Draft) -> None:
    version = re.match(r"HPLinpack ([\d.]+)", draft.block.lines[0].text)
    draft.version = version and version[1]
    for line in draft.block.before[-5:]:
        if nvidia := _NVIDIA.match(line.text):
            draft.facts["HPL-NVIDIA"] = nvidia[1]


def _take(draft: Draft, row: TextLine, verdict: str) -> None:
    each = _EACH.search(row.text)
    bare = row._replace(text=row.text[: each.start()]) if each else row
    solves: list[str] = []
    if bare.text.split()[0] == _MIXED:
        draft.program, solves = "xhpl_ai", bare.text.split()[8:][-1:]
        bare = row._replace(text=" ".join(bare.text.split()[1:8]))
    variant, order, block, rows, columns, seconds, rate = fields(bare, _KINDS)
    draft.check(verdict == "PASSED", f"N={order}: the residual is too large")
    if verdict != "PASSED":
        return
    labels = [("N", order), ("NB", block), ("grid", f"{rows}x{columns}"), ("variant", variant)]
    time = float(seconds)
    if time > 0.1:
        rounding = 0.001 + 0.006 / time + (0 if len(rate) == _LONG_RATE else 0.0006)
        own = flops(int(order)) / time / 1e9
        check_agreement(row.number, "order, time and rate", float(rate), own, rounding)
    draft.add(ELAPSED, seconds, "s", row.number, labels=labels)
    draft.add(FLOP_RATE, rate, "G/s", row.number, labels=labels)
    for solve in filter(_RATE.fullmatch, solves):
        labels = [*labels, ("part", "with refinement")]
        draft.add(FLOP_RATE, solve, "G/s", row.number, labels=labels)
    if each:
        _check_each(row, float(rate), float(each[1]), int(rows) * int(columns))


def _check_each(row: TextLine, rate: float, each: float, ranks: int) -> None:
    check_agreement(row.number, "the rates of all and of each GPU", rate, each * ranks, 0.002)


def grid(ranks: int) -> tuple[int, int]:
    """Part ranks into rows and columns, as square as can be, rows the fewer."""
    rows = next(rows for rows in range(int(ranks**0.5), 0, -1) if ranks % rows == 0)
    return rows, ranks // rows


def _plan(request: plans.BenchmarkRequest, fabric: plans.FabricEstimate) -> plans.BenchmarkPlan:
    ranks = plans.need_ranks(request, 1, "xhpl")
    block = 256
    largest = (MEMORY_RANK * ranks / 8) ** 0.5
    order = request.size_max or int(largest) // block * block
    if order < block:
        raise plans.BenchmarkPlanError(
            f"a matrix of order {order} is smaller than one block; expected {block} or more"
        )
    rows, columns = grid(ranks)
    compute = flops(order) / (CORE_FLOPS * ranks)
    # A rank passes its share of panels on along its row, and its share of U along its column.
    moved = 8 * order**2 / 2 * (1 / rows + 1 / columns) * request.ranks_per_node
    forecast = plans.RunForecast(
        moved, compute + moved / fabric.rate, "panels, U and 20 Gflop/s a core"
    )
    return plans.all_ranks(
        request, ("xhpl",), forecast, files=(("HPL.dat", _input(order, block, rows, columns)),)
    )


def _input(order: int, block: int, rows: int, columns: int) -> str:
    values = (
        *("HPL.out", "6", "1", str(order), "1", str(block), "0", "1", str(rows), str(columns)),
        *("16.0", "1", "0", "1", "4", "1", "2", "1", "0", "1", "0", "1", "0"),
        *("2", "64", "0", "0", "1", "8"),
    )
    names = (
        *("output file", "device", "Ns", "N", "NBs", "NB", "row-major", "grids", "P", "Q"),
        *("threshold", "PFACTs", "PFACT left", "NBMINs", "NBMIN", "NDIVs", "NDIV", "RFACTs"),
        *("RFACT left", "BCASTs", "BCAST 1ring", "DEPTHs", "DEPTH", "SWAP mix", "swapping"),
        *("L1 transposed", "U transposed", "equilibration", "alignment"),
    )
    lines = [f"{value:<12} {name}" for value, name in zip(values, names, strict=True)]
    return "\n".join(["HPLinpack benchmark input file", "Etherweave", *lines]) + "\n"


ADAPTER = adapter("hpl", plan=_plan, parse=_parse, table=_TABLE)
