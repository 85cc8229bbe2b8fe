"""Small benchmarks of a pair of hosts: ucx_perftest, fi_pingpong, NetPIPE, nuttcp, sockperf.

ucx_perftest: the row *Final*, or comma-separated values. Megabytes are 2^20 bytes.

A latency test prints half a round trip, a bandwidth test the time of a message; neither table nor
values say which test it was, so times are those of a call.

libfabric's fi_pingpong: half round trips and decimal megabytes; sizes in powers of two.

NetPIPE: a row for each size, on its standard output or in its file. *Mbps* are 2^20 bits.

nuttcp: one line a run. *MB* are 2^20 bytes, *Mbps* 10^6 bits.

sockperf: half round trips, or whole ones with ``--full-rtt``, with percentiles; or a rate. *MBps*
and *Mbps* are powers of two.
"""

import re
from collections.abc import Sequence
from decimal import Decimal

from etherweave.bench.adapters import ucc_perftest
from etherweave.bench.programs.adapter import adapter
from etherweave.bench.programs.plans import (
    BenchmarkPlan,
    BenchmarkPlanError,
    BenchmarkRequest,
    FabricEstimate,
    HostPattern,
    all_ranks,
    doubling,
    predict_sweep,
    seconds_text,
    timed_pair,
)
from etherweave.bench.texts.draft import ANY, INTEGER, NUMBER, Draft, fields
from etherweave.measurements import metrics
from etherweave.measurements.benchmark_report import (
    GarbledError,
    TextLine,
    check_agreement,
    check_rising,
)

_CSV = "iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr"
_KINDS = (INTEGER, ANY, ANY, ANY, ANY, ANY, ANY, ANY)


def _parse_ucx(draft: Draft) -> None:
    if re.match(ucc_perftest.BEGINS, draft.block.lines[0].text):
        ucc_perftest.parse(draft)
        return
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
        _take_ucx(draft, fields(line, _KINDS), line.number)
    draft.end(bool(finals), "the final row")


def _take_ucx(draft: Draft, cells: Sequence[str], line: int) -> None:
    _, median, _, time, _, bandwidth, _, rate = cells
    if float(time) and float(rate) > 10:
        rounding = 0.005 + 1 / float(rate) + 0.001 / float(time)
        check_agreement(line, "time and rate", float(rate), 1e6 / float(time), rounding)
    draft.add(metrics.CALL_TIME, median, "us", line, statistic="p50")
    draft.add(metrics.CALL_TIME, time, "us", line)
    draft.add(metrics.BANDWIDTH, bandwidth, "MiB/s", line)
    draft.add(metrics.MESSAGE_RATE, rate, "1/s", line)


def _plan_ucx(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    if request.program != "ucx_perftest":
        raise BenchmarkPlanError(f"{request.program} is only read")
    size = request.size_max or 8
    is_large = size > 4096
    count = request.iterations or (5000 if is_large else 20_000)
    test = request.options.value("-t", "tag_bw" if is_large else "tag_lat")
    own = () if request.options.has("-t") else ("-t", test)
    words = ("ucx_perftest", "{server}", "-p", "{port}", *own, "-s", str(size))
    own_options = request.options
    messages = (count + own_options.count("-w", 10_000)) * own_options.count("-T", 1)
    swept = predict_sweep([(size, 2 * messages)], fabric, f"{messages:,} messages, there and back")
    notes = ("set UCX_TLS and UCX_NET_DEVICES: UCX takes shared memory wherever it can",)
    client = (*words, "-n", str(count))
    server = ("ucx_perftest", "-p", "{port}")
    return timed_pair(
        *(request, fabric, client, server, swept.seconds),
        sent=swept.bytes / 2,  # A host sends one of both.
        basis=swept.basis,
        notes=notes,
    )


UCX_PERFTEST = adapter(
    "ucx_perftest",
    plan=_plan_ucx,
    parse=_parse_ucx,
    begins=rf"\|\s+\|\s+\|\s+(?:latency|overhead) \(usec\)|{re.escape(_CSV)}\s*$|"
    rf"{ucc_perftest.BEGINS}",
)


_FI_ROW = re.compile(
    rf"(?P<size>\d+(?:\.\d+)?[kmg]?) +(?P<sent>\d+) +=(?P<acknowledged>\d+) +\S+ +{NUMBER}s +"
    rf"(?P<rate>{NUMBER}) +(?P<time>{NUMBER}) +(?P<millions>{NUMBER})\s*"
)
_SCALES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}


def _parse_fi(draft: Draft) -> None:
    draft.program = "fi_pingpong"
    rows = draft.rows(draft.block.lines[1:], _FI_ROW, looks=r"\d")
    check_rising([(line.number, _take_fi(draft, line, row)) for line, row in rows])


def _take_fi(draft: Draft, line: TextLine, row: re.Match[str]) -> int:
    scale = _SCALES[row["size"].lstrip("0123456789.")]
    size = int(Decimal(row["size"].rstrip("kmg")) * scale)
    if row["sent"] != row["acknowledged"]:
        draft.fail(f"{size} B: not all was acknowledged")
    time, rate, millions = (float(row[name]) for name in ("time", "rate", "millions"))
    if time and abs(millions - 1 / time) > 0.006 + 0.006 / time**2:
        raise GarbledError(line.number, "usec/xfer and Mxfers/sec contradict")
    if time and rate:
        rounding = 0.01 + 0.006 / rate + 0.006 / time
        check_agreement(line.number, "time and bandwidth", rate, size / time, rounding)
    draft.add(metrics.LATENCY, row["time"], "us", line.number, size=size)
    draft.add(metrics.BANDWIDTH, row["rate"], "MB/s", line.number, size=size)
    return size


def _plan_fi(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    count = request.iterations or 1000
    sizes = (64, 256, 1024, 4096, 65536, 2**20)
    swept = predict_sweep([(size, 2 * count) for size in sizes], fabric, "")
    common = ("fi_pingpong", "-p", "tcp", "-e", "msg", "-I", str(count))
    client = (*common, "-P", "{port}", "{server}")
    server = (*request.options.behind(common), "-B", "{port}")
    basis = f"{count:,} round trips of each size"
    seconds, sent = swept.seconds, swept.bytes / 2
    return timed_pair(request, fabric, client, server, seconds, sent=sent, basis=basis)


FI_PINGPONG = adapter("fi_pingpong", plan=_plan_fi, parse=_parse_fi)


_FILE = re.compile(r" *(?P<size>\d{1,12}) (?P<rate>\d{1,9}\.\d{6}) +(?P<time>\d{1,6}\.\d{8})\s*")
_OUTPUT = "np.out"
_SPOKEN = re.compile(
    rf" *\d+: +(?P<size>\d{{1,12}}) bytes +\d+ times --> +(?P<rate>{NUMBER}) Mbps in +"
    rf"(?P<time>{NUMBER}) usec\s*"
)


def _parse_netpipe(draft: Draft) -> None:
    draft.program = "NPtcp"
    sizes = []
    known = r"Send and|Now start|\(A bug"
    for line, row in draft.rows(draft.block.lines, _FILE, _SPOKEN, looks=r"\s*\d", known=known):
        _take_netpipe(draft, line, row, "s" if row.re is _FILE else "us")
        sizes.append((line.number, int(row["size"])))
    check_rising(sizes)


def _take_netpipe(draft: Draft, line: TextLine, row: re.Match[str], unit: str) -> None:
    size, rate = int(row["size"]), float(row["rate"])
    time = float(row["time"]) * (1 if unit == "s" else 1e-6)
    if time <= 0 or rate <= 0:
        raise GarbledError(line.number, "a time or a rate of zero")
    rounding = 0.003 + 0.006e-6 / time + 0.006 / rate
    check_agreement(line.number, "size, time and rate", rate, size * 8 / 2**20 / time, rounding)
    draft.add(metrics.LATENCY, row["time"], unit, line.number, size=size)
    draft.add(metrics.BANDWIDTH, row["rate"], "Mibit/s", line.number, size=size)


def _plan_netpipe(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    largest = request.size_max or 2**23
    steps = [(size, 2000) for size in doubling(1, largest)]
    swept = predict_sweep(steps, fabric, "2,000 messages of each size, at most")
    written = ("-u", str(largest), "-o", _OUTPUT)
    if request.program != "NPtcp":
        arguments, pattern = (request.program, *written), HostPattern.PAIR
        return all_ranks(request, arguments, swept, pattern=pattern, output=_OUTPUT)
    client = ("NPtcp", "-h", "{server}", "-P", "{port}", *written)
    server = ("NPtcp", "-P", "{port}", "-u", str(largest))
    return timed_pair(
        *(request, fabric, client, server, swept.seconds),
        sent=swept.bytes,
        basis=swept.basis,
        output=_OUTPUT,
    )


NETPIPE = adapter("netpipe", plan=_plan_netpipe, parse=_parse_netpipe)


_NUTTCP_ROW = re.compile(
    rf"\s*(?P<megabytes>{NUMBER}) MB / +(?P<seconds>{NUMBER}) sec = +(?P<rate>{NUMBER}) Mbps"
    rf" \d+ %TX \d+ %RX(?: (?P<retrans>\d+) retrans)?(?: (?P<rtt>{NUMBER}) msRTT)?\s*"
)
_NAMED = re.compile(
    rf"megabytes=(?P<megabytes>{NUMBER}) real_seconds=(?P<seconds>{NUMBER}) "
    rf"rate_Mbps=(?P<rate>{NUMBER}) tx_cpu=\d+ rx_cpu=\d+(?: retrans=(?P<retrans>\d+))?"
    rf"(?: (?:cwnd=\d+ )?rtt_ms=(?P<rtt>{NUMBER}))?\s*"
)


def _parse_nuttcp(draft: Draft) -> None:
    draft.program = "nuttcp"
    megabytes = ""
    for line, row in draft.rows(draft.block.lines, _NUTTCP_ROW, _NAMED):
        _take_nuttcp(draft, line, row)
        draft.end(True, "")
        megabytes = row["megabytes"]
    if megabytes and not float(megabytes):
        draft.miss("the receiver got nothing: 0 MB")


def _take_nuttcp(draft: Draft, line: TextLine, row: re.Match[str]) -> None:
    seconds = max(float(row["seconds"]), 1e-9)
    own = float(row["megabytes"]) * 2**20 * 8 / seconds / 1e6
    rounding = 0.001 + 0.006 / seconds
    check_agreement(line.number, "bytes, seconds and rate", float(row["rate"]), own, rounding)
    draft.add(metrics.BANDWIDTH, row["rate"], "Mbit/s", line.number)
    if row["retrans"]:
        draft.add(metrics.RETRANSMITS, row["retrans"], "1", line.number, statistic="sum")
    if row["rtt"]:
        draft.add(metrics.ROUND_TRIP, row["rtt"], "ms", line.number)


def _plan_nuttcp(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    seconds = request.seconds or 10.0
    streams = (f"-N{request.streams}",) if request.streams > 1 else ()
    client = ("nuttcp", "-fparse", f"-T{seconds_text(seconds)}", *streams, "-P{port}", "{server}")
    server = ("nuttcp", "-S", "--nofork", "-1", "-P{port}")
    notes = ("its data take port 5101: one pair of a host at a time",)
    return timed_pair(request, fabric, client, server, seconds, notes=notes)


NUTTCP = adapter(
    "nuttcp",
    plan=_plan_nuttcp,
    parse=_parse_nuttcp,
    begins=rf"\s*{NUMBER} MB / +{NUMBER} sec = |megabytes={NUMBER} real_seconds=",
)


_LATENCY = re.compile(rf"Summary: (Latency|Round trip) is ({NUMBER}) usec\s*")
_SPREAD = re.compile(
    rf"====> avg-(?:lat|latency|rtt)= *({NUMBER}) \(std-dev=({NUMBER})(?:, .*)?\)\s*"
)
_TIMES: dict[str, metrics.Metric] = {"Latency": metrics.LATENCY, "Round trip": metrics.ROUND_TRIP}
_SHARE = re.compile(rf"---> percentile ({NUMBER}) += +({NUMBER})\s*")
_ENDS = re.compile(rf"---> <(MIN|MAX)> observation += +({NUMBER})\s*")
_RATE = re.compile(rf"Summary: Message Rate is ({NUMBER}) \[msg/sec\]\s*")
_BANDWIDTH = re.compile(rf"Summary: BandWidth is ({NUMBER}) MBps \(({NUMBER}) Mbps\)\s*")
_DROPS = re.compile(r"# dropped messages = (\d+); # duplicated messages = (\d+);.*= (\d+)\s*")
_SIZE = re.compile(r"msg-size=(\d+)\.")


def _parse_sockperf(draft: Draft) -> None:
    draft.program = "sockperf"
    lines = [TextLine(row.number, row.text.removeprefix("sockperf: ")) for row in draft.block.lines]
    version = re.search(r"== version #(\S+)", lines[0].text)
    draft.version = version and version[1]
    if not version:
        draft.warn("the line with the version is missing")
    mean = [(line, match) for line in lines if (match := _LATENCY.fullmatch(line.text))]
    rate = [(line, match) for line in lines if (match := _BANDWIDTH.fullmatch(line.text))]
    if len(mean) + len(rate) > 1:
        raise GarbledError(draft.block.start, "several summaries: runs are mixed")
    for line, match in mean:
        metric = _TIMES[match[1]]
        draft.add(metric, match[2], "us", line.number)
        _take_percentiles(draft, lines, metric, match[2])
    for line, match in rate:
        _take_rate(draft, lines, line, match)
    if not (mean or rate):
        draft.miss("the summary is missing")


def _take_percentiles(
    draft: Draft, lines: list[TextLine], metric: metrics.Metric, mean: str
) -> None:
    """Read percentiles, which are printed from the highest to the lowest."""
    before, is_over = float("inf"), False
    for line in lines:
        if spread := _SPREAD.fullmatch(line.text):
            if spread[1] != mean:
                raise GarbledError(line.number, f"two means: {spread[1]} and {mean}")
            draft.add(metric, spread[2], "us", line.number, statistic="stdev")
        elif (drops := _DROPS.fullmatch(line.text)) and any(map(int, drops.groups())):
            draft.warn(f"dropped, duplicated, out of order: {', '.join(drops.groups())}")
        match = _SHARE.fullmatch(line.text) or _ENDS.fullmatch(line.text)
        if match:
            if float(match[2]) > before:
                raise GarbledError(line.number, "percentiles do not fall")
            before, is_over = float(match[2]), match[1] == "MIN"
            name = match[1].lower() if match[1] in ("MIN", "MAX") else f"p{float(match[1]):g}"
            draft.add(metric, match[2], "us", line.number, statistic=name)
    draft.end(is_over, "the smallest observation")


def _take_rate(draft: Draft, lines: list[TextLine], line: TextLine, match: re.Match[str]) -> None:
    check_agreement(line.number, "MBps and Mbps", float(match[2]), 8 * float(match[1]), 0.001)
    sizes = [size_match[1] for line in lines if (size_match := _SIZE.search(line.text))]
    size = int(sizes[0]) if sizes else None
    draft.add(metrics.BANDWIDTH, match[1], "MiB/s", line.number, size=size)
    for row in lines:
        if rate := _RATE.fullmatch(row.text):
            if size:
                own = float(rate[1]) * size / 2**20
                check_agreement(row.number, "size, rate and bandwidth", float(match[1]), own, 0.01)
            draft.add(metrics.MESSAGE_RATE, rate[1], "1/s", row.number, size=size)
    draft.end(True, "")


def _plan_sockperf(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    seconds = request.seconds or 10.0
    size = ("--msg-size", str(request.size_max)) if request.size_max else ()
    common = ("-i", "{server}", "-p", "{port}", "--tcp")
    client = ("sockperf", "ping-pong", *common, "-t", seconds_text(seconds), *size)
    own, bytes_each = request.options, request.size_max or _MESSAGE
    each = 2 * (bytes_each / fabric.rate + fabric.latency)
    # A burst is answered before the next one; so many messages a second are the most.
    rate = own.count("--burst", 1) / each
    rate = min(rate, own.count("--mps", 0) or rate, fabric.rate / bytes_each)
    length = seconds + own.count("--pre-warmup-wait", 0)
    return timed_pair(
        *(request, fabric, client, ("sockperf", "server", *common), length),
        sent=length * rate * bytes_each,
        basis=f"{rate:.3g} messages a second",
    )


_MESSAGE = 14  # Usual size of a message [bytes].
SOCKPERF = adapter("sockperf", plan=_plan_sockperf, parse=_parse_sockperf)
