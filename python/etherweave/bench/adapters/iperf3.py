"""iperf3: one or several TCP or UDP streams of a pair, as JSON or as text.

Bits are powers of ten, *MBytes* powers of two. What counts is what the receiver got: the sender's
number includes what its socket swallowed; a receiver that got nothing is a run that failed. Text is
rounded, so JSON is better. A server prints the same table as its client.
"""

import json
import re

from etherweave.bench.programs.adapter import adapter
from etherweave.bench.programs.plans import (
    BenchmarkPlan,
    BenchmarkPlanError,
    BenchmarkRequest,
    FabricEstimate,
    seconds_text,
    timed_pair,
)
from etherweave.bench.texts.draft import NUMBER, Draft, find
from etherweave.bench.texts.json_objects import JsonObject
from etherweave.measurements.benchmark_report import GarbledError, Labels, TextLine
from etherweave.measurements.metrics import (
    BANDWIDTH,
    CPU_LOAD,
    JITTER,
    LOSS,
    RETRANSMITS,
    ROUND_TRIP,
    Metric,
)

USUAL_SECONDS = 10.0
_SECONDS_MAX = 86_400  # Longest test that iperf3 accepts: MAX_TIME in its source [s].
WARM_UP = 2  # Left out of the result, for slow start [s].
_BUSY = 95.0  # Load of a core above which the core may be what is measured [%].
_LEAST_BLOCK = 1024  # Smaller blocks measure system calls [bytes].
_RATES = {"": "bit/s", "K": "kbit/s", "M": "Mbit/s", "G": "Gbit/s", "T": "Tbit/s"}
_TOTAL = re.compile(
    r"\[ *(?P<id>SUM|\d+)\](?:\[(?P<role>[TR]X-[CS])\])? +"
    rf"0\.00-{NUMBER} +sec +(?P<moved>{NUMBER} [KMGT]?Bytes) +"
    rf"(?P<rate>{NUMBER}) (?P<scale>[KMGT]?)bits/sec"
    r" +(?P<rest>(?:[^\s\[\]]+ +)*)(?P<side>sender|receiver)\s*"
)
_TABLE = (
    r"\[ ID\](?:\[Role\])? Interval +Transfer +(?:Bitrate|Bandwidth +Retr)|"
    r"\[ *(?:SUM|\d+)\]\S* +0\.00-\S+ +sec .*\b(?:sender|receiver)[ \t]*$"
)
_LOSS = re.compile(rf"({NUMBER}) ms +(\d+)/(\d+) \((?:{NUMBER})%\)")
_STREAM = re.compile(r"^\[ *(\d+)\]")


def _parse_json(draft: Draft, data: JsonObject) -> None:
    draft.program = "iperf3"
    if error := data.get("error"):
        raise GarbledError(draft.block.start, f"iperf3 says: {error}")
    start, end = data.object("start"), data.object("end")
    _take_start(draft, start)
    _check_streams(draft, end)
    for suffix, direction in (("", "forward"), ("_bidir_reverse", "reverse")):
        if not suffix or "sum_sent_bidir_reverse" in end:
            turned = _direction(draft, direction, start.object("test_start"))
            _take_total(draft, end.object("sum_sent" + suffix), "sender", turned)
            received = end.object("sum_received" + suffix)
            _take_total(draft, received, "receiver", turned)
            if received.get("packets"):
                _take_losses(draft, received, start.object("test_start"), turned)
    _take_streams(draft, end)


def _check_streams(draft: Draft, end: JsonObject) -> None:
    """Compare the totals of TCP with the streams: lines may be lost in between."""
    streams = [stream for stream in end.objects("streams") if "sender" in stream]
    for side, total in (("sender", "sum_sent"), ("receiver", "sum_received")):
        names = [name for name in (total, f"{total}_bidir_reverse") if name in end]
        sums = [end.object(name).number("bytes") for name in names]
        if streams and sum(sums) != sum(stream.object(side).number("bytes") for stream in streams):
            raise GarbledError(draft.block.start, f"{side}: the total is not the sum of streams")


def _direction(draft: Draft, direction: str, test: JsonObject) -> str:
    turned = {"forward": "reverse", "reverse": "forward"}
    if (reverse := test.get("reverse", 0)) not in (0, 1):
        raise GarbledError(draft.block.start, f"test_start.reverse: {reverse!r}; expected 0 or 1")
    return turned[direction] if reverse else direction


def _take_start(draft: Draft, start: JsonObject) -> None:
    version = start.get("version")
    draft.version = str(version).removeprefix("iperf ") if version else None
    test = start.object("test_start")
    names = ("protocol", "num_streams", "blksize", "omit", "duration")
    draft.facts.update({name: str(test[name]) for name in names if test.get(name) is not None})
    if test["protocol"] == "TCP" and test.number("blksize") < _LEAST_BLOCK:
        draft.warn(f"blocks of {test['blksize']} B measure system calls, not the network")


def _take_total(draft: Draft, total: JsonObject, side: str, direction: str) -> None:
    rate, size, seconds = map(total.number, ("bits_per_second", "bytes", "seconds"))
    if abs(rate * seconds - 8 * size) > max(0.01 * rate * seconds, 8):
        raise GarbledError(draft.block.start, f"{side}: rate, bytes and seconds contradict")
    labels = [("direction", direction)]
    if side == "receiver" and not size:
        _miss_all(draft, "0 Bytes", labels)
    else:
        _put(draft, BANDWIDTH, rate, "bit/s", [("side", side), *labels])
    if total.get("retransmits") is not None and side == "sender":
        _put(draft, RETRANSMITS, total["retransmits"], "1", labels, "sum")


def _take_losses(draft: Draft, received: JsonObject, test: JsonObject, direction: str) -> None:
    """Take the share that is lost, after omitted seconds by bytes.

    iperf3 3.12 counts lost packets of the omitted seconds too, and all packets without them.
    """
    packets, labels = received.number("packets"), [("direction", direction)]
    share = received.number("lost_packets") / packets
    if test.get("omit"):
        share = max(1 - received.number("bytes") / (packets * test.number("blksize")), 0.0)
    if share > 1:
        raise GarbledError(draft.block.start, "receiver: more packets are lost than were sent")
    _put(draft, LOSS, share, "1", labels)
    if received.get("jitter_ms") is not None:
        _put(draft, JITTER, received["jitter_ms"], "ms", labels)


def _miss_all(draft: Draft, moved: str, labels: Labels) -> None:
    """Report that a receiver got nothing, and what the sender did about it."""
    sent = [
        f"; the sender retransmitted {entry.value:,.0f} segments"
        for entry in draft.measurements
        if entry.metric is RETRANSMITS and entry.labels == tuple(labels)
    ]
    is_known = draft.block.is_object or any(
        line.text.startswith("iperf Done.") for line in draft.block.lines
    )
    what = "the receiver got nothing" if is_known else "the receiver's total is not known"
    draft.miss(f"{what}: {moved}{''.join(sent[:1])}")


def _take_streams(draft: Draft, end: JsonObject) -> None:
    for stream in end.objects("streams"):
        sender = stream.optional("sender")
        if sender and sender.get("mean_rtt"):
            labels = [("stream", str(sender["socket"]))]
            for name in ("min", "mean", "max"):
                _put(draft, ROUND_TRIP, sender[f"{name}_rtt"], "us", labels, name)
    loads = end.optional("cpu_utilization_percent")
    for side in ("host", "remote"):
        if loads is None or loads.get(f"{side}_total") is None:
            continue
        load = loads.number(f"{side}_total")
        _put(draft, CPU_LOAD, load, "%", [("side", side)])
        if load > _BUSY:
            draft.warn(f"{side}: {load:.0f} % of a core: it may be the core that is measured")


def _put(
    draft: Draft, metric: Metric, value: object, unit: str, labels: Labels, statistic: str = "mean"
) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise GarbledError(
            draft.block.start, f"expected a number, found {json.dumps(value, default=dict)[:40]}"
        )
    draft.add(metric, repr(value), unit, draft.block.start, statistic=statistic, labels=labels)


def _parse(draft: Draft) -> None:
    draft.program = "iperf3"
    lines = draft.block.lines
    if lines[0].text.startswith("iperf3: error"):
        raise GarbledError(lines[0].number, f"iperf3 says: {lines[0].text[8:].strip()}")
    totals = [(line, match) for line in lines if (match := _TOTAL.fullmatch(line.text))]
    directions = {match["role"] for _, match in totals}
    streams = len({match[1] for _, match in find(_STREAM, lines)})
    for line, match in totals:
        if match["id"] == "SUM" or streams <= max(len(directions), 1):
            _take_line(draft, line, match)
    is_server = lines[0].text.startswith("Accepted")
    is_over = any(line.text.startswith("iperf Done.") for line in lines)
    if re.match(_TABLE, lines[0].text):
        draft.warn("the line `Connecting to host` is missing")
    if is_over or not re.match(_TABLE, lines[0].text):
        draft.end(is_over or (is_server and bool(totals)), "the line `iperf Done.`")
    sides = {match["side"] for _, match in totals}
    if is_over and sides == {"sender"}:
        draft.miss("the receiver's total is missing")
    if draft.measurements:
        draft.warn("text is rounded to three or four digits: -J gives all")


def _take_line(draft: Draft, line: TextLine, match: re.Match[str]) -> None:
    direction = "reverse" if (match["role"] or "").startswith("RX") else "forward"
    labels, side = [("direction", direction)], match["side"]
    both, unit = [("side", side), *labels], _RATES[match["scale"]]
    if side == "receiver" and not float(match["rate"]):
        _miss_all(draft, match["moved"], labels)
    else:
        draft.add(BANDWIDTH, match["rate"], unit, line.number, labels=both)
    rest = match["rest"].strip()
    if (loss := _LOSS.fullmatch(rest)) and side == "receiver" and int(loss[3]):
        share = int(loss[2]) / int(loss[3])
        if any("(omitted)" in line.text for line in draft.block.lines):
            draft.warn("lost packets are counted in the omitted seconds too: -J gives the loss")
        elif share > 1:
            raise GarbledError(line.number, "receiver: more packets are lost than were sent")
        else:
            draft.add(LOSS, repr(share), "1", line.number, labels=labels)
        draft.add(JITTER, loss[1], "ms", line.number, labels=labels)
    elif rest.isdecimal() and side == "sender":
        draft.add(RETRANSMITS, rest, "1", line.number, statistic="sum", labels=labels)


def _plan(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    seconds = request.seconds or USUAL_SECONDS
    if seconds > _SECONDS_MAX:
        raise BenchmarkPlanError(
            f"iperf3 for {seconds_text(seconds)} s: expected at most {_SECONDS_MAX} s, a day"
        )
    size = ("-l", str(request.size_max)) if request.size_max else ()
    warm_up = 0 if request.options.has("-u") else WARM_UP
    omitted = ("-O", str(warm_up)) if warm_up else ()
    client = ("iperf3", "-c", "{server}", "-p", "{port}", "-t", seconds_text(seconds), *omitted)
    streams = ("-P", str(request.streams)) if request.streams > 1 else ()
    words = (*client, *size, *streams, "-J")
    server = ("iperf3", "-s", "-1", "-p", "{port}")
    notes = ("before version 3.16 all streams share one core: about 40 Gbit/s at most",)
    if request.options.has("-u") and not request.options.has("-b"):
        notes = ("UDP sends 1 Mbit/s unless -b names a rate; 0 is no limit",)
    length, own = seconds + warm_up, request.options
    limits = (
        own.amount("-b", "1M" if own.has("-u") else "0", 1000),
        own.amount("--fq-rate", "0", 1000),
    )
    sent = length * min([fabric.rate, *(request.streams * rate / 8 for rate in limits if rate)])
    return timed_pair(
        *(request, fabric, words, server, length),
        sent=sent,
        basis=f"{length:g} s at the rate of the {'sender' if any(limits) else 'link'}",
        is_bidirectional=own.has("--bidir"),
        notes=notes,
    )


# Largest values: iperf.h, and what iperf3 3.12 prints of larger ones.
ADAPTER = adapter("iperf3", plan=_plan, parse=_parse, parse_json=_parse_json, table=_TABLE)
