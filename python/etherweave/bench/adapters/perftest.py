"""perftest: RDMA between two hosts, as a table or as JSON.

*MB/sec* and *MiB/sec* are both 2^20 bytes, *Gb/sec* are 10^9 bits. Latencies of write and send are
half a round trip, those of read and atomic operations a whole one. JSON names no unit of bandwidth:
size times message rate determines it. A standard deviation may be printed as ``-nan``.

With ``-C`` the numbers below *usec* are cycles of the processor, which are whole: no time follows
from them. A table without its title is of the family: its times are those of a call.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from etherweave.api.units import PRINTED_UNITS
from etherweave.bench.programs import plans
from etherweave.bench.programs.adapter import adapter
from etherweave.bench.programs.program_options import options
from etherweave.bench.texts.draft import INTEGER, Draft, begins_with_digit, decimal, fields
from etherweave.bench.texts.json_objects import JsonObject
from etherweave.measurements.benchmark_report import (
    GarbledError,
    TextLine,
    check_agreement,
    check_rising,
    missing_powers,
    missing_row,
)
from etherweave.measurements.metrics import (
    BANDWIDTH,
    BANDWIDTH_BOTH,
    CALL_TIME,
    LATENCY,
    MESSAGE_RATE,
    ROUND_TRIP,
    Metric,
)

_TITLE = (
    r"\s*(?:RDMA_Write|RDMA_Read|Send|Atomic|Raw Ethernet)(?: [A-Z][\w&]*)*?"
    r" (?:BW|Latency) (?:in \w+ mode )?Test\s*$"
)
_FAILURES = r"\s*(?:Did not detect devices|Unable to find the Infiniband/RoCE device)\s*$"
_VERBS = {"RDMA_Write": "write", "RDMA_Read": "read", "Send": "send", "Atomic": "atomic"}
_HEADER = re.compile(
    r"#bytes|#iterations|BW peak\[\w+/sec\]|BW average\[\w+/sec\]|MsgRate\[Mpps\]|"
    r"t_min\[usec\]|t_max\[usec\]|t_typical\[usec\]|t_avg\[usec\]|t_stdev\[usec\]|"
    r"99% percentile\[usec\]|99\.9% percentile\[usec\]|tps average|CPU_Util\[%\]|#?\bsl\b|"
    r"(?:BW|MsgRate) Port[12]\[\w+(?:/sec)?\]"
)
_TABLE = r"[ \t]*#bytes[ \t]+(?:#sl[ \t]+)?#iterations[ \t]+(?:BW peak|BW average|t_min|t_avg)"
_COMMAND = re.compile(r"\b(?:ib_(?:write|read|send|atomic)|raw_ethernet)_lat\b")
_CYCLES = re.compile(r"\s(?:-[A-BD-Za-z]*C\b|--report-cycles\b)")
_FIXED = re.compile(r"[0-9]{1,18}\.[0-9]{2,6}")
_NONE = ("nan", "-nan")
_DEVIATION = re.compile("|".join((_FIXED.pattern, *_NONE)))
_UNITS = {"Gb": "Gbit/s", "MB": "MiB/s", "MiB": "MiB/s"}
_TIMES = {
    "t_min[usec]": "min",
    "t_max[usec]": "max",
    "t_typical[usec]": "p50",
    "t_avg[usec]": "mean",
    "t_stdev[usec]": "stdev",
    "99% percentile[usec]": "p99",
    "99.9% percentile[usec]": "p99.9",
}
_KEYS = {
    "t_min": "t_min[usec]",
    "t_max": "t_max[usec]",
    "t_typical": "t_typical[usec]",
    "t_avg": "t_avg[usec]",
    "t_stdev": "t_stdev[usec]",
    "percentile_99": "99% percentile[usec]",
    "percentile_99.9": "99.9% percentile[usec]",
}
_NAME = r"[^\s:][^:\t]{0,40}?"
_FACT = re.compile(rf"\s*({_NAME})\s*: (\S+(?: \S+)*)\s*")
_TWO_FACTS = re.compile(rf"\s*({_NAME})\s*: (\S+)\s+({_NAME})\s*: (\S+(?: \S+)*)\s*")


def _parse(draft: Draft) -> None:
    first, *rest = draft.block.lines
    if re.match(_FAILURES, first.text):
        raise GarbledError(first.number, f"perftest says: {first.text.strip()}")
    is_titled = not re.match(_TABLE, first.text)
    time, rate = _recognise(draft, first.text) if is_titled else _untitled(draft, first)
    header: list[str] = []
    rows: list[TextLine] = []
    is_closed = False
    for line in rest if is_titled else draft.block.lines:
        if "#bytes" in line.text:
            header = _header(line, header)
        elif header and begins_with_digit(line.text) and not is_closed:
            rows.append(line)
        elif re.match(r"\s*-{20,}", line.text):
            is_closed = is_closed or bool(rows)
        elif not header:
            _take_head(draft, line.text)
        else:
            draft.leftover += [line] if line.text.strip() else []
    _read(draft, header, rows, time, rate)
    if is_titled or is_closed:
        draft.end(is_closed, "the rule below the table")


def _take_head(draft: Draft, text: str) -> None:
    if re.search(r"WARNING|Conflicting CPU frequency", text):
        draft.warn(text.strip())
    else:
        draft.facts.update(_facts(text))


def _facts(text: str) -> dict[str, str]:
    """Read a line of the head, which has one fact or two; their names are kept as printed."""
    if "address:" in text or text.lstrip().startswith("GID:"):
        return {}
    if two := _TWO_FACTS.fullmatch(text):
        return {two[1]: two[2], two[3]: two[4]}
    fact = _FACT.fullmatch(text)
    return {fact[1]: fact[2]} if fact else {}


def _untitled(draft: Draft, header: TextLine) -> tuple[Metric, Metric]:
    draft.program = "perftest"
    draft.warn("the line with the title is missing: which test it was is not known")
    if "BW" in header.text:
        draft.warn("whether the bandwidth is of one direction or of both is not known")
    return CALL_TIME, BANDWIDTH


def _recognise(draft: Draft, title: str) -> tuple[Metric, Metric]:
    """Set the program; return the metrics of its times and of its bandwidths."""
    verb = next((name for word, name in _VERBS.items() if title.strip().startswith(word)), "raw")
    kind = "lat" if "Latency" in title else "bw"
    draft.program = f"{'raw_ethernet' if verb == 'raw' else f'ib_{verb}'}_{kind}"
    time = ROUND_TRIP if verb in ("read", "atomic") else LATENCY
    return time, BANDWIDTH_BOTH if "Bidirectional" in title else BANDWIDTH


def _header(line: TextLine, before: list[str]) -> list[str]:
    header = [name.strip("#") if name == "#sl" else name for name in _HEADER.findall(line.text)]
    if before:
        raise GarbledError(line.number, "a second header: two runs are mixed")
    if _HEADER.sub("", line.text).strip():
        raise GarbledError(line.number, f"a header that is not understood: {line.text.strip()!r}")
    return header


def _read(draft: Draft, names: list[str], rows: list[TextLine], time: Metric, rate: Metric) -> None:
    integers = ("#bytes", "#iterations", "sl")
    special = dict.fromkeys(integers, INTEGER) | {"t_stdev[usec]": _DEVIATION}
    kinds = [special.get(name, _FIXED) for name in names]
    sizes = []
    _check_cycles(draft, [dict(zip(names, row.text.split(), strict=False)) for row in rows])
    for row in rows:
        cells = dict(zip(names, fields(row, kinds), strict=True))
        _add(draft, cells, row.number, time, rate)
        sizes.append((row.number, int(cells["#bytes"])))
    if "sl" not in names:
        check_rising(sizes)
    for gap in missing_powers([size for _, size in sizes]):
        draft.miss(missing_row(gap))


def _check_cycles(draft: Draft, rows: Sequence[Mapping[str, str]]) -> None:
    """Refuse times that are cycles: by the command, or as all are whole in each row.

    Raises ``GarbledError`` when they are.
    """
    if not any("t_min[usec]" in cells or "t_avg[usec]" in cells for cells in rows):
        return
    command = next((line for line in draft.block.before[::-1] if _COMMAND.search(line.text)), None)
    names = ("t_min[usec]", "t_max[usec]", "t_typical[usec]")
    times = [cells.get(name, "") for cells in rows for name in names]
    reason = "cycles of the processor (-C) below a header that says usec: no time follows"
    if command and _CYCLES.search(command.text):
        raise GarbledError(command.number, reason)
    if all(re.fullmatch(r"[1-9][0-9]{2,}\.00", time) for time in times):
        raise GarbledError(
            draft.block.start, f"t_min, t_max and t_typical are whole in every row: {reason}"
        )


def _add(draft: Draft, cells: Mapping[str, str], line: int, time: Metric, rate: Metric) -> None:
    size = int(cells["#bytes"])
    labels = [("priority", cells["sl"])] if "sl" in cells else []
    for name, value in cells.items():
        if name == "t_stdev[usec]" and value in _NONE:
            draft.warn(f"{size} B: perftest printed no standard deviation ({value})")
        elif name in _TIMES:
            which = _TIMES[name]
            draft.add(time, value, "us", line, size=size, statistic=which, labels=labels)
        elif "Port" in name:
            _add_port(draft, name, value, line, size, rate)
        elif name.startswith("BW"):
            scale = name[name.index("[") + 1 : -5]
            if scale not in _UNITS:
                raise GarbledError(line, f"unknown unit {scale!r}")
            if name.startswith("BW average"):
                draft.add(rate, value, _UNITS[scale], line, size=size, labels=labels)
                _check(cells, line, size, value, _UNITS[scale])
            elif decimal(value, line):
                unit = _UNITS[scale]
                draft.add(rate, value, unit, line, size=size, statistic="max", labels=labels)
        elif name == "MsgRate[Mpps]":
            draft.add(MESSAGE_RATE, value, "M/s", line, size=size, labels=labels)


def _add_port(draft: Draft, name: str, value: str, line: int, size: int, rate: Metric) -> None:
    labels = [("port", name[name.index("Port") + 4])]
    if name.startswith("MsgRate"):
        draft.add(MESSAGE_RATE, value, "M/s", line, size=size, labels=labels)
    else:
        unit = _UNITS[name[name.index("[") + 1 : -5]]
        draft.add(rate, value, unit, line, size=size, labels=labels)


def _check(cells: Mapping[str, str], line: int, size: int, printed: str, unit: str) -> None:
    messages = float(cells.get("MsgRate[Mpps]", 0)) * 1e6
    rate = float(printed) * float(PRINTED_UNITS[unit][1])
    if messages and rate:
        rounding = _rounding(float(printed), messages)
        check_agreement(line, "bandwidth and message rate", rate, size * messages, rounding)


def _rounding(printed: float, messages: float) -> float:
    """Return the share by which rounded bandwidth and message rate may differ."""
    return 0.005 + 0.006 / printed + 1 / messages


def _parse_json(draft: Draft, data: JsonObject) -> None:
    line = draft.block.start
    # As in "RDMA_Write_BW_Test" and in "RDMA_Write BW Test".
    title = str(data.object("test_info")["test"]).replace("_", " ").replace("RDMA ", "RDMA_")
    results = {name: _printed(value) for name, value in data.object("results").items()}
    if not re.match(_TITLE, title):
        raise GarbledError(line, f"unknown test {title[:60]!r}")
    time, rate = _recognise(draft, title)
    cells = {"#bytes": results["MsgSize"]}
    if "BW_average" in results:
        cells |= _bandwidths(results, line)
    cells |= {_KEYS[name]: value for name, value in results.items() if name in _KEYS}
    if not INTEGER.fullmatch(cells["#bytes"]):
        raise GarbledError(line, f"{cells['#bytes'][:40]!r} is no size")
    _add(draft, cells, line, time, rate)
    draft.warn("perftest's JSON holds the last size only")


def _printed(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _bandwidths(results: Mapping[str, str], line: int) -> dict[str, str]:
    """Name the columns by the unit that agrees with size and message rate."""
    size, rate = decimal(results["MsgSize"], line), decimal(results["MsgRate"], line)
    printed, messages = decimal(results["BW_average"], line), rate * 10**6
    for scale in ("Gb", "MiB"):
        bandwidth = printed * PRINTED_UNITS[_UNITS[scale]][1]
        if not (bandwidth and messages):
            continue
        rounding = _rounding(float(printed), float(messages))
        if abs(size * messages / bandwidth - 1) < rounding:
            peak, average = f"BW peak[{scale}/sec]", f"BW average[{scale}/sec]"
            known = {average: results["BW_average"], "MsgRate[Mpps]": results["MsgRate"]}
            return {peak: results.get("BW_peak", "0"), **known}
    raise GarbledError(line, "bandwidth agrees with size and message rate in no unit")


def _plan(request: plans.BenchmarkRequest, fabric: plans.FabricEstimate) -> plans.BenchmarkPlan:
    own, is_bandwidth = request.options, request.program.endswith("_bw")
    _check_service(request.program, own.value("-c", "RC"))
    sizes = _sizes(request, is_bandwidth)
    device = ("-d", request.device) if request.device else ()
    size = () if own.has("-a") or "atomic" in request.program else ("-s", str(sizes[-1]))
    count = request.iterations or 5000
    long = ("-D", plans.seconds_text(request.seconds)) if request.seconds else ("-n", str(count))
    qps = ("-q", str(request.streams)) if request.streams > 1 else ()
    unit = ("--report_gbits",) if is_bandwidth else ()
    common = (request.program, *device, *size, "-F", "-p", "{port}", *long, *qps, *unit)
    # Every queue pair sends all messages; a warm-up sends as many as a send queue holds.
    warm = own.count("-t", 128) if own.has("--perform_warm_up") else 0
    counted = (count + warm) * request.streams
    waited = 0 if is_bandwidth else 2 * fabric.latency
    seconds = sum(counted * (size / fabric.rate + waited) for size in sizes)
    sent = float(counted * sum(sizes))
    if request.seconds:
        sent *= request.seconds / seconds
        seconds = request.seconds
    if own.has("--rate_limit"):
        limit = _limit(own, sizes[-1])
        if request.seconds:
            sent = min(sent, limit * seconds)
        else:
            seconds = max(seconds, sent / limit)
    plan = plans.timed_pair(
        *(request, fabric, (*common, "{server}"), own.behind(common), seconds),
        sent=sent,
        basis=f"{count:,} messages of each size",
        is_bidirectional=own.has("-b"),
    )
    return replace(plan, sizes=sizes) if own.has("-a") else plan


def _limit(own: plans.GivenOptions, size: int) -> float:
    """Return the rate that the user limits senders to [bytes/s]."""
    unit = {"M": 2**20, "g": 1e9 / 8, "p": size}[own.value("--rate_units", "g")]
    return max(float(own.value("--rate_limit")), 1e-9) * unit


def _check_service(program: str, service: str) -> None:
    """Refuse a service of the transport that lacks the operation; raises ``BenchmarkPlanError``."""
    verb = program.split("_")[1]
    if service not in _SERVICES.get(verb, (service,)):
        expected = ", ".join(_SERVICES[verb])
        raise plans.BenchmarkPlanError(f"-c {service} of {program}: expected one of {expected}")


def _sizes(request: plans.BenchmarkRequest, is_bandwidth: bool) -> tuple[int, ...]:
    """Return the sizes of messages, of which a datagram's is at most the MTU."""
    own = request.options
    most = int(own.value("-m", "4096")) if own.value("-c") == "UD" else 2**23
    if (request.size_max or 0) > most:
        raise plans.BenchmarkPlanError(f"{request.program} -c UD sends at most its MTU of {most} B")
    if own.has("-a"):
        return plans.doubling(2, most)
    usual = 65536 if is_bandwidth else 2
    return (8,) if "atomic" in request.program else (request.size_max or min(usual, most),)


_SERVICES = {
    "send": ("RC", "UC", "UD", "XRC", "DC", "SRD"),
    "write": ("RC", "UC", "XRC", "DC", "SRD"),
    "read": ("RC", "XRC", "DC", "SRD"),
    "atomic": ("RC", "XRC", "DC"),
}
"""Services of the transport that carry an operation."""
# Largest values: perftest_parameters.h, and what ib_send_bw 4.5 prints of larger ones; others are
# octets of Verbs, the timeout has five bits.
_OPTIONS = options(
    "perftest",
    programs={
        "-a": "ib_(?!atomic).*",
        "-b -t -l -Q -N --mr_per_qp --rate_limit --rate_units --rate_limit_type": ".*_bw",
        "--burst_size --report-both --reversed --disable_pcie_relaxed": ".*_bw",
        "-r -g --use-srq": ".*_send_.*",
        "-I": ".*_(write|send)_.*",
        "-e": "ib_(?!write).*",
        "-o": ".*_(read|atomic)_.*",
        "-A": ".*_atomic_.*",
    },
)

ADAPTER = adapter(
    "perftest",
    plan=_plan,
    parse=_parse,
    parse_json=_parse_json,
    options=_OPTIONS,
    begins=f"{_TITLE}|{_FAILURES}",
    inside=_FAILURES,
    table=_TABLE,
)
