"""Benchmarks of collectives of machine learning: Gloo, PARAM, nccl-tests and rccl-tests.

Gloo's benchmark of collectives. Its *GB/s* are 2^30 bytes; times are of a whole operation.

PARAM's communication benchmark of PyTorch: rows *COMMS-RES*. *GB/s* are 10^9 bytes.

The algorithm's bandwidth follows from size and median, so a row can be checked.

nccl-tests and rccl-tests: collectives of GPUs. *GB/s* are 10^9 bytes; times are of an operation.

The bus bandwidth is the algorithm's times a factor that makes it comparable to a link's.
"""

import re

from etherweave.bench.adapter import Adapter
from etherweave.bench.draft import ANY, INTEGER, NUMBER, Draft, begins_with_digit, fields
from etherweave.bench.measurements import (
    GarbledError,
    TextLine,
    check_agreement,
    check_alignment,
    check_rising,
)
from etherweave.bench.metrics import BANDWIDTH_BUS, BANDWIDTH_CALL, CALL_TIME
from etherweave.bench.plans import (
    BenchmarkCommand,
    BenchmarkPlan,
    BenchmarkRequest,
    FabricEstimate,
    HostPattern,
    HostPlacement,
    RunForecast,
    Start,
    all_ranks,
    doubling,
    need_ranks,
    predict_sweep,
)

_HEADER = "size (B) elements min (us) p50 (us) p99 (us) max (us) bandwidth (GB/s) iterations"
_THREE = re.compile(r"[0-9]{1,9}\.[0-9]{3}")
_GLOO_KINDS = (*(INTEGER,) * 6, _THREE, INTEGER)
_GLOO_STATISTICS = ("min", "p50", "p99", "max")
_OPTION = re.compile(r"\b(\w{1,20})=(\[[^]]*\]|[^,]*)")
_PARTS = ("BENCHMARK RESULTS", "VERIFY ERRORS")
_ALGORITHMS = (
    *("ALLGATHER", "ALLGATHER_RING", "ALLGATHERV", "ALLREDUCE", "ALLREDUCE_BCUBE"),
    *("ALLREDUCE_HALVING_DOUBLING", "ALLREDUCE_LOCAL", "ALLREDUCE_RING"),
    *("ALLREDUCE_RING_CHUNKED", "ALLTOALL", "ALLTOALLV", "BARRIER", "BARRIER_ALL_TO_ALL"),
    *("BARRIER_ALL_TO_ONE", "BROADCAST", "BROADCAST_ONE_TO_ALL", "GATHER", "GATHERV"),
    *("PAIRWISE_EXCHANGE", "REDUCE", "REDUCE_SCATTER", "SCATTER", "SENDRECV_ROUNDTRIP"),
    *("NEW_ALLREDUCE_RING", "NEW_ALLREDUCE_BCUBE"),
)


def _parse_gloo(draft: Draft) -> None:
    draft.program = "gloo benchmark"
    first, *rest = draft.block.lines
    labels = [("algorithm", first.text.strip().lower())]
    rows: list[TextLine] = []
    has_header = is_closed = False
    for line in rest:
        text = " ".join(line.text.split())
        if text.startswith(("Device:", "Options:")):
            draft.facts.update(_OPTION.findall(text))
        elif text == _HEADER:
            has_header = True
        elif has_header and begins_with_digit(line.text):
            if is_closed:
                raise GarbledError(line.number, "a row after the end of the table")
            rows.append(line)
        elif re.fullmatch(r"=+", text):
            is_closed = is_closed or bool(rows)
        elif text == "VERIFY ERRORS":
            draft.check(False, "Gloo found wrong results")
        elif text and text not in _PARTS and draft.valid is not False:
            draft.leftover.append(line)
    check_alignment(rows)
    sizes = [(row.number, _take_gloo(draft, row, labels)) for row in rows]
    check_rising(sizes)
    draft.end(is_closed, "the rule below the table")


def _take_gloo(draft: Draft, row: TextLine, labels: list[tuple[str, str]]) -> int:
    cells = fields(row, _GLOO_KINDS)
    size, times = int(cells[0]), cells[2:6]
    if sorted(times, key=int) != times:
        raise GarbledError(row.number, "percentiles do not rise")
    draft.add_each(CALL_TIME, _GLOO_STATISTICS, times, "us", row.number, size=size, labels=labels)
    draft.add(BANDWIDTH_CALL, cells[6], "GiB/s", row.number, size=size, labels=labels)
    return size


def _plan_gloo(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    ranks = need_ranks(request, 2, request.program)
    seconds = (request.seconds or 2.0) * 14
    words = (
        *("benchmark", "--size", "{ranks}", "--rank", "{rank}", "--shared-path", "{directory}"),
        *("--prefix", "etherweave", "--transport", "tcp", "--tcp-device", "{interface}"),
        *("--iteration-time", f"{(request.seconds or 2.0) * 1000:.0f}ms", "allreduce_ring_chunked"),
    )
    command = BenchmarkCommand(Start.EACH_RANK, (*words, *request.options))
    forecast = RunForecast(seconds * fabric.rate, seconds, f"14 sizes on {ranks} ranks, each timed")
    placement = HostPlacement(HostPattern.ALL_NODES, request.nodes, request.ranks_per_node)
    return BenchmarkPlan(request.program, placement, command, forecast)


GLOO = Adapter(
    name="gloo",
    programs=("benchmark",),
    metrics=(CALL_TIME, BANDWIDTH_CALL),
    checks=(
        "Gloo's own verification",
        "percentiles and sizes rise",
        "the rule below the table is there",
    ),
    begins=rf"\s{{10,}}(?:{'|'.join(_ALGORITHMS)})\s*$",
    plan=_plan_gloo,
    parse=_parse_gloo,
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
_PARAM_STATISTICS = ("p50", "p75", "p95", "min", "max")


def _parse_param(draft: Draft) -> None:
    draft.program = "param-comms"
    sizes: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for line, row in draft.rows(draft.block.lines, _ROW, looks=r".*COMMS-RES", known=r"\W*$"):
        key = row["call"], row["type"]
        sizes.setdefault(key, []).append((line.number, _take_param(draft, line, row)))
    for swept in sizes.values():
        check_rising(swept)


def _take_param(draft: Draft, line: TextLine, row: re.Match[str]) -> int:
    size, labels = int(row["size"]), [("call", row["call"]), ("type", row["type"])]
    *times, algorithm, bus = row.groups()[3:]
    median, low, high = float(times[0]), float(times[3]), float(times[4])
    if not low <= median <= float(times[1]) <= float(times[2]) <= high:
        raise GarbledError(line.number, "percentiles do not rise")
    if median and float(algorithm) > 0.01:
        rounding = 0.005 + 0.06 / median + 0.0006 / float(algorithm)
        own = size / median / 1e3
        check_agreement(line.number, "size, time and rate", float(algorithm), own, rounding)
    draft.add_each(CALL_TIME, _PARAM_STATISTICS, times, "us", line.number, size=size, labels=labels)
    draft.add(BANDWIDTH_CALL, algorithm, "GB/s", line.number, size=size, labels=labels)
    draft.add(BANDWIDTH_BUS, bus, "GB/s", line.number, size=size, labels=labels)
    return size


def _plan_param(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    need_ranks(request, 2, request.program)
    largest, count = request.size_max or 2**28, request.iterations or 100
    steps = [(2 * largest, count), (largest, count)]
    words = (
        *("python3", "comms.py", "--master-ip", "{server}", "--collective", "all_reduce"),
        *("--b", "8", "--e", str(largest), "--n", str(count), "--f", "2", "--z", "1"),
    )
    return all_ranks(request, words, predict_sweep(steps, fabric, "all_reduce, sizes doubled"))


PARAM = Adapter(
    name="param",
    programs=("comms.py",),
    metrics=(CALL_TIME, BANDWIDTH_CALL, BANDWIDTH_BUS),
    checks=(
        "size, time and rate agree",
        "sizes rise",
    ),
    begins=r"\tCOMMS-RES-",
    is_row=True,
    plan=_plan_param,
    parse=_parse_param,
)


_TYPE = re.compile(r"u?int(?:8|32|64)|float|half|double|bfloat16|f8e4m3|f8e5m2|fp8_e4m3|fp8_e5m2")
_REDUCTION = re.compile(r"sum|prod|max|min|avg|mulsum|none")
_ROOT = re.compile(r"-1|[0-9]{1,6}")
_WRONG = re.compile(r"[0-9]{1,12}|N/A|[0-9](?:\.[0-9]+)?e[+-][0-9]+")
_NCCL_KINDS = {
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


def _parse_nccl(draft: Draft) -> None:
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
        _take_nccl(draft, header, row, buses)
    draft.end(is_over, "the line `# Avg bus bandwidth`")


def _header(names: list[str], line: TextLine, before: list[str]) -> list[str]:
    if before or [name for name in names if name not in _NCCL_KINDS] or names.count("time") != 2:
        raise GarbledError(line.number, f"a header that is not understood: {line.text.strip()!r}")
    return names


def _take_nccl(draft: Draft, header: list[str], row: TextLine, buses: list[float]) -> None:
    cells = fields(row, [_NCCL_KINDS[name] for name in header])
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


def _plan_nccl(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
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


NCCL_TESTS = Adapter(
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
    plan=_plan_nccl,
    parse=_parse_nccl,
)
