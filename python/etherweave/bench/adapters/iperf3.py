"""iperf3: one or several TCP or UDP streams of a pair, as JSON or as text.

Bits are powers of ten, *MBytes* powers of two. What counts is what the receiver got: the sender's
number includes what its socket swallowed. Text is rounded, so JSON is better.
"""

import re
from collections.abc import Mapping
from typing import Any

from etherweave.bench.adapter import Adapter
from etherweave.bench.draft import NUMBER, Draft, find
from etherweave.bench.measurements import GarbledError, Labels, TextLine
from etherweave.bench.metrics import (
    BANDWIDTH,
    CPU_LOAD,
    JITTER,
    LOSS,
    RETRANSMITS,
    ROUND_TRIP,
    Metric,
)
from etherweave.bench.plans import BenchmarkPlan, BenchmarkRequest, FabricEstimate, timed_pair

USUAL_SECONDS = 10.0
WARM_UP = 2
"""Left out of the result [s]."""
_BUSY = 95.0
"""Of a core, from which on the core may be what is measured [%]."""
_LEAST_BLOCK = 1024
"""Smaller blocks measure system calls [bytes]."""
_RATES = {"": "bit/s", "K": "kbit/s", "M": "Mbit/s", "G": "Gbit/s", "T": "Tbit/s"}
_TOTAL = re.compile(
    r"\[ *(?P<id>SUM|\d+)\](?:\[(?P<role>[TR]X-[CS])\])? +"
    rf"0\.00-{NUMBER} +sec +{NUMBER} [KMGT]?Bytes +(?P<rate>{NUMBER}) (?P<scale>[KMGT]?)bits/sec"
    r" +(?P<rest>(?:[^\s\[\]]+ +)*)(?P<side>sender|receiver)\s*"
)
_LOSS = re.compile(rf"({NUMBER}) ms +(\d+)/(\d+) \((?:{NUMBER})%\)")
_STREAM = re.compile(r"^\[ *(\d+)\]")


def _parse_json(draft: Draft, data: Mapping[str, Any]) -> None:
    draft.program = "iperf3"
    if error := data.get("error"):
        raise GarbledError(draft.block.start, f"iperf3 says: {error}")
    start, end = data["start"], data["end"]
    _take_start(draft, start)
    _check_streams(draft, end)
    for suffix, direction in (("", "forward"), ("_bidir_reverse", "reverse")):
        if not suffix or "sum_sent_bidir_reverse" in end:
            turned = _direction(direction, start["test_start"])
            _take_total(draft, end["sum_sent" + suffix], "sender", turned)
            _take_total(draft, end["sum_received" + suffix], "receiver", turned)
    _take_streams(draft, end)


def _check_streams(draft: Draft, end: Mapping[str, Any]) -> None:
    """Compare the totals of TCP with the streams: lines may be lost in between."""
    streams = [stream for stream in end["streams"] if "sender" in stream]
    for side, total in (("sender", "sum_sent"), ("receiver", "sum_received")):
        sums = [end[name]["bytes"] for name in (total, f"{total}_bidir_reverse") if name in end]
        if streams and sum(sums) != sum(stream[side]["bytes"] for stream in streams):
            raise GarbledError(draft.block.start, f"{side}: the total is not the sum of streams")


def _direction(direction: str, test: Mapping[str, Any]) -> str:
    turned = {"forward": "reverse", "reverse": "forward"}
    return turned[direction] if test["reverse"] else direction


def _take_start(draft: Draft, start: Mapping[str, Any]) -> None:
    draft.version = str(start["version"]).removeprefix("iperf ")
    test = start["test_start"]
    names = ("protocol", "num_streams", "blksize", "omit", "duration")
    draft.facts.update({name: str(test[name]) for name in names})
    if test["protocol"] == "TCP" and test["blksize"] < _LEAST_BLOCK:
        draft.warn(f"blocks of {test['blksize']} B measure system calls, not the network")


def _take_total(draft: Draft, total: Mapping[str, Any], side: str, direction: str) -> None:
    rate, size, seconds = total["bits_per_second"], total["bytes"], total["seconds"]
    if abs(rate * seconds - 8 * size) > max(0.01 * rate * seconds, 8):
        raise GarbledError(draft.block.start, f"{side}: rate, bytes and seconds contradict")
    labels = [("direction", direction)]
    _put(draft, BANDWIDTH, rate, "bit/s", [("side", side), *labels])
    if "retransmits" in total and side == "sender":
        _put(draft, RETRANSMITS, total["retransmits"], "1", labels, "sum")
    if total.get("packets") and side == "receiver":
        _put(draft, LOSS, total["lost_packets"] / total["packets"], "1", labels)
        _put(draft, JITTER, total["jitter_ms"], "ms", labels)


def _take_streams(draft: Draft, end: Mapping[str, Any]) -> None:
    for stream in end["streams"]:
        sender = stream.get("sender", {})
        number = str(sender["socket"]) if sender else ""
        if sender.get("mean_rtt"):
            for name in ("min", "mean", "max"):
                _put(draft, ROUND_TRIP, sender[f"{name}_rtt"], "us", [("stream", number)], name)
    for side in ("host", "remote"):
        load = end["cpu_utilization_percent"][f"{side}_total"]
        _put(draft, CPU_LOAD, load, "%", [("side", side)])
        if load > _BUSY:
            draft.warn(f"{side}: {load:.0f} % of a core: it may be the core that is measured")


def _put(
    draft: Draft, metric: Metric, value: object, unit: str, labels: Labels, statistic: str = "mean"
) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise GarbledError(draft.block.start, f"expected a number, found {str(value)[:40]!r}")
    draft.add(metric, repr(value), unit, draft.block.start, statistic=statistic, labels=labels)


def _parse(draft: Draft) -> None:
    draft.program = "iperf3"
    lines = draft.block.lines
    totals = [(line, match) for line in lines if (match := _TOTAL.fullmatch(line.text))]
    directions = {match["role"] for _, match in totals}
    streams = len({match[1] for _, match in find(_STREAM, lines)})
    for line, match in totals:
        if match["id"] == "SUM" or streams <= max(len(directions), 1):
            _take_line(draft, line, match)
    draft.end(any(line.text.startswith("iperf Done.") for line in lines), "the line `iperf Done.`")
    draft.warn("text is rounded to three or four digits: -J gives all")


def _take_line(draft: Draft, line: TextLine, match: re.Match[str]) -> None:
    direction = "reverse" if (match["role"] or "").startswith("RX") else "forward"
    labels, side = [("direction", direction)], match["side"]
    both, unit = [("side", side), *labels], _RATES[match["scale"]]
    draft.add(BANDWIDTH, match["rate"], unit, line.number, labels=both)
    rest = match["rest"].strip()
    if (loss := _LOSS.fullmatch(rest)) and side == "receiver":
        share = int(loss[2]) / max(int(loss[3]), 1)
        draft.add(LOSS, repr(share), "1", line.number, labels=labels)
        draft.add(JITTER, loss[1], "ms", line.number, labels=labels)
    elif rest.isdecimal() and side == "sender":
        draft.add(RETRANSMITS, rest, "1", line.number, statistic="sum", labels=labels)


def _plan(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    seconds = request.seconds or USUAL_SECONDS
    size = ("-l", str(request.size_max)) if request.size_max else ()
    client = ("iperf3", "-c", "{server}", "-p", "{port}", "-t", f"{seconds:g}", "-O", str(WARM_UP))
    streams = ("-P", str(request.streams)) if request.streams > 1 else ()
    words = (*client, *size, *streams, "-J")
    server = ("iperf3", "-s", "-1", "-p", "{port}")
    notes = ("before version 3.16 all streams share one core: about 40 Gbit/s at most",)
    return timed_pair(request, fabric, words, server, seconds + WARM_UP, notes=notes)


ADAPTER = Adapter(
    name="iperf3",
    programs=("iperf3",),
    metrics=(BANDWIDTH, RETRANSMITS, LOSS, JITTER, ROUND_TRIP, CPU_LOAD),
    checks=(
        "no error is reported",
        "bytes, seconds and rate agree",
        "totals are the sums of the streams",
    ),
    begins=r"Connecting to host \S+, port \d+\s*$",
    json=r'"version"\s*:\s*"iperf 3|"sum_received"',
    plan=_plan,
    parse=_parse,
    parse_json=_parse_json,
    version=(("--version",), r"iperf (\d[\w.]*)"),
)
