"""Benchmarks of collectives of machine learning: Gloo and PARAM.

Gloo's benchmark of collectives. Its *GB/s* are 2^30 bytes; times are of a whole operation. Its
first versions count elements, which are of four bytes where the rate says so; without a rate the
size is not known.

PARAM's communication benchmark of PyTorch: rows *COMMS-RES*. *GB/s* are 10^9 bytes.

The algorithm's bandwidth follows from size and median, so a row can be checked.
"""

import re

from etherweave.bench.programs.adapter import adapter
from etherweave.bench.programs.plans import (
    BenchmarkCommand,
    BenchmarkPlan,
    BenchmarkRequest,
    FabricEstimate,
    HostPattern,
    HostPlacement,
    RunForecast,
    Start,
    all_ranks,
    need_ranks,
    predict_sweep,
)
from etherweave.bench.programs.program_options import options
from etherweave.bench.texts.draft import INTEGER, NUMBER, Draft, begins_with_digit, fields
from etherweave.measurements.benchmark_report import (
    GarbledError,
    TextLine,
    check_agreement,
    check_alignment,
    check_rising,
)
from etherweave.measurements.metrics import BANDWIDTH_BUS, BANDWIDTH_CALL, CALL_TIME

_HEADER = "size (B) elements min (us) p50 (us) p99 (us) max (us) bandwidth (GB/s) iterations"
_THREE = re.compile(r"[0-9]{1,9}\.[0-9]{3}")
_GLOO_KINDS = (*(INTEGER,) * 6, _THREE, INTEGER)
_GLOO_STATISTICS = ("min", "p50", "p99", "max")
_OPTION = re.compile(r"\b(\w{1,20})=(\[[^]]*\]|[^,]*)")
_OLD_TITLE = re.compile(r"Algorithm:\s+(\w{1,40})\s*")
_OLD_STATISTICS = {
    "min (us)": "min",
    "p50 (us)": "p50",
    "p99 (us)": "p99",
    "p995 (us)": "p99.5",
    "max (us)": "max",
    "avg (us)": "mean",
}
_SURE_RATE = 0.1  # Rate of three digits, of which the size follows [GiB/s].
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
    if old := _OLD_TITLE.fullmatch(draft.block.lines[0].text):
        _parse_old_gloo(draft, old[1])
        return
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
    _check_processes(draft)
    check_alignment(rows)
    sizes = [(row.number, _take_gloo(draft, row, labels)) for row in rows]
    check_rising(sizes)
    draft.end(is_closed, "the rule below the table")


def _check_processes(draft: Draft) -> None:
    if draft.facts.get("processes") == "1":
        raise GarbledError(draft.block.start, "one rank sends nothing")


def _parse_old_gloo(draft: Draft, algorithm: str) -> None:
    header: list[str] = []
    rows: list[tuple[int, dict[str, str]]] = []
    for line in (*draft.block.before[-3:], *draft.block.lines):
        text = " ".join(line.text.split())
        if text.startswith(("Device:", "Options:")):
            draft.facts.update(_OPTION.findall(text))
        elif text.startswith("elements min (us)"):
            if header:
                raise GarbledError(line.number, "a second header: two runs are mixed")
            header = re.findall(r"elements|samples|\S+ \([^)]+\)", text)
        elif header and begins_with_digit(line.text):
            kinds = [_THREE if name == "avg (GB/s)" else INTEGER for name in header]
            rows.append((line.number, dict(zip(header, fields(line, kinds), strict=True))))
        elif text and line.number > draft.block.start:
            draft.leftover.append(line)
    _check_processes(draft)
    width = _element_bytes([cells for _, cells in rows])
    for line_number, cells in rows:
        _take_old_gloo(draft, line_number, cells, width, algorithm)
    check_rising((line_number, int(cells["elements"])) for line_number, cells in rows)
    if rows and width is None:
        draft.warn("the size of an element is not printed: sizes are in elements")


def _element_bytes(rows: list[dict[str, str]]) -> int | None:
    """Return four if every rate lies between those of the longest and the shortest time."""
    seen = False
    for cells in rows:
        rate = float(cells.get("avg (GB/s)", 0))
        if rate < _SURE_RATE:
            continue
        times = int(cells["max (us)"]), int(cells["min (us)"])
        slow, fast = (4 * int(cells["elements"]) / max(time, 1) * 1e6 / 2**30 for time in times)
        if not slow * 0.98 <= rate <= fast * 1.02:
            return None
        seen = True
    return 4 if seen else None


def _take_old_gloo(
    draft: Draft, line: int, cells: dict[str, str], width: int | None, algorithm: str
) -> None:
    size = width and width * int(cells["elements"])
    labels = [("algorithm", algorithm)]
    labels += [] if width else [("elements", cells["elements"])]
    for name, statistic in _OLD_STATISTICS.items():
        if name in cells:
            time = cells[name]
            draft.add(CALL_TIME, time, "us", line, size=size, statistic=statistic, labels=labels)
    if "avg (GB/s)" in cells:
        draft.add(BANDWIDTH_CALL, cells["avg (GB/s)"], "GiB/s", line, size=size, labels=labels)


def _take_gloo(draft: Draft, row: TextLine, labels: list[tuple[str, str]]) -> int:
    cells = fields(row, _GLOO_KINDS)
    size, times = int(cells[0]), cells[2:6]
    if sorted(times, key=int) != times:
        raise GarbledError(row.number, "percentiles do not rise")
    draft.add_each(CALL_TIME, _GLOO_STATISTICS, times, "us", row.number, size=size, labels=labels)
    draft.add(BANDWIDTH_CALL, cells[6], "GiB/s", row.number, size=size, labels=labels)
    return size


_GLOO_TESTS = (
    *("allreduce_ring_chunked", "allreduce_ring", "allreduce_halving_doubling", "allreduce_bcube"),
    *("allreduce_local", "allgather", "allgather_ring", "alltoall", "barrier_all_to_all"),
    *("barrier_all_to_one", "broadcast_one_to_all", "pairwise_exchange", "reduce", "scatter"),
    "sendrecv_roundtrip",
)
"""The first is what is planned unless another is named."""


def _plan_gloo(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    ranks = need_ranks(request, 2, request.program)
    own = request.options
    sizes = 1 if own.has("--elements") or request.size_max else 14
    # What a buffer sends goes as often as there are buffers, before and after the timer starts.
    seconds = (request.seconds or 2.0) * sizes * max(len(own.words), 1)
    elements = ("--elements", str(max(request.size_max // 4, 1))) if request.size_max else ()
    words = (
        *("benchmark", "--size", "{ranks}", "--rank", "{rank}", "--shared-path", "{directory}"),
        *("--prefix", "etherweave", "--transport", "tcp", "--tcp-device", "{interface}"),
        *("--iteration-time", f"{(request.seconds or 2.0) * 1000:.0f}ms"),
        *elements,
        *(() if request.options.words else _GLOO_TESTS[:1]),
    )
    command = BenchmarkCommand(Start.EACH_RANK, request.options.behind(words))
    forecast = RunForecast(seconds * fabric.rate, seconds, f"{sizes} sizes on {ranks} ranks, timed")
    placement = HostPlacement(HostPattern.ALL_NODES, request.nodes, request.ranks_per_node)
    return BenchmarkPlan(request.program, placement, command, forecast)


GLOO = adapter(
    "gloo",
    plan=_plan_gloo,
    parse=_parse_gloo,
    begins=rf"\s{{10,}}(?:{'|'.join(_ALGORITHMS)})\s*$|Algorithm: {{2,}}\w+\s*$",
    options=options("gloo", {"": _GLOO_TESTS}),
)


_PARAM_COLLECTIVES = (
    "all_reduce|all_to_all|all_to_allv|all_gather|all_gather_base|reduce_scatter|"
    "reduce_scatter_base|reduce|broadcast|gather|scatter|incast|multicast"
)
_PARAM_TYPES = "float16|float32|float64|bfloat16|int8|int32|int64|half|bool"
_ROW = re.compile(
    rf"\s+COMMS-RES-(?P<call>{_PARAM_COLLECTIVES})-(?P<type>{_PARAM_TYPES})\S*\s+(?P<size>\d{{1,15}})\s+\d+"
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
    own = request.options
    # A rank sends twice its data where they are reduced for all, else its data to all at most.
    name, calls = own.value("--collective", "all_reduce"), count + own.count("--w", 5)
    factor = 2 if name == "all_reduce" else 1
    steps = [(2 * factor * largest * request.ranks_per_node, calls)]
    named = () if own.has("--collective") else ("--collective", name)
    words = (
        *("python3", "comms.py", "--master-ip", "{server}", *named),
        *("--b", "8", "--e", str(largest), "--n", str(count), "--f", "2", "--z", "1"),
    )
    return all_ranks(request, words, predict_sweep(steps, fabric, f"{name}, sizes doubled"))


PARAM = adapter(
    "param",
    plan=_plan_param,
    parse=_parse_param,
    options=options("param", collectives=_PARAM_COLLECTIVES, types=_PARAM_TYPES),
)
