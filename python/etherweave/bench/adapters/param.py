"""PARAM's communication benchmark of PyTorch: rows *COMMS-RES*. *GB/s* are 10^9 bytes.

The algorithm's bandwidth follows from size and median, so a row can be checked.
"""

import re

from etherweave.bench.adapter import Adapter
from etherweave.bench.checks import check_agreement, check_rising
from etherweave.bench.draft import NUMBER, Draft
from etherweave.bench.measurements import GarbledError, TextLine
from etherweave.bench.metrics import BANDWIDTH_BUS, BANDWIDTH_CALL, CALL_TIME
from etherweave.bench.plans import (
    BenchmarkPlan,
    BenchmarkRequest,
    FabricEstimate,
    all_ranks,
    need_ranks,
    predict_sweep,
)

_COLLECTIVES = (
    r"(?:all_reduce|all_to_all|all_to_allv|all_gather|all_gather_base|reduce_scatter|"
    r"reduce_scatter_base|reduce|broadcast|gather|scatter|incast|multicast)"
)
_TYPES = r"(?:float(?:16|32|64)|bfloat16|int(?:8|32|64)|half|bool)"
_ROW = re.compile(
    rf"\tCOMMS-RES-(?P<call>{_COLLECTIVES})-(?P<type>{_TYPES})\S*\s+(?P<size>\d{{1,15}})\s+\d+"
    + r"\s+".join(["", *[rf"({NUMBER})"] * 7])
    + r"(?:\s+\S+)*\s*"
)
_STATISTICS = ("p50", "p75", "p95", "min", "max")


def _parse(draft: Draft) -> None:
    draft.program = "param-comms"
    sizes: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for line in draft.block.lines:
        row = _ROW.fullmatch(line.text)
        if row:
            key = row["call"], row["type"]
            sizes.setdefault(key, []).append((line.number, _take(draft, line, row)))
        elif "COMMS-RES" in line.text:
            raise GarbledError(line.number, f"a row that is not understood: {line.text[:60]!r}")
        elif re.search(r"\w", line.text):
            draft.leftover.append(line)
    for swept in sizes.values():
        check_rising(swept)


def _take(draft: Draft, line: TextLine, row: re.Match[str]) -> int:
    size, labels = int(row["size"]), [("call", row["call"]), ("type", row["type"])]
    *times, algorithm, bus = row.groups()[3:]
    median, low, high = float(times[0]), float(times[3]), float(times[4])
    if not low <= median <= float(times[1]) <= float(times[2]) <= high:
        raise GarbledError(line.number, "percentiles do not rise")
    if median and float(algorithm) > 0.01:
        rounding = 0.005 + 0.06 / median + 0.0006 / float(algorithm)
        own = size / median / 1e3
        check_agreement(line.number, "size, time and rate", float(algorithm), own, rounding)
    for statistic, time in zip(_STATISTICS, times, strict=True):
        draft.add(CALL_TIME, time, "us", line.number, size=size, statistic=statistic, labels=labels)
    draft.add(BANDWIDTH_CALL, algorithm, "GB/s", line.number, size=size, labels=labels)
    draft.add(BANDWIDTH_BUS, bus, "GB/s", line.number, size=size, labels=labels)
    return size


def _plan(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    need_ranks(request, 2, request.program)
    largest, count = request.size_max or 2**28, request.iterations or 100
    steps = [(2 * largest, count), (largest, count)]
    words = (
        *("python3", "comms.py", "--master-ip", "{server}", "--collective", "all_reduce"),
        *("--b", "8", "--e", str(largest), "--n", str(count), "--f", "2", "--z", "1"),
    )
    return all_ranks(request, words, predict_sweep(steps, fabric, "all_reduce, sizes doubled"))


ADAPTER = Adapter(
    name="param",
    programs=("comms.py",),
    metrics=(CALL_TIME, BANDWIDTH_CALL, BANDWIDTH_BUS),
    checks=(
        "size, time and rate agree",
        "sizes rise",
    ),
    begins=r"\tCOMMS-RES-",
    is_row=True,
    plan=_plan,
    parse=_parse,
)
