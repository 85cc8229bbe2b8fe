"""Benchmarks of services: redis-benchmark, wrk, rpc-perf and YCSB.

redis-benchmark: comma-separated values, the long text, or the short one of ``-q``.

wrk: requests over HTTP. *KB* and *MB* are powers of two.

rpc-perf, versions 3 and 4: a few lines for each window of time, below its number.

YCSB: a line for each measure of each operation. Every operation must have returned OK.
"""

import re
from collections.abc import Iterable, Sequence

from etherweave.api.nearest import nearest
from etherweave.bench.programs.adapter import adapter
from etherweave.bench.programs.plans import (
    BenchmarkPlan,
    BenchmarkPlanError,
    BenchmarkRequest,
    FabricEstimate,
    GivenOptions,
    RunForecast,
    alone,
    seconds_text,
    timed_pair,
)
from etherweave.bench.texts.draft import NUMBER, Draft, integer, not_understood
from etherweave.measurements.benchmark_report import GarbledError, TextLine, check_agreement
from etherweave.measurements.metrics import BANDWIDTH, ELAPSED, ROUND_TRIP, TRANSACTION_RATE

_REDIS_STATISTICS = ("mean", "min", "p50", "p95", "p99", "max")
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
_REDIS_RATE = re.compile(rf"\s+throughput summary: ({NUMBER}) requests per second\s*")
_REDIS_SPREAD = re.compile(r"\s+" + r"\s+".join([rf"({NUMBER})"] * 6) + r"\s*")
_SERVER = (
    *("redis-server", "--bind", "{server}", "--port", "{port}", "--save", ""),
    *("--protected-mode", "no", "--user", "default", "on", "nopass", "~*", "-@all"),
    *("+get", "+set", "+ping"),
)
"""Server in memory, restricted to the measured commands: no client can do harm."""
_BEGINS = rf"{_CSV}\s*$|\s*{_TEST}: (?:rps=|{NUMBER} requests per second)|={{6}} {_TEST} ={{6}}"


def _parse_redis(draft: Draft) -> None:
    draft.program = "redis-benchmark"
    test: str | None = None
    is_table = is_spread = False
    for line in draft.block.lines:
        if re.fullmatch(rf"{_CSV}\s*", line.text):
            is_table = True
        elif line.text.startswith('"'):
            _take_row(draft, line, is_table)
        elif quick := _QUICK.fullmatch(line.text):
            _take_rate(draft, quick[1], quick[2], line)
            _take_times(draft, quick[1], ("p50",), (quick[3],), line)
        elif head := _HEAD.fullmatch(line.text):
            test, is_spread = head[1], False
        elif (rate := _REDIS_RATE.fullmatch(line.text)) and test:
            _take_rate(draft, test, rate[1], line)
        elif line.text.split() == ["avg", "min", "p50", "p95", "p99", "max"]:
            is_spread = True
        elif is_spread and test and (spread := _REDIS_SPREAD.fullmatch(line.text)):
            _take_times(draft, test, _REDIS_STATISTICS, spread.groups(), line)
            test = None
    if test is not None:
        draft.miss(f"{test}: the summary is missing: the text is cut")


def _take_rate(draft: Draft, test: str, rate: str, line: TextLine) -> None:
    if any(dict(measurement.labels)["test"] == test for measurement in draft.measurements):
        raise GarbledError(line.number, f"{test} occurs twice: two runs are mixed")
    draft.add(TRANSACTION_RATE, rate, "1/s", line.number, labels=[("test", test)])


def _take_times(
    draft: Draft, test: str, statistics: Sequence[str], times: Sequence[str], line: TextLine
) -> None:
    labels = [("test", test)]
    draft.add_each(ROUND_TRIP, statistics, times, "ms", line.number, labels=labels)


def _take_row(draft: Draft, line: TextLine, is_table: bool) -> None:
    row = _ROW.fullmatch(line.text.rstrip())
    if row is None or not is_table:
        raise not_understood(line)
    test, rate, *times = row.groups()
    _take_rate(draft, test, rate, line)
    _take_times(draft, test, _REDIS_STATISTICS, times, line)


def _plan_redis(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    count = request.iterations or 100_000
    own = request.options
    tests, clients = own.value("-t", "get,set"), request.streams if request.streams > 1 else 50
    at_once = own.count("-c", clients) * own.count("-P", 1)
    named = () if own.has("-t") else ("-t", tests)
    words = ("redis-benchmark", "-h", "{server}", "-p", "{port}", *named, "--csv")
    size = ("-d", str(request.size_max)) if request.size_max else ()
    requests = count * sum(2 if test == "ping" else 1 for test in tests.split(","))
    sent = float(requests * (_REQUEST + (request.size_max or 3)))
    seconds = 1.0 + max(requests * 4 * fabric.latency / at_once, sent / fabric.rate)
    connections = () if own.has("-c") else ("-c", str(clients))
    client = (*words, "-n", str(count), *connections, *size)
    basis = f"{requests:,} requests, {at_once} at a time"
    return timed_pair(request, fabric, client, _SERVER, seconds, sent=sent, basis=basis)


_REQUEST = 64  # Bytes of a request besides its value, about, in the protocol of Redis.


REDIS_BENCHMARK = adapter(
    "redis_benchmark",
    plan=_plan_redis,
    parse=_parse_redis,
    begins=_BEGINS,
    inside=rf"\s*{_TEST}: |={{6}} {_TEST} ={{6}}",
)


_WRK_TIME = rf"({NUMBER})(us|ms|s)"
_WRK_SPREAD = re.compile(rf"    Latency +{_WRK_TIME} +{_WRK_TIME} +{_WRK_TIME} +{NUMBER}%\s*")
_SHARE = re.compile(rf"  +({NUMBER})% +{_WRK_TIME}\s*")
_TOTAL = re.compile(rf"  (\d+) requests in ({NUMBER})s, {NUMBER}[KMG]?B read\s*")
_WRK_RATE = re.compile(rf"Requests/sec: +({NUMBER})\s*")
_MOVED = re.compile(rf"Transfer/sec: +({NUMBER})([KMG]?)B\s*")
_UNITS = {"": "B/s", "K": "KiB/s", "M": "MiB/s", "G": "GiB/s"}


def _parse_wrk(draft: Draft) -> None:
    draft.program = "wrk"
    total: re.Match[str] | None = None
    has_columns = has_shares = is_over = False
    for line in draft.block.lines[1:]:
        if line.text.split() == ["Thread", "Stats", "Avg", "Stdev", "Max", "+/-", "Stdev"]:
            has_columns = True
        elif line.text.strip() == "Latency Distribution":
            has_shares = True
        elif has_columns and (spread := _WRK_SPREAD.fullmatch(line.text)):
            for statistic, at in (("mean", 1), ("stdev", 3), ("max", 5)):
                _wait(draft, line, spread[at], spread[at + 1], statistic)
        elif has_shares and (share := _SHARE.fullmatch(line.text)):
            _wait(draft, line, share[2], share[3], f"p{float(share[1]):g}")
        elif match := _TOTAL.fullmatch(line.text):
            total = match
        elif rate := _WRK_RATE.fullmatch(line.text):
            _take_wrk_rate(draft, line, rate[1], total)
        elif moved := _MOVED.fullmatch(line.text):
            draft.add(BANDWIDTH, moved[1], _UNITS[moved[2]], line.number)
            is_over = True
        elif re.match(r"  (?:Socket errors|Non-2xx)", line.text):
            draft.fail(line.text.strip())
        elif not re.match(r"  +(?:\d+ threads and|Req/Sec)|\s*$", line.text):
            draft.leftover.append(line)
    draft.end(is_over, "the line `Transfer/sec`")


def _wait(draft: Draft, line: TextLine, time: str, unit: str, statistic: str) -> None:
    if any(measurement.statistic == statistic for measurement in draft.measurements):
        raise GarbledError(line.number, f"{statistic} occurs twice: two runs are mixed")
    draft.add(ROUND_TRIP, time, unit, line.number, statistic=statistic)


def _take_wrk_rate(draft: Draft, line: TextLine, rate: str, total: re.Match[str] | None) -> None:
    if total is not None:
        seconds = max(float(total[2]), 1e-9)
        own = int(total[1]) / seconds
        rounding = 0.001 + 0.006 / seconds
        check_agreement(line.number, "requests and rate", float(rate), own, rounding)
    draft.add(TRANSACTION_RATE, rate, "1/s", line.number)


def _plan_wrk(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    seconds = request.seconds or 10.0
    words = ("wrk", f"-t{request.streams}", "-c16", f"-d{seconds_text(seconds)}s", "--latency")
    server = ("python3", "-m", "http.server", "{port}", "--bind", "{server}")
    notes = ("Python's web server answers, and is what is measured; run wrk on your own otherwise",)
    client = (*words, "http://{server}:{port}/")
    files = (("index.html", "<title>Etherweave</title>\n"),)
    return timed_pair(request, fabric, client, server, seconds, files=files, notes=notes)


WRK = adapter("wrk", plan=_plan_wrk, parse=_parse_wrk)


_LOG = r"(?:\d{4}-\d\d-\d\d\S*(?: \d\d:\S+)? INFO +\S+ )?"
_WINDOW = re.compile(rf"{_LOG}Window: (\d+)\s*")
_RPC_PERF_RATE = re.compile(
    rf"{_LOG}Rate: Request: {NUMBER} rps Response: ({NUMBER}) rps Connect: {NUMBER} cps\s*"
)
_WAIT = re.compile(
    rf"{_LOG}Response Latency \(us\): p25: (\d+) p50: (\d+) p75: (\d+) p90: (\d+) p99: (\d+) "
    r"p999: (\d+) p9999: (\d+)\s*"
)
_SUCCESS = re.compile(rf"{_LOG}Success: Request: ({NUMBER}) % Response: ({NUMBER}) %.*")
_ALL = 100.0  # Requests and responses that succeeded, where all did [%].
_SHARES = ("p25", "p50", "p75", "p90", "p99", "p99.9", "p99.99")


def _parse_rpc_perf(draft: Draft) -> None:
    draft.program = "rpc-perf"
    window: str | None = None
    seen: set[str] = set()
    for line in draft.block.lines:
        if begun := _WINDOW.fullmatch(line.text):
            if begun[1] in seen or (window is not None and int(begun[1]) != int(window) + 1):
                raise GarbledError(line.number, f"window {begun[1]} after {window}: lines are lost")
            window, seen = begun[1], {begun[1]}
        elif rate := _RPC_PERF_RATE.fullmatch(line.text):
            labels = _labels(window, seen, "rate", line)
            draft.add(TRANSACTION_RATE, rate[1], "1/s", line.number, labels=labels)
        elif wait := _WAIT.fullmatch(line.text):
            labels = _labels(window, seen, "latency", line)
            draft.add_each(ROUND_TRIP, _SHARES, wait.groups(), "us", line.number, labels=labels)
        elif (success := _SUCCESS.fullmatch(line.text)) and (
            min(float(success[1]), float(success[2])) < _ALL
        ):
            draft.fail("some requests failed")


def _labels(window: str | None, seen: set[str], what: str, line: TextLine) -> list[tuple[str, str]]:
    if window is None or what in seen:
        raise GarbledError(line.number, f"a {what} without its window: lines are lost")
    seen.add(what)
    return [("window", window)]


def _plan_rpc_perf(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    words = ("rpc-perf", "--config", "rpc-perf.toml")
    notes = ("rpc-perf.toml names your cache: start it yourself, and read what it writes",)
    unknown = "rpc-perf: how long it runs, and how fast, stands in rpc-perf.toml"
    seconds = request.seconds or 60.0
    forecast = RunForecast(seconds * fabric.rate, seconds, "a guess", unknown)
    return alone(request, words, forecast, notes=notes)


RPC_PERF = adapter(
    "rpc_perf",
    plan=_plan_rpc_perf,
    parse=_parse_rpc_perf,
    fragment=rf"{_LOG}(?:Rate: Request|Response Latency \(us\)): ",
    begins=rf"{_LOG}Window: \d+\s*$",
    inside=rf"{_LOG}Window: \d+\s*$",
)


_LINE = re.compile(rf"\[([A-Z][\w%-]*)\], ([^,]+), ({NUMBER})\s*")
_OPERATIONS = ("READ", "UPDATE", "INSERT", "SCAN", "DELETE", "READ-MODIFY-WRITE")
_YCSB_TIME = re.compile(
    r"(?:(Average|Min|Max)Latency|(\d+(?:\.\d+)?)(?:th)?PercentileLatency)\(us\)"
)
_YCSB_STATISTICS = {"Average": "mean", "Min": "min", "Max": "max"}


def _parse_ycsb(draft: Draft) -> None:
    draft.program = "ycsb"
    seen: dict[tuple[str, str], TextLine] = {}
    for line, match in draft.rows(draft.block.lines, _LINE):
        if (match[1], match[2]) in seen:
            raise GarbledError(line.number, f"{match[1]} {match[2]} occurs twice")
        seen[match[1], match[2]] = TextLine(line.number, match[3])
        _take(draft, match, line.number)
    _check(draft, seen)


def _take(draft: Draft, match: re.Match[str], line: int) -> None:
    operation, measure, value = match.groups()
    if operation == "OVERALL" and measure == "Throughput(ops/sec)":
        draft.add(TRANSACTION_RATE, value, "1/s", line)
    elif operation == "OVERALL" and measure == "RunTime(ms)":
        draft.add(ELAPSED, value, "ms", line)
    elif operation in _OPERATIONS and (time := _YCSB_TIME.fullmatch(measure)):
        statistic = _YCSB_STATISTICS.get(time[1] or "") or f"p{float(time[2]):g}"
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


def _plan_ycsb(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    words = ("ycsb", "run", "redis", "-s", "-P", _WORKLOAD, "-p", "redis.host={server}")
    properties = dict(value.split("=", 1) for name, value in request.options.values if name == "-p")
    _check_properties(request.options, properties)
    if request.iterations and "operationcount" in properties:
        raise BenchmarkPlanError(
            "--iterations and -p operationcount of ycsb set the same quantity; expected one"
        )
    operations = str(request.iterations or properties.get("operationcount", 100_000))
    count = ("-p", f"operationcount={operations}", "-threads", "4")
    notes = ("Redis must run on the host, with what `ycsb load` put into it",)
    forecast = _forecast_ycsb(request.options, properties | {"operationcount": operations}, fabric)
    return alone(request, (*words, "-p", "redis.port=6379", *count), forecast, notes=notes)


def _check_properties(own: GivenOptions, properties: Iterable[str]) -> None:
    """Refuse names that YCSB would ignore; a user's own workload may have properties of its own."""
    if not re.fullmatch(_CORE, own.value("-P", _WORKLOAD)):
        return
    for name in properties:
        if setter := {"threadcount": "-threads", "target": "-target"}.get(name):
            raise BenchmarkPlanError(f"-p {name} of ycsb: set by {setter}")
        if "." not in name and name not in _PROPERTIES:
            near = nearest(name, _PROPERTIES)
            raise BenchmarkPlanError(f"unknown property {name} of ycsb; {near}")


_WORKLOAD, _CORE = "workloads/workloada", r"workloads/workload[a-f]"
_PROPERTIES = (
    *("table", "fieldcount", "fieldlength", "minfieldlength", "fieldlengthdistribution"),
    *("fieldlengthhistogram", "fieldnameprefix", "readallfields", "readallfieldsbyname"),
    *("writeallfields", "dataintegrity", "readproportion", "updateproportion"),
    *("insertproportion", "scanproportion", "readmodifywriteproportion", "requestdistribution"),
    *("minscanlength", "maxscanlength", "scanlengthdistribution", "zeropadding", "insertorder"),
    *("insertstart", "insertcount", "recordcount", "operationcount", "maxexecutiontime"),
    *("hotspotdatafraction", "hotspotopnfraction", "core_workload_insertion_retry_limit"),
    *("core_workload_insertion_retry_interval", "measurementtype", "exporter", "exportfile"),
    *("label", "dotransactions", "reportlatencyforeacherror", "latencytrackederrors"),
)
"""Properties of YCSB's `CoreWorkload`, `Client` and `Measurements` without a dot; those with one
are of the binding, or of an exporter."""
_YCSB_START_S = 10.0  # Start of its virtual machine, and of its threads [s].
_YCSB_USUAL = {"fieldcount": "10", "fieldlength": "100", "maxscanlength": "1000"}


def _forecast_ycsb(
    own: GivenOptions, properties: dict[str, str], fabric: FabricEstimate
) -> RunForecast:
    """Count records of all operations, a round trip each on every thread, or a target a second."""
    numbers = _YCSB_USUAL | properties
    counts = {name: numbers[name] for name in (*_YCSB_USUAL, "operationcount")}
    for name, text in counts.items():
        if not re.fullmatch(r"[1-9][0-9]{0,17}", text):
            raise BenchmarkPlanError(f"-p {name}={text} of ycsb: expected a whole number from 1 on")
    fields, length, scanned, operations = map(int, counts.values())
    workload = own.value("-P", _WORKLOAD)
    is_core = re.fullmatch(_CORE, workload)
    unknown = "" if is_core else f"ycsb: what an operation sends stands in {workload}"
    records = operations * (scanned if workload.endswith("workloade") else 1)
    sent = float(records * fields * length)
    rate = own.count("-threads", 4) / (2 * fabric.latency)
    target = own.count("-target", 0)
    rate = min(rate, target) if target else rate
    seconds = _YCSB_START_S + max(operations / rate, sent / fabric.rate)
    return RunForecast(sent, seconds, f"{operations:,} operations on whole records", unknown)


YCSB = adapter("ycsb", plan=_plan_ycsb, parse=_parse_ycsb)
