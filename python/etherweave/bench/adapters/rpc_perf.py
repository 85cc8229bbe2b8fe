"""rpc-perf, versions 3 and 4: a few lines for each window of time, below its number."""

import re

from etherweave.bench.adapter import Adapter
from etherweave.bench.draft import NUMBER, Draft
from etherweave.bench.measurements import GarbledError, TextLine
from etherweave.bench.metrics import ROUND_TRIP, TRANSACTION_RATE
from etherweave.bench.plans import BenchmarkPlan, BenchmarkRequest, FabricEstimate, alone

_LOG = r"(?:\d{4}-\d\d-\d\d\S*(?: \d\d:\S+)? INFO +\S+ )?"
_WINDOW = re.compile(rf"{_LOG}Window: (\d+)\s*")
_RATE = re.compile(
    rf"{_LOG}Rate: Request: {NUMBER} rps Response: ({NUMBER}) rps Connect: {NUMBER} cps\s*"
)
_WAIT = re.compile(
    rf"{_LOG}Response Latency \(us\): p25: (\d+) p50: (\d+) p75: (\d+) p90: (\d+) p99: (\d+) "
    r"p999: (\d+) p9999: (\d+)\s*"
)
_SUCCESS = re.compile(rf"{_LOG}Success: Request: ({NUMBER}) % Response: ({NUMBER}) %.*")
_SHARES = ("p25", "p50", "p75", "p90", "p99", "p99.9", "p99.99")


def _parse(draft: Draft) -> None:
    draft.program = "rpc-perf"
    window: str | None = None
    seen: set[str] = set()
    for line in draft.block.lines:
        if begun := _WINDOW.fullmatch(line.text):
            if begun[1] in seen or (window is not None and int(begun[1]) != int(window) + 1):
                raise GarbledError(line.number, f"window {begun[1]} after {window}: lines are lost")
            window, seen = begun[1], {begun[1]}
        elif rate := _RATE.fullmatch(line.text):
            labels = _labels(window, seen, "rate", line)
            draft.add(TRANSACTION_RATE, rate[1], "1/s", line.number, labels=labels)
        elif wait := _WAIT.fullmatch(line.text):
            labels = _labels(window, seen, "latency", line)
            for share, time in zip(_SHARES, wait.groups(), strict=True):
                draft.add(ROUND_TRIP, time, "us", line.number, statistic=share, labels=labels)
        elif success := _SUCCESS.fullmatch(line.text):
            draft.check(float(success[1]) == float(success[2]) == 100, "some requests failed")


def _labels(window: str | None, seen: set[str], what: str, line: TextLine) -> list[tuple[str, str]]:
    if window is None or what in seen:
        raise GarbledError(line.number, f"a {what} without its window: lines are lost")
    seen.add(what)
    return [("window", window)]


def _plan(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    words = ("rpc-perf", "--config", "rpc-perf.toml")
    notes = ("rpc-perf.toml names your cache: start it yourself, and read what it writes",)
    return alone(request, words, request.seconds or 60.0, notes=notes)


ADAPTER = Adapter(
    name="rpc_perf",
    programs=("rpc-perf",),
    metrics=(TRANSACTION_RATE, ROUND_TRIP),
    checks=(
        "all requests and responses succeeded",
        "every line stands below its window",
    ),
    begins=rf"{_LOG}Window: \d+\s*$",
    inside=rf"{_LOG}Window: \d+\s*$",
    plan=_plan,
    parse=_parse,
)
