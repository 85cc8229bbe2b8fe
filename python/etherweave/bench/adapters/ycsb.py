"""YCSB: a line for each measure of each operation. Every operation must have returned OK."""

import re

from etherweave.bench.adapter import Adapter
from etherweave.bench.checks import check_agreement
from etherweave.bench.draft import NUMBER, Draft, integer
from etherweave.bench.measurements import GarbledError, TextLine
from etherweave.bench.metrics import ELAPSED, ROUND_TRIP, TRANSACTION_RATE
from etherweave.bench.plans import BenchmarkPlan, BenchmarkRequest, FabricEstimate, alone

_LINE = re.compile(rf"\[([A-Z][\w%-]*)\], ([^,]+), ({NUMBER})\s*")
_OPERATIONS = ("READ", "UPDATE", "INSERT", "SCAN", "DELETE", "READ-MODIFY-WRITE")
_TIME = re.compile(r"(?:(Average|Min|Max)Latency|(\d+(?:\.\d+)?)(?:th)?PercentileLatency)\(us\)")
_STATISTICS = {"Average": "mean", "Min": "min", "Max": "max"}


def _parse(draft: Draft) -> None:
    draft.program = "ycsb"
    seen: dict[tuple[str, str], TextLine] = {}
    for line in draft.block.lines:
        found = _LINE.fullmatch(line.text)
        if not found:
            draft.leftover += [line] if line.text.strip() else []
        elif (found[1], found[2]) in seen:
            raise GarbledError(line.number, f"{found[1]} {found[2]} stands twice")
        else:
            seen[found[1], found[2]] = TextLine(line.number, found[3])
            _take(draft, found, line.number)
    _check(draft, seen)


def _take(draft: Draft, found: re.Match[str], line: int) -> None:
    operation, measure, value = found.groups()
    if operation == "OVERALL" and measure == "Throughput(ops/sec)":
        draft.add(TRANSACTION_RATE, value, "1/s", line)
    elif operation == "OVERALL" and measure == "RunTime(ms)":
        draft.add(ELAPSED, value, "ms", line)
    elif operation in _OPERATIONS and (time := _TIME.fullmatch(measure)):
        statistic = _STATISTICS.get(time[1] or "") or f"p{float(time[2]):g}"
        labels = [("operation", operation)]
        draft.add(ROUND_TRIP, value, "us", line, statistic=statistic, labels=labels)


def _check(draft: Draft, seen: dict[tuple[str, str], TextLine]) -> None:
    total = 0
    for operation in _OPERATIONS:
        counted = seen.get((operation, "Operations"))
        if counted is None:
            continue
        count = integer(counted.text, counted.number)
        total += count
        passed = seen.get((operation, "Return=OK"))
        if passed is None:
            draft.miss(f"{operation}: how many returned OK is missing")
        else:
            okay = integer(passed.text, passed.number)
            draft.check(okay == count, f"{operation}: {okay} of {count} returned OK")
    rate, time = (seen.get(("OVERALL", name)) for name in ("Throughput(ops/sec)", "RunTime(ms)"))
    if rate and time and float(time.text) and total:
        own = total / float(time.text) * 1e3
        if own > float(rate.text) * 1.01:
            check_agreement(rate.number, "operations and throughput", float(rate.text), own, 0.01)
        elif own < float(rate.text) * 0.99:
            draft.miss("some operations are missing: the text is cut")


def _plan(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    words = ("ycsb", "run", "redis", "-s", "-P", "workloads/workloada", "-p", "redis.host={server}")
    count = ("-p", f"operationcount={request.iterations or 100_000}", "-threads", "4")
    notes = ("Redis must stand on the host, with what `ycsb load` put into it",)
    return alone(request, (*words, "-p", "redis.port=6379", *count), 60.0, notes=notes)


ADAPTER = Adapter(
    name="ycsb",
    programs=("ycsb", "ycsb.sh"),
    metrics=(TRANSACTION_RATE, ELAPSED, ROUND_TRIP),
    checks=(
        "every operation returned OK",
        "operations and throughput agree",
    ),
    begins=r"\[OVERALL\], RunTime\(ms\), ",
    plan=_plan,
    parse=_parse,
)
