"""ucx_perftest: the row *Final*, or comma-separated values. Megabytes are 2^20 bytes.

A latency test prints half a round trip, a bandwidth test the time of a message; neither table nor
values say which test it was, so times are those of a call.
"""

import re
from collections.abc import Sequence

from etherweave.bench.adapter import Adapter
from etherweave.bench.checks import check_agreement
from etherweave.bench.draft import ANY, INTEGER, Draft, fields
from etherweave.bench.measurements import TextLine
from etherweave.bench.metrics import BANDWIDTH, CALL_TIME, MESSAGE_RATE
from etherweave.bench.plans import (
    BenchmarkPlan,
    BenchmarkRequest,
    FabricEstimate,
    predict_sweep,
    timed_pair,
)

_CSV = "iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr"
_KINDS = (INTEGER, ANY, ANY, ANY, ANY, ANY, ANY, ANY)


def _parse(draft: Draft) -> None:
    draft.program = "ucx_perftest"
    first, *rest = draft.block.lines
    is_csv = first.text.startswith("iterations,")
    finals = []
    for line in rest:
        if is_csv and re.match(r"\d", line.text):
            finals.append(TextLine(line.number, line.text.replace(",", " ")))
        elif line.text.startswith("Final:"):
            finals.append(TextLine(line.number, line.text.removeprefix("Final:")))
        elif line.text.strip() and not re.match(r"[+|\[]", line.text):
            draft.leftover.append(line)
    for line in finals:
        _take(draft, fields(line, _KINDS), line.number)
    draft.end(bool(finals), "the final row")


def _take(draft: Draft, cells: Sequence[str], line: int) -> None:
    _, median, _, time, _, bandwidth, _, rate = cells
    if float(time) and float(rate) > 10:
        rounding = 0.005 + 1 / float(rate) + 0.001 / float(time)
        check_agreement(line, "time and rate", float(rate), 1e6 / float(time), rounding)
    draft.add(CALL_TIME, median, "us", line, statistic="p50")
    draft.add(CALL_TIME, time, "us", line)
    draft.add(BANDWIDTH, bandwidth, "MiB/s", line)
    draft.add(MESSAGE_RATE, rate, "1/s", line)


def _plan(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    size = request.size_max or 8
    is_large = size > 4096
    count = request.iterations or (5000 if is_large else 20_000)
    test = "tag_bw" if is_large else "tag_lat"
    words = ("ucx_perftest", "{server}", "-p", "{port}", "-t", test, "-s", str(size))
    swept = predict_sweep([(size, 2 * count)], fabric, "")
    asked = BenchmarkRequest(request.program, seconds=swept.seconds, options=request.options)
    notes = ("set UCX_TLS and UCX_NET_DEVICES: UCX takes shared memory wherever it can",)
    client = (*words, "-n", str(count))
    return timed_pair(asked, fabric, client, ("ucx_perftest", "-p", "{port}"), notes=notes)


ADAPTER = Adapter(
    name="ucx_perftest",
    programs=("ucx_perftest",),
    metrics=(CALL_TIME, BANDWIDTH, MESSAGE_RATE),
    checks=(
        "time and rate agree",
        "the final row is there",
    ),
    begins=rf"\|\s+\|\s+\|\s+(?:latency|overhead) \(usec\)|{re.escape(_CSV)}\s*$",
    plan=_plan,
    parse=_parse,
    version=(("-V",), r"ucx_perftest (\d[\w.]*)"),
)
