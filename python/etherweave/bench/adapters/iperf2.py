"""iperf 2: streams of a pair, as text or as comma-separated values.

Bits are powers of ten, *MBytes* powers of two. Every interval is kept with its times, as the whole
run is printed like any other; only the server knows what UDP lost.
"""

import re
from dataclasses import replace

from etherweave.bench.programs.adapter import adapter
from etherweave.bench.programs.plans import (
    BenchmarkPlan,
    BenchmarkPlanError,
    BenchmarkRequest,
    FabricEstimate,
    seconds_text,
    timed_pair,
)
from etherweave.bench.texts.draft import NUMBER, Draft, not_understood
from etherweave.measurements.benchmark_report import GarbledError, Labels, TextLine, check_agreement
from etherweave.measurements.metrics import BANDWIDTH, BANDWIDTH_BOTH, BANDWIDTH_SUM, JITTER, LOSS

_RATES = {"": "bit/s", "K": "kbit/s", "M": "Mbit/s", "G": "Gbit/s", "T": "Tbit/s"}
_SIZES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_BITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_ROW = re.compile(
    rf"\[(?P<id>SUM|FD\d+|[ *]*\d+)\] (?P<from>{NUMBER})-(?P<to>{NUMBER}) sec +"
    rf"(?P<size>{NUMBER}) (?P<bytes>[KMGT]?)Bytes +(?P<rate>{NUMBER}) (?P<bits>[KMGT]?)bits/sec"
    rf"(?: +(?P<jitter>{NUMBER}) ms +(?P<lost>\d+)/(?P<total>\d+) \({NUMBER}%\).*|"
    r"(?: +\d+/\d+ +\d+ pps| +\d+/\d+ +\d+ +\S+ us +\S+| +\d+=[\d:]+)?)\s*"
)
_CSV = re.compile(
    rf"\d{{14}},[\w.:%]+,\d+,[\w.:%]+,\d+,(?P<id>-?\d+),(?P<from>{NUMBER})-(?P<to>{NUMBER}),"
    rf"(?P<size>\d+),(?P<rate>\d+)(?:,{NUMBER},-?\d+,-?\d+,-?{NUMBER},\d+)?\s*"
)
_HEAD = re.compile(r"(Client connecting to|Server listening on) (?:\S+, )?(TCP|UDP) port")
_KNOWN = re.compile(
    r"-{10,}|\[ *\*?(?:\d+|ID|SUM)\] (?:local|Interval|Sent|Server Report)|"
    r"(?:TCP|UDP) (?:window|buffer) size|Write buffer|Read buffer|TOS set|Sending|Reading"
)
_ROUNDING = 0.02  # Rounding error of values with three digits.


def _parse(draft: Draft) -> None:
    draft.program = "iperf"
    first = draft.block.lines[0]
    head = _HEAD.match(first.text)
    side = "receiver" if head and head[1].startswith("Server") else "sender"
    draft.facts["protocol"] = head[2] if head else "from CSV"
    totals: dict[str, str] = {}
    for line in draft.block.lines if head is None else draft.block.lines[1:]:
        if head is None and re.match(r"\d{14},", line.text):
            fields = _take_csv(draft, line)
            totals[fields["id"]] = fields["size"]
        elif head and (row := _ROW.fullmatch(line.text)):
            totals[row["id"].strip()] = row["size"]
            _take_row(draft, row, line, side)
        elif re.match(r"\[[^]:]*\] *\d", line.text):
            raise not_understood(line)
        elif version := re.search(r"\(peer (\d[\w.-]*)\)", line.text):
            draft.version = version[1]
        elif line.text.strip() and not _KNOWN.match(line.text):
            draft.leftover.append(line)
    # The last row of a stream has its total, or what its receiver reports.
    for stream in (stream for stream, size in totals.items() if not float(size)):
        draft.miss(f"stream {stream} carried nothing: 0 Bytes")


def _take_row(draft: Draft, row: re.Match[str], line: TextLine, side: str) -> None:
    seconds = float(row["to"]) - float(row["from"])
    bits = float(row["size"]) * _SIZES[row["bytes"]] * 8
    rate = float(row["rate"]) * _BITS[row["bits"]]
    if seconds <= 0:
        raise GarbledError(line.number, f"an interval of {seconds:g} s")
    check_agreement(line.number, "bytes, interval and rate", rate, bits / seconds, _ROUNDING)
    stream = row["id"].strip()
    is_receiver = side == "receiver" or row["jitter"] is not None or stream.startswith("*")
    labels = [
        ("side", "receiver" if is_receiver else "sender"),
        ("stream", stream.lstrip("* ")),
        ("interval", _interval(row)),
    ]
    metric = BANDWIDTH_SUM if stream == "SUM" else BANDWIDTH
    if stream.startswith("FD"):
        metric, labels = BANDWIDTH_BOTH, labels[1:]
    draft.add(metric, row["rate"], _RATES[row["bits"]], line.number, labels=labels)
    if row["jitter"] is not None:
        _take_loss(draft, row, line, labels)


def _interval(row: re.Match[str]) -> str:
    """Name an interval alike in every run: the last ends a little late, when all has arrived."""
    start, end = float(row["from"]), float(row["to"])
    step = 1.0 if end - start >= 0.95 else 0.1
    begun, ended = (int(at / step + 0.05) * step for at in (start, end))
    return f"{begun:g}-{ended:g} s"


def _take_loss(draft: Draft, row: re.Match[str], line: TextLine, labels: Labels) -> None:
    lost, total = int(row["lost"]), int(row["total"])
    if not lost <= total > 0:
        raise GarbledError(line.number, f"{lost} of {total} packets lost")
    draft.add(JITTER, row["jitter"], "ms", line.number, labels=labels)
    draft.add(LOSS, repr(lost / total), "1", line.number, labels=labels)


def _take_csv(draft: Draft, line: TextLine) -> re.Match[str]:
    row = _CSV.fullmatch(line.text)
    if row is None:
        raise not_understood(line)
    seconds = float(row["to"]) - float(row["from"])
    if seconds <= 0:
        raise GarbledError(line.number, f"an interval of {seconds:g} s")
    own = int(row["size"]) * 8 / seconds
    # The interval is rounded to 0.1 s, the rate is not.
    check_agreement(
        line.number, "bytes, interval and rate", float(row["rate"]), own, 0.11 / seconds
    )
    labels = [("stream", row["id"]), ("interval", _interval(row))]
    draft.add(BANDWIDTH, row["rate"], "bit/s", line.number, labels=labels)
    return row


def _plan(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    seconds = request.seconds or 10.0
    size = ("-l", str(request.size_max)) if request.size_max else ()
    streams = ("-P", str(request.streams)) if request.streams > 1 else ()
    own = request.options
    group = own.value("-B")
    if group and not own.has("-u"):
        raise BenchmarkPlanError(f"-B of iperf: only UDP reaches a group; expected -u -B {group}")
    target = group.partition("%")[0] or "{server}"  # The server's interface follows "%".
    client = ("iperf", "-c", target, "-p", "{port}", "-t", seconds_text(seconds), "-e")
    kind = ("-u",) if own.has("-u") else ()
    server = ("iperf", "-s", "-e", "-p", "{port}", *kind, *(("-B", group) if group else ()))
    rate = own.amount("-b", "1M" if own.has("-u") else "0", 1000) / 8
    if "pps" in own.value("-b"):
        rate *= 8 * (request.size_max or _DATAGRAM)
    length = seconds * (2 if own.has("-r") else 1)
    return timed_pair(
        replace(request, options=own.without("-B")),
        fabric,
        (*client, *size, *streams),
        server,
        length,
        sent=seconds * min(fabric.rate, request.streams * rate or fabric.rate),
        basis=f"{length:g} s at the rate of the {'sender' if rate else 'link'}",
        is_bidirectional=own.has("--full-duplex", "-d", "-r"),
        notes=(_SENT_TO_A_GROUP,) if group else (),
    )


_SENT_TO_A_GROUP = (
    "a group sends no report back, so that the rate is what the client sent; both hosts need a "
    "route to the group"
)
_DATAGRAM = 1470  # Usual size of a datagram [bytes].
ADAPTER = adapter("iperf2", plan=_plan, parse=_parse)
