"""libfabric's fi_pingpong: half round trips and decimal megabytes; sizes in powers of two."""

import re
from decimal import Decimal

from etherweave.bench.adapter import Adapter
from etherweave.bench.checks import check_agreement, check_rising
from etherweave.bench.draft import NUMBER, Draft
from etherweave.bench.measurements import GarbledError, TextLine
from etherweave.bench.metrics import BANDWIDTH, LATENCY
from etherweave.bench.plans import (
    BenchmarkPlan,
    BenchmarkRequest,
    FabricEstimate,
    predict_sweep,
    timed_pair,
)

_ROW = re.compile(
    rf"(?P<size>\d+(?:\.\d+)?[kmg]?) +(?P<sent>\d+) +=(?P<acknowledged>\d+) +\S+ +{NUMBER}s +"
    rf"(?P<rate>{NUMBER}) +(?P<time>{NUMBER}) +(?P<millions>{NUMBER})\s*"
)
_SCALES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}


def _parse(draft: Draft) -> None:
    draft.program = "fi_pingpong"
    sizes: list[tuple[int, int]] = []
    for line in draft.block.lines[1:]:
        if row := _ROW.fullmatch(line.text):
            sizes.append((line.number, _take(draft, line, row)))
        elif re.match(r"\d", line.text):
            raise GarbledError(line.number, f"a row that is not understood: {line.text[:60]!r}")
        elif line.text.strip():
            draft.leftover.append(line)
    check_rising(sizes)


def _take(draft: Draft, line: TextLine, row: re.Match[str]) -> int:
    scale = _SCALES[row["size"].lstrip("0123456789.")]
    size = int(Decimal(row["size"].rstrip("kmg")) * scale)
    draft.check(row["sent"] == row["acknowledged"], f"{size} B: not all was acknowledged")
    time, rate, millions = (float(row[name]) for name in ("time", "rate", "millions"))
    if time and abs(millions - 1 / time) > 0.006 + 0.006 / time**2:
        raise GarbledError(line.number, "usec/xfer and Mxfers/sec contradict")
    if time and rate:
        rounding = 0.01 + 0.006 / rate + 0.006 / time
        check_agreement(line.number, "time and bandwidth", rate, size / time, rounding)
    draft.add(LATENCY, row["time"], "us", line.number, size=size)
    draft.add(BANDWIDTH, row["rate"], "MB/s", line.number, size=size)
    return size


def _plan(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    count = request.iterations or 1000
    sizes = (64, 256, 1024, 4096, 65536, 2**20)
    swept = predict_sweep([(size, 2 * count) for size in sizes], fabric, "")
    asked = BenchmarkRequest(request.program, seconds=swept.seconds, options=request.options)
    common = ("fi_pingpong", "-p", "tcp", "-e", "msg", "-I", str(count))
    client = (*common, "-P", "{port}", "{server}")
    return timed_pair(asked, fabric, client, (*common, "-B", "{port}"))


ADAPTER = Adapter(
    name="fi_pingpong",
    programs=("fi_pingpong",),
    metrics=(LATENCY, BANDWIDTH),
    checks=(
        "all that was sent was acknowledged",
        "time and bandwidth agree",
        "sizes rise",
    ),
    begins=r"bytes +#sent +#ack +total +time +MB/sec +usec/xfer +Mxfers/sec\s*$",
    plan=_plan,
    parse=_parse,
)
