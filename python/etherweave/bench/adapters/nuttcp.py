"""nuttcp: one line a run. *MB* are 2^20 bytes, *Mbps* 10^6 bits."""

import re

from etherweave.bench.adapter import Adapter
from etherweave.bench.checks import check_agreement
from etherweave.bench.draft import NUMBER, Draft
from etherweave.bench.measurements import TextLine
from etherweave.bench.metrics import BANDWIDTH, RETRANSMITS, ROUND_TRIP
from etherweave.bench.plans import BenchmarkPlan, BenchmarkRequest, FabricEstimate, timed_pair

_ROW = re.compile(
    rf"\s*(?P<megabytes>{NUMBER}) MB / +(?P<seconds>{NUMBER}) sec = +(?P<rate>{NUMBER}) Mbps"
    rf" \d+ %TX \d+ %RX(?: (?P<retrans>\d+) retrans)?(?: (?P<rtt>{NUMBER}) msRTT)?\s*"
)
_NAMED = re.compile(
    rf"megabytes=(?P<megabytes>{NUMBER}) real_seconds=(?P<seconds>{NUMBER}) "
    rf"rate_Mbps=(?P<rate>{NUMBER}) tx_cpu=\d+ rx_cpu=\d+(?: retrans=(?P<retrans>\d+))?"
    rf"(?: (?:cwnd=\d+ )?rtt_ms=(?P<rtt>{NUMBER}))?\s*"
)


def _parse(draft: Draft) -> None:
    draft.program = "nuttcp"
    for line in draft.block.lines:
        if row := _ROW.fullmatch(line.text) or _NAMED.fullmatch(line.text):
            _take(draft, line, row)
            draft.end(True, "")
        elif line.text.strip():
            draft.leftover.append(line)


def _take(draft: Draft, line: TextLine, row: re.Match[str]) -> None:
    seconds = max(float(row["seconds"]), 1e-9)
    own = float(row["megabytes"]) * 2**20 * 8 / seconds / 1e6
    rounding = 0.001 + 0.006 / seconds
    check_agreement(line.number, "bytes, seconds and rate", float(row["rate"]), own, rounding)
    draft.add(BANDWIDTH, row["rate"], "Mbit/s", line.number)
    if row["retrans"]:
        draft.add(RETRANSMITS, row["retrans"], "1", line.number, statistic="sum")
    if row["rtt"]:
        draft.add(ROUND_TRIP, row["rtt"], "ms", line.number)


def _plan(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    seconds = request.seconds or 10.0
    client = ("nuttcp", "-fparse", f"-T{seconds:g}", "-P{port}", "{server}")
    server = ("nuttcp", "-S", "--nofork", "-1", "-P{port}")
    notes = ("its data take port 5101: one pair of a host at a time",)
    return timed_pair(request, fabric, client, server, notes=notes)


ADAPTER = Adapter(
    name="nuttcp",
    programs=("nuttcp",),
    metrics=(BANDWIDTH, RETRANSMITS, ROUND_TRIP),
    checks=("bytes, seconds and rate agree",),
    begins=rf"\s*{NUMBER} MB / +{NUMBER} sec = |megabytes={NUMBER} real_seconds=",
    is_row=True,
    plan=_plan,
    parse=_parse,
    version=(("-V",), r"nuttcp-(\d[\w.]*)"),
)
