"""NetPIPE: a row for each size, on its standard output or in its file. *Mbps* are 2^20 bits."""

import re

from etherweave.bench.adapter import Adapter
from etherweave.bench.checks import check_agreement, check_rising
from etherweave.bench.draft import NUMBER, Draft
from etherweave.bench.measurements import GarbledError, TextLine
from etherweave.bench.metrics import BANDWIDTH, LATENCY
from etherweave.bench.plans import (
    BenchmarkPlan,
    BenchmarkRequest,
    FabricEstimate,
    doubling,
    predict_sweep,
    timed_pair,
)

_FILE = re.compile(r" *(?P<size>\d{1,12}) (?P<rate>\d{1,9}\.\d{6}) +(?P<time>\d{1,6}\.\d{8})\s*")
_OUTPUT = "np.out"
_SPOKEN = re.compile(
    rf" *\d+: +(?P<size>\d{{1,12}}) bytes +\d+ times --> +(?P<rate>{NUMBER}) Mbps in +"
    rf"(?P<time>{NUMBER}) usec\s*"
)


def _parse(draft: Draft) -> None:
    draft.program = "NPtcp"
    sizes = []
    for line in draft.block.lines:
        row = _FILE.fullmatch(line.text)
        spoken = _SPOKEN.fullmatch(line.text)
        if found := row or spoken:
            _take(draft, line, found, "s" if row else "us")
            sizes.append((line.number, int(found["size"])))
        elif re.match(r"\s*\d", line.text):
            raise GarbledError(line.number, f"a row that is not understood: {line.text[:60]!r}")
        elif line.text.strip() and not re.match(r"Send and|Now start|\(A bug", line.text):
            draft.leftover.append(line)
    check_rising(sizes)


def _take(draft: Draft, line: TextLine, row: re.Match[str], unit: str) -> None:
    size, rate = int(row["size"]), float(row["rate"])
    time = float(row["time"]) * (1 if unit == "s" else 1e-6)
    if time <= 0 or rate <= 0:
        raise GarbledError(line.number, "a time or a rate of zero")
    rounding = 0.003 + 0.006e-6 / time + 0.006 / rate
    check_agreement(line.number, "size, time and rate", rate, size * 8 / 2**20 / time, rounding)
    draft.add(LATENCY, row["time"], unit, line.number, size=size)
    draft.add(BANDWIDTH, row["rate"], "Mibit/s", line.number, size=size)


def _plan(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    largest = request.size_max or 2**23
    steps = [(size, 2000) for size in doubling(1, largest)]
    swept = predict_sweep(steps, fabric, "")
    asked = BenchmarkRequest("NPtcp", seconds=max(swept.seconds, 60), options=request.options)
    common = ("-P", "{port}", "-u", str(largest))
    client = ("NPtcp", "-h", "{server}", *common, "-o", _OUTPUT)
    return timed_pair(asked, fabric, client, ("NPtcp", *common), output=_OUTPUT)


ADAPTER = Adapter(
    name="netpipe",
    programs=("NPtcp", "NPmpi", "NPopenmpi"),
    metrics=(LATENCY, BANDWIDTH),
    checks=(
        "size, time and rate agree",
        "sizes rise",
    ),
    begins=(
        r"Send and receive buffers are|Now starting the main loop|"
        r" *\d+ \d+\.\d{6} +\d+\.\d{8}\s*$"
    ),
    inside=r"Now starting the main loop",
    is_row=True,
    plan=_plan,
    parse=_parse,
)
