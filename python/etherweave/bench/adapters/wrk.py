"""wrk: requests over HTTP. *KB* and *MB* are powers of two."""

import re

from etherweave.bench.adapter import Adapter
from etherweave.bench.checks import check_agreement
from etherweave.bench.draft import NUMBER, Draft
from etherweave.bench.measurements import GarbledError, TextLine
from etherweave.bench.metrics import BANDWIDTH, ROUND_TRIP, TRANSACTION_RATE
from etherweave.bench.plans import BenchmarkPlan, BenchmarkRequest, FabricEstimate, timed_pair

_TIME = rf"({NUMBER})(us|ms|s)"
_SPREAD = re.compile(rf"    Latency +{_TIME} +{_TIME} +{_TIME} +{NUMBER}%\s*")
_SHARE = re.compile(rf"  +({NUMBER})% +{_TIME}\s*")
_TOTAL = re.compile(rf"  (\d+) requests in ({NUMBER})s, {NUMBER}[KMG]?B read\s*")
_RATE = re.compile(rf"Requests/sec: +({NUMBER})\s*")
_MOVED = re.compile(rf"Transfer/sec: +({NUMBER})([KMG]?)B\s*")
_UNITS = {"": "B/s", "K": "KiB/s", "M": "MiB/s", "G": "GiB/s"}


def _parse(draft: Draft) -> None:
    draft.program = "wrk"
    total: re.Match[str] | None = None
    has_columns = has_shares = is_over = False
    for line in draft.block.lines[1:]:
        if line.text.split() == ["Thread", "Stats", "Avg", "Stdev", "Max", "+/-", "Stdev"]:
            has_columns = True
        elif line.text.strip() == "Latency Distribution":
            has_shares = True
        elif has_columns and (spread := _SPREAD.fullmatch(line.text)):
            for statistic, at in (("mean", 1), ("stdev", 3), ("max", 5)):
                _wait(draft, line, spread[at], spread[at + 1], statistic)
        elif has_shares and (share := _SHARE.fullmatch(line.text)):
            _wait(draft, line, share[2], share[3], f"p{float(share[1]):g}")
        elif found := _TOTAL.fullmatch(line.text):
            total = found
        elif rate := _RATE.fullmatch(line.text):
            _take_rate(draft, line, rate[1], total)
        elif moved := _MOVED.fullmatch(line.text):
            draft.add(BANDWIDTH, moved[1], _UNITS[moved[2]], line.number)
            is_over = True
        elif re.match(r"  (?:Socket errors|Non-2xx)", line.text):
            draft.check(False, line.text.strip())
        elif not re.match(r"  +(?:\d+ threads and|Req/Sec)|\s*$", line.text):
            draft.leftover.append(line)
    draft.end(is_over, "the line `Transfer/sec`")


def _wait(draft: Draft, line: TextLine, time: str, unit: str, statistic: str) -> None:
    if any(one.statistic == statistic for one in draft.measurements):
        raise GarbledError(line.number, f"{statistic} stands twice: two runs are mixed")
    draft.add(ROUND_TRIP, time, unit, line.number, statistic=statistic)


def _take_rate(draft: Draft, line: TextLine, rate: str, total: re.Match[str] | None) -> None:
    if total is not None:
        seconds = max(float(total[2]), 1e-9)
        own = int(total[1]) / seconds
        rounding = 0.001 + 0.006 / seconds
        check_agreement(line.number, "requests and rate", float(rate), own, rounding)
    draft.add(TRANSACTION_RATE, rate, "1/s", line.number)


def _plan(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    seconds = request.seconds or 10.0
    words = ("wrk", f"-t{request.streams}", "-c16", f"-d{seconds:g}s", "--latency")
    server = ("python3", "-m", "http.server", "{port}", "--bind", "{server}")
    notes = ("Python's web server answers, and is what is measured; run wrk on your own otherwise",)
    client = (*words, "http://{server}:{port}/")
    files = (("index.html", "<title>Etherweave</title>\n"),)
    return timed_pair(request, fabric, client, server, files=files, notes=notes)


ADAPTER = Adapter(
    name="wrk",
    programs=("wrk",),
    metrics=(TRANSACTION_RATE, ROUND_TRIP, BANDWIDTH),
    checks=(
        "no socket errors and no answers but 2xx and 3xx",
        "requests, seconds and rate agree",
    ),
    begins=r"Running \S+ test @ \S+",
    plan=_plan,
    parse=_parse,
    version=(("--version",), r"wrk (\d[\w.]*)"),
)
