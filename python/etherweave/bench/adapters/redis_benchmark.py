"""redis-benchmark: comma-separated values, the long text, or the short one of ``-q``."""

import re

from etherweave.bench.adapter import Adapter
from etherweave.bench.draft import NUMBER, Draft
from etherweave.bench.measurements import GarbledError, TextLine
from etherweave.bench.metrics import ROUND_TRIP, TRANSACTION_RATE
from etherweave.bench.plans import BenchmarkPlan, BenchmarkRequest, FabricEstimate, timed_pair

_STATISTICS = ("mean", "min", "p50", "p95", "p99", "max")
_CSV = (
    r'"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms",'
    r'"p99_latency_ms","max_latency_ms"'
)
_TEST = (
    r"(?:PING_INLINE|PING_MBULK|SET|GET|INCR|LPUSH|RPUSH|LPOP|RPOP|SADD|HSET|SPOP|ZADD|ZPOPMIN|"
    r"XADD|LRANGE_\d+ \(first \d+ elements\)|LPUSH \(needed to benchmark LRANGE\)|"
    r"MSET \(10 keys\))"
)
_ROW = re.compile(rf'"({_TEST})"' + rf',"({NUMBER})"' * 7)
_HEAD = re.compile(rf"={{6}} ({_TEST}) ={{6}}\s*")
_QUICK = re.compile(rf"\s*({_TEST}): ({NUMBER}) requests per second, p50=({NUMBER}) msec\s*")
_RATE = re.compile(rf"\s+throughput summary: ({NUMBER}) requests per second\s*")
_SPREAD = re.compile(r"\s+" + r"\s+".join([rf"({NUMBER})"] * 6) + r"\s*")
_SERVER = (
    *("redis-server", "--bind", "{server}", "--port", "{port}", "--save", ""),
    *("--protected-mode", "no", "--user", "default", "on", "nopass", "~*", "-@all"),
    *("+get", "+set", "+ping"),
)
"""In memory, and restricted to the measured commands: no client can do harm."""
_BEGINS = rf"{_CSV}\s*$|\s*{_TEST}: (?:rps=|{NUMBER} requests per second)|={{6}} {_TEST} ={{6}}"


def _parse(draft: Draft) -> None:
    draft.program = "redis-benchmark"
    test: str | None = None
    is_table = is_spread = False
    for line in draft.block.lines:
        if re.fullmatch(rf"{_CSV}\s*", line.text):
            is_table = True
        elif line.text.startswith('"'):
            _take_row(draft, line, is_table)
        elif quick := _QUICK.fullmatch(line.text):
            _once(draft, quick[1], line)
            draft.add(TRANSACTION_RATE, quick[2], "1/s", line.number, labels=[("test", quick[1])])
            _time(draft, quick[1], "p50", quick[3], line)
        elif head := _HEAD.fullmatch(line.text):
            test, is_spread = head[1], False
        elif (rate := _RATE.fullmatch(line.text)) and test:
            _once(draft, test, line)
            draft.add(TRANSACTION_RATE, rate[1], "1/s", line.number, labels=[("test", test)])
        elif line.text.split() == ["avg", "min", "p50", "p95", "p99", "max"]:
            is_spread = True
        elif is_spread and test and (spread := _SPREAD.fullmatch(line.text)):
            for statistic, value in zip(_STATISTICS, spread.groups(), strict=True):
                _time(draft, test, statistic, value, line)
            test = None
    if test is not None:
        draft.miss(f"{test}: the summary is missing: the text is cut")


def _once(draft: Draft, test: str, line: TextLine) -> None:
    if any(dict(one.labels)["test"] == test for one in draft.measurements):
        raise GarbledError(line.number, f"{test} stands twice: two runs are mixed")


def _time(draft: Draft, test: str, statistic: str, value: str, line: TextLine) -> None:
    labels = [("test", test)]
    draft.add(ROUND_TRIP, value, "ms", line.number, statistic=statistic, labels=labels)


def _take_row(draft: Draft, line: TextLine, is_table: bool) -> None:
    row = _ROW.fullmatch(line.text.rstrip())
    if row is None or not is_table:
        raise GarbledError(line.number, f"a row that is not understood: {line.text[:60]!r}")
    test, rate, *times = row.groups()
    _once(draft, test, line)
    draft.add(TRANSACTION_RATE, rate, "1/s", line.number, labels=[("test", test)])
    for statistic, value in zip(_STATISTICS, times, strict=True):
        _time(draft, test, statistic, value, line)


def _plan(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    count = request.iterations or 100_000
    words = ("redis-benchmark", "-h", "{server}", "-p", "{port}", "-t", "get,set", "--csv")
    size = ("-d", str(request.size_max)) if request.size_max else ()
    seconds = max(2 * count * 4 * fabric.latency / 50, 1.0)
    asked = BenchmarkRequest(request.program, seconds=seconds, options=request.options)
    client = (*words, "-n", str(count), "-c", "50", *size)
    return timed_pair(asked, fabric, client, _SERVER)


ADAPTER = Adapter(
    name="redis_benchmark",
    programs=("redis-benchmark",),
    metrics=(TRANSACTION_RATE, ROUND_TRIP),
    checks=("every test once, with all its percentiles",),
    begins=_BEGINS,
    inside=rf"\s*{_TEST}: |={{6}} {_TEST} ={{6}}",
    plan=_plan,
    parse=_parse,
    version=(("--version",), r"redis-benchmark (\d[\w.]*)"),
)
