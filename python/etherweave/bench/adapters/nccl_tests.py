"""nccl-tests and rccl-tests: collectives of GPUs. *GB/s* are 10^9 bytes; times are of an operation.

The bus bandwidth is the algorithm's times a factor that makes it comparable to a link's.
"""

import re

from etherweave.bench.adapter import Adapter
from etherweave.bench.checks import check_agreement
from etherweave.bench.draft import ANY, INTEGER, Draft, begins_with_digit, fields
from etherweave.bench.measurements import GarbledError, TextLine
from etherweave.bench.metrics import BANDWIDTH_BUS, BANDWIDTH_CALL, CALL_TIME
from etherweave.bench.plans import (
    BenchmarkPlan,
    BenchmarkRequest,
    FabricEstimate,
    all_ranks,
    doubling,
    need_ranks,
    predict_sweep,
)

_TYPE = re.compile(r"u?int(?:8|32|64)|float|half|double|bfloat16|f8e4m3|f8e5m2|fp8_e4m3|fp8_e5m2")
_REDUCTION = re.compile(r"sum|prod|max|min|avg|mulsum|none")
_ROOT = re.compile(r"-1|[0-9]{1,6}")
_WRONG = re.compile(r"[0-9]{1,12}|N/A|[0-9](?:\.[0-9]+)?e[+-][0-9]+")
_KINDS = {
    "size": INTEGER,
    "count": INTEGER,
    "type": _TYPE,
    "redop": _REDUCTION,
    "root": _ROOT,
    "time": ANY,
    "algbw": ANY,
    "busbw": ANY,
    "#wrong": _WRONG,
    "error": _WRONG,
}
_BUSES = ("out_of_place", "in_place")
_AVERAGE = re.compile(r"# Avg bus bandwidth\s*: (\S+)\s*")
_BOUNDS = re.compile(r"# Out of bounds values : (\d+) (OK|FAILED)\s*")
_STARTED = re.compile(r"# Collective test starting: (\w+)_perf\s*")
_NOTES = re.compile(r"#|NCCL version|\S+:\d+:\d+ \[\d+\] NCCL|\s*$")


def _parse(draft: Draft) -> None:
    draft.program = "nccl-tests"
    header: list[str] = []
    rows: list[TextLine] = []
    buses: list[float] = []
    is_over = False
    for line in draft.block.lines:
        names = line.text.strip("# ").split()
        if started := _STARTED.fullmatch(line.text):
            draft.program = f"{started[1]}_perf"
        elif names[:2] == ["size", "count"]:
            header = _header(names, line, header)
        elif header and begins_with_digit(line.text):
            rows.append(line)
        elif bounds := _BOUNDS.fullmatch(line.text):
            draft.check(bounds[2] == "OK", f"{bounds[1]} values are out of bounds")
        elif average := _AVERAGE.fullmatch(line.text):
            draft.facts["average bus bandwidth"] = f"{average[1]} GB/s"
            is_over = True
        elif not _NOTES.match(line.text):
            draft.leftover.append(line)
    for row in rows:
        _take(draft, header, row, buses)
    draft.end(is_over, "the line `# Avg bus bandwidth`")


def _header(names: list[str], line: TextLine, before: list[str]) -> list[str]:
    if before or [name for name in names if name not in _KINDS] or names.count("time") != 2:
        raise GarbledError(line.number, f"a header that is not understood: {line.text.strip()!r}")
    return names


def _take(draft: Draft, header: list[str], row: TextLine, buses: list[float]) -> None:
    cells = fields(row, [_KINDS[name] for name in header])
    size = int(cells[0])
    fixed = dict(zip(header, cells, strict=True))
    about = [(name, fixed[name]) for name in ("type", "redop", "root") if name in fixed]
    starts = [place for place, name in enumerate(header) if name == "time"]
    for where, start in zip(_BUSES, starts, strict=True):
        time, algorithm, bus, *wrong = cells[start : start + 4]
        labels = [("placement", where), *about]
        if wrong and wrong[0] not in ("0", "N/A") and float(wrong[0]) > 1e-5:
            draft.check(False, f"{size} B, {where}: {wrong[0]} wrong values; left out")
            continue
        if float(algorithm) > 0.1 and float(time):
            own = size / float(time) / 1e3
            rounding = 0.005 + 0.006 / float(algorithm) + 0.06 / float(time)
            check_agreement(row.number, "size, time and rate", float(algorithm), own, rounding)
        if float(algorithm) > 0.1 and float(bus) and not 0.45 < float(bus) / float(algorithm) < 2.1:
            raise GarbledError(row.number, "a bus bandwidth that no collective has")
        number = row.number
        draft.add(CALL_TIME, time, "us", number, size=size, labels=labels)
        draft.add(BANDWIDTH_CALL, algorithm, "GB/s", number, size=size, labels=labels)
        draft.add(BANDWIDTH_BUS, bus, "GB/s", number, size=size, labels=labels)


def _plan(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    ranks = need_ranks(request, 2, request.program)
    smallest, largest = request.size_min or 8, request.size_max or 2**30
    count = request.iterations or 20
    both = 2 * (count + 5)
    steps = [(2 * size * (ranks - 1) // ranks, both) for size in doubling(smallest, largest)]
    words = (
        *(request.program, "-b", str(smallest), "-e", str(largest), "-f", "2", "-g", "1"),
        *("-n", str(count), "-w", "5"),
    )
    forecast = predict_sweep(steps, fabric, "2 (n-1)/n of the size, in place and out of place")
    return all_ranks(request, words, forecast, sizes=doubling(smallest, largest))


ADAPTER = Adapter(
    name="nccl_tests",
    programs=tuple(
        f"{name}_perf"
        for name in (
            *("all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast"),
            *("reduce", "sendrecv"),
        )
    ),
    metrics=(CALL_TIME, BANDWIDTH_CALL, BANDWIDTH_BUS),
    checks=(
        "sizes with wrong values are left out",
        "no values out of bounds",
        "size, time and rate agree",
    ),
    begins=r"#\s+(?:Collective test starting: |nThread \d+ nGpus \d+ minBytes )",
    inside=r"#\s+nThread \d+ nGpus",
    plan=_plan,
    parse=_parse,
)
