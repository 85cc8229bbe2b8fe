"""netperf: streams and transactions of a pair, as classic tables, key=value lines or CSV.

Throughput is in 10^6 bits per second. A transaction is a whole round trip.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from etherweave.bench.programs.adapter import adapter
from etherweave.bench.programs.plans import (
    BenchmarkPlan,
    BenchmarkPlanError,
    BenchmarkRequest,
    FabricEstimate,
    GivenOptions,
    scaled,
    seconds_text,
    timed_pair,
)
from etherweave.bench.texts.draft import (
    ANY,
    FIXED_2,
    INTEGER,
    Draft,
    begins_with_digit,
    decimal,
    fields,
)
from etherweave.measurements.benchmark_report import GarbledError, Labels, TextLine
from etherweave.measurements.metrics import (
    BANDWIDTH,
    CALL_TIME,
    LOSS,
    RETRANSMITS,
    ROUND_TRIP,
    TRANSACTION_RATE,
)

_BANNER = re.compile(
    r"(?:MIGRATED )?(?P<protocol>TCP|UDP|SCTP) (?P<test>STREAM|MAERTS|REQUEST/RESPONSE|"
    r"Connect/Request/Response) TEST from .* to "
)
_LATENCIES = {
    "MIN_LATENCY": "min",
    "MEAN_LATENCY": "mean",
    "P50_LATENCY": "p50",
    "P90_LATENCY": "p90",
    "P99_LATENCY": "p99",
    "MAX_LATENCY": "max",
    "STDDEV_LATENCY": "stdev",
}
_LONG = {
    "Minimum Latency Microseconds": "MIN_LATENCY",
    "Mean Latency Microseconds": "MEAN_LATENCY",
    "50th Percentile Latency Microseconds": "P50_LATENCY",
    "90th Percentile Latency Microseconds": "P90_LATENCY",
    "99th Percentile Latency Microseconds": "P99_LATENCY",
    "Maximum Latency Microseconds": "MAX_LATENCY",
    "Stddev Latency Microseconds": "STDDEV_LATENCY",
    "Throughput": "THROUGHPUT",
    "Throughput Units": "THROUGHPUT_UNITS",
}
_PAIR = re.compile(r"([A-Z][A-Z0-9_]+)=(.*?)\s*")


def _parse(draft: Draft) -> None:
    draft.program = "netperf"
    first, *rest = draft.block.lines
    banner = _BANNER.match(first.text)
    assert banner
    labels = [("test", f"{banner['protocol']} {banner['test']}")]
    pairs = {match[1]: match[2] for line in rest if (match := _PAIR.fullmatch(line.text))}
    csv = [line for line in rest if line.text.count(",") > 3]
    if any("!!! WARNING" in line.text for line in rest):
        draft.warn("the confidence that was asked for was missed")
    if pairs:
        if len(pairs) != sum(1 for line in rest if "=" in line.text):
            raise GarbledError(first.number, "a line of NAME=value is garbled or occurs twice")
        _take_named(draft, pairs, first.number, labels)
    elif csv:
        _take_csv(draft, csv, labels)
    elif banner["test"] in ("STREAM", "MAERTS"):
        _take_stream(draft, rest, labels, is_udp=banner["protocol"] == "UDP")
    else:
        _take_transactions(draft, rest, labels)


def _take_named(draft: Draft, pairs: Mapping[str, str], line: int, labels: Labels) -> None:
    unit = pairs.get("THROUGHPUT_UNITS")
    for name in ("THROUGHPUT", "LOCAL_TRANSPORT_RETRANS", *_LATENCIES):
        if not ANY.fullmatch(pairs.get(name, "-1").removeprefix("-")):
            raise GarbledError(line, f"{name}={pairs[name][:40]} is no number")
    if value := pairs.get("THROUGHPUT"):
        if unit == "10^6bits/s":
            draft.add(BANDWIDTH, value, "Mbit/s", line, labels=labels)
        elif unit == "Trans/s":
            draft.add(TRANSACTION_RATE, value, "1/s", line, labels=labels)
        else:
            raise GarbledError(line, f"throughput in {unit!r} is not known")
    # A stream's times are those of a call that sends or receives.
    metric = CALL_TIME if unit == "10^6bits/s" else ROUND_TRIP
    for name, statistic in _LATENCIES.items():
        if name in pairs:
            draft.add(metric, pairs[name], "us", line, statistic=statistic, labels=labels)
    # Datagrams and single connections of a transaction have no count: -1.
    if pairs.get("LOCAL_TRANSPORT_RETRANS", "-1") != "-1":
        count = pairs["LOCAL_TRANSPORT_RETRANS"]
        draft.add(RETRANSMITS, count, "1", line, statistic="sum", labels=labels)


def _take_csv(draft: Draft, lines: list[TextLine], labels: Labels) -> None:
    """Read a header and a row; with TEST among the columns, the header lacks its name."""
    if len(lines) != 2:
        raise GarbledError(
            lines[0].number, f"expected a header and a row, found {len(lines)} lines"
        )
    names, cells = (line.text.split(",") for line in lines)
    if len(cells) == len(names) + 1 and not cells[1]:
        del cells[1]
    if len(cells) != len(names):
        raise GarbledError(lines[1].number, f"{len(cells)} fields below {len(names)} names")
    pairs = {_LONG[name]: cell for name, cell in zip(names, cells, strict=True) if name in _LONG}
    if any(name not in _LONG and "Latency" in name for name in names):
        raise GarbledError(lines[0].number, "a column that is not understood")
    _take_named(draft, pairs, lines[1].number, labels)
    draft.end(True, "")


def _rows(lines: list[TextLine]) -> list[TextLine]:
    return [line for line in lines if begins_with_digit(line.text)]


def _take_stream(draft: Draft, lines: list[TextLine], labels: Labels, *, is_udp: bool) -> None:
    if not any(re.search(r" 10\^6bits/s(?:ec)?\s", line.text + " ") for line in lines):
        raise GarbledError(draft.block.start, "expected throughput in 10^6bits/s")
    rows = _rows(lines)
    if not rows:
        return
    if is_udp:
        _take_datagrams(draft, rows, labels)
        return
    width = len(rows[0].text.split())
    rest = (ANY,) * (4 if width == 9 else 0)
    kinds = (INTEGER, INTEGER, INTEGER, FIXED_2, FIXED_2, *rest)
    cells = fields(rows[0], kinds)
    draft.add(BANDWIDTH, cells[4], "Mbit/s", rows[0].number, size=int(cells[2]), labels=labels)
    draft.end(True, "")


def _take_datagrams(draft: Draft, rows: list[TextLine], labels: Labels) -> None:
    sent = fields(rows[0], (INTEGER, INTEGER, FIXED_2, INTEGER, INTEGER, FIXED_2))
    size, line = int(sent[1]), rows[0].number
    own = [*labels, ("side", "sender")]
    draft.add(BANDWIDTH, sent[5], "Mbit/s", line, size=size, labels=own)
    if len(rows) > 1:
        got = fields(rows[1], (INTEGER, FIXED_2, INTEGER, FIXED_2))
        line, own = rows[1].number, [*labels, ("side", "receiver")]
        if int(got[2]):
            draft.add(BANDWIDTH, got[3], "Mbit/s", line, size=size, labels=own)
        else:
            draft.miss("the receiver got nothing: 0 messages")
        if int(got[2]) > int(sent[3]) or not int(sent[3]):
            raise GarbledError(line, "more packets received than sent")
        lost = 1 - int(got[2]) / int(sent[3])
        draft.add(LOSS, f"{lost:.12f}", "1", line, labels=labels)
    draft.end(len(rows) > 1, "the receiver's row")


def _take_transactions(draft: Draft, lines: list[TextLine], labels: Labels) -> None:
    if not any(line.text.split()[-2:] == ["per", "sec"] for line in lines):
        raise GarbledError(draft.block.start, "expected a rate per sec")
    rows = _rows(lines)
    if not rows:
        return
    kinds = (INTEGER, INTEGER, INTEGER, INTEGER, FIXED_2, FIXED_2)
    cells, line = fields(rows[0], kinds), rows[0].number
    size = int(cells[2])
    draft.add(TRANSACTION_RATE, cells[5], "1/s", line, size=size, labels=labels)
    # With -v 2 a further row has the mean round trip, and repeats the rate.
    for row in rows[1:]:
        parts = row.text.split()
        if len(parts) == 8 and abs(decimal(parts[5], row.number) - decimal(cells[5], line)) < 1:
            draft.add(ROUND_TRIP, parts[4], "us", row.number, size=size, labels=labels)
    if len(rows) == 1:
        draft.miss("the row of the other side is missing: the text is cut")


def _plan(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    seconds, own = request.seconds or 10.0, request.options
    test = own.value("-t", "TCP_STREAM")
    is_stream = test.endswith(("STREAM", "MAERTS"))
    head = ("netperf", "-H", "{server}", "-p", "{port}", "-l", seconds_text(seconds), "-t", test)
    size = str(request.size_max)
    sized = (("-m", size) if is_stream else ("-r", f"{size},{size}")) if request.size_max else ()
    # The table of datagrams has what the receiver got; named values have only what was sent.
    printed = ("-R", "1") if test == "UDP_STREAM" else ("-k", _TIMED if not is_stream else _SENT)
    of_test = [(name, value) for name, value in own.values if name in _OF_TESTS]
    of_all = [(name, value) for name, value in own.values if name not in ("-t", *_OF_TESTS)]
    client = (*head, *_words(of_all), "--", *sized, *printed, *_words(of_test))
    server = ("netserver", "-D", "-p", "{port}")
    base = replace(request, options=GivenOptions())
    # Tests are repeated until the interval is narrow, as the manual says of -I: ten times at most.
    length = seconds * int(own.value("-i", "10" if own.has("-I") else "1").partition(",")[0])
    if is_stream:
        if own.has("-r", "-b"):
            name = "-r" if own.has("-r") else "-b"
            raise BenchmarkPlanError(f"{name} of {test}: expected a test such as -t TCP_RR")
        return timed_pair(base, fabric, client, server, length)
    sizes = own.value("-r", size if request.size_max else "1").split(",")
    asked, answered = (scaled(text, 1024) for text in (sizes[0], sizes[-1]))
    # A transaction at a time, or so many more: its bytes both ways, and two latencies.
    at_once = 1 + own.count("-b", 0)
    each = (asked + answered) / fabric.rate + 2 * fabric.latency
    sent = length * min(at_once * max(asked, answered) / each, fabric.rate)
    basis = f"transactions, {at_once} at a time"
    return timed_pair(base, fabric, client, server, length, sent=sent, basis=basis)


def _words(values: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(word for pair in values for word in pair if word)


_SENT = "THROUGHPUT,THROUGHPUT_UNITS,LOCAL_TRANSPORT_RETRANS"
_TIMED = (
    "THROUGHPUT,THROUGHPUT_UNITS,MIN_LATENCY,MEAN_LATENCY,P50_LATENCY,P90_LATENCY,P99_LATENCY,"
    "MAX_LATENCY,LOCAL_TRANSPORT_RETRANS"
)
_OF_TESTS = ("-r", "-M", "-s", "-S", "-D", "-K", "-b")
"""Options that netperf reads after its own ``--``."""

ADAPTER = adapter("netperf", plan=_plan, parse=_parse)
