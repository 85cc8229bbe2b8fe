"""Gloo's benchmark of collectives. Its *GB/s* are 2^30 bytes; times are of a whole operation."""

import re

from etherweave.bench.adapter import Adapter
from etherweave.bench.checks import check_alignment, check_rising
from etherweave.bench.draft import INTEGER, Draft, begins_with_digit, fields
from etherweave.bench.measurements import GarbledError, TextLine
from etherweave.bench.metrics import BANDWIDTH_CALL, CALL_TIME
from etherweave.bench.plans import (
    BenchmarkCommand,
    BenchmarkPlan,
    BenchmarkRequest,
    FabricEstimate,
    HostPattern,
    RankPlacement,
    RunForecast,
    Start,
    need_ranks,
)

_HEADER = "size (B) elements min (us) p50 (us) p99 (us) max (us) bandwidth (GB/s) iterations"
_THREE = re.compile(r"[0-9]{1,9}\.[0-9]{3}")
_KINDS = (*(INTEGER,) * 6, _THREE, INTEGER)
_STATISTICS = ("min", "p50", "p99", "max")
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


def _parse(draft: Draft) -> None:
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
    sizes = [(row.number, _take(draft, row, labels)) for row in rows]
    check_rising(sizes)
    draft.end(is_closed, "the rule below the table")


def _take(draft: Draft, row: TextLine, labels: list[tuple[str, str]]) -> int:
    cells = fields(row, _KINDS)
    size, times = int(cells[0]), cells[2:6]
    if sorted(times, key=int) != times:
        raise GarbledError(row.number, "percentiles do not rise")
    for statistic, time in zip(_STATISTICS, times, strict=True):
        draft.add(CALL_TIME, time, "us", row.number, size=size, statistic=statistic, labels=labels)
    draft.add(BANDWIDTH_CALL, cells[6], "GiB/s", row.number, size=size, labels=labels)
    return size


def _plan(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    ranks = need_ranks(request, 2, request.program)
    seconds = (request.seconds or 2.0) * 14
    words = (
        *("benchmark", "--size", "{ranks}", "--rank", "{rank}", "--shared-path", "{directory}"),
        *("--prefix", "etherweave", "--transport", "tcp", "--tcp-device", "{interface}"),
        *("--iteration-time", f"{(request.seconds or 2.0) * 1000:.0f}ms", "allreduce_ring_chunked"),
    )
    command = BenchmarkCommand(Start.EACH_RANK, (*words, *request.options))
    forecast = RunForecast(seconds * fabric.rate, seconds, f"14 sizes on {ranks} ranks, each timed")
    placement = RankPlacement(HostPattern.ALL_NODES, request.nodes, request.ranks_per_node)
    return BenchmarkPlan(request.program, placement, command, forecast)


ADAPTER = Adapter(
    name="gloo",
    programs=("benchmark",),
    metrics=(CALL_TIME, BANDWIDTH_CALL),
    checks=(
        "Gloo's own verification",
        "percentiles and sizes rise",
        "the rule below the table is there",
    ),
    begins=rf"\s{{10,}}(?:{'|'.join(_ALGORITHMS)})\s*$",
    plan=_plan,
    parse=_parse,
)
