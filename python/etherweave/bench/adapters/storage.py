"""Benchmarks of storage: fio, IOzone and SPDK's perf.

fio: JSON, with a word or two before it, or the normal text, which is rounded.

Bytes per second are exact in JSON; ``bw`` without suffix would be KiB/s. Before version 3 it counts
KiB and microseconds. In text *MiB* and *MB* are both what they say.

IOzone's automatic table. *kBytes* are 2^10 bytes; columns are recognised by where they end.

SPDK's perf of NVMe, local or over fabrics. *MiB/s*, once called *MB/s*, are 2^20 bytes.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from etherweave.api.units import amount
from etherweave.bench.programs.adapter import adapter
from etherweave.bench.programs.plans import (
    BenchmarkPlan,
    BenchmarkRequest,
    FabricEstimate,
    RunForecast,
    alone,
    seconds_text,
)
from etherweave.bench.texts.draft import (
    NUMBER,
    Draft,
    begins_with_digit,
    find,
    integer,
    not_understood,
    size_bytes,
)
from etherweave.bench.texts.json_objects import JsonObject
from etherweave.measurements.benchmark_report import GarbledError, TextLine, check_agreement
from etherweave.measurements.metrics import OPERATION_RATE, ROUND_TRIP, STORAGE_BANDWIDTH

_OPERATIONS = ("read", "write")
_SPREAD = {"min": "min", "max": "max", "mean": "mean", "stddev": "stdev"}
_HEAD = re.compile(r"(?P<job>[^:\s]+): \(g=\d+\): rw=(?P<kind>\w+), bs=.*")
_RESULT = re.compile(r"^(\S+): \(groupid=")
_LINE = re.compile(
    rf"  (?P<operation>read|write): IOPS=(?P<rate>{NUMBER})(?P<scale>[kM]?), "
    rf"BW=(?P<two>{NUMBER})(?P<two_unit>[KMG]iB/s|B/s) \((?P<ten>{NUMBER})(?P<ten_unit>[kMG]?B/s)\)"
    r"\(\S+\)\s*"
)
_SHARE = re.compile(r"[0-9]{1,2}\.[0-9]{6}")
_BYTES = {"B/s": 1, "KiB/s": 2**10, "MiB/s": 2**20, "GiB/s": 2**30}
_DECIMAL = {"B/s": 1, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9}
_RATES = {"": "1/s", "k": "k/s", "M": "M/s"}


def _parse_fio_json(draft: Draft, data: JsonObject) -> None:
    draft.program, line = "fio", draft.block.start
    draft.version = str(data["fio version"]).removeprefix("fio-")
    for job in data.objects("jobs"):
        if job.number("error"):
            draft.fail(f"job {job['jobname']}: error {job['error']}")
            continue
        options = job.get("job options", {})
        if options.get("name", job["jobname"]) != job["jobname"]:
            raise GarbledError(line, "a job has two names")
        for operation in _OPERATIONS:
            if job.object(operation).number("io_bytes"):
                _take_fio(draft, job, operation, options.get("bs"))


def _take_fio(draft: Draft, job: JsonObject, operation: str, block: object) -> None:
    numbers, line = job.object(operation), draft.block.start
    size = size_bytes(block, line) if isinstance(block, str) and block else None
    labels = [("job", str(job["jobname"])), ("operation", operation)]
    is_old = (draft.version or "").startswith("2.") and "bw_bytes" not in numbers
    name, scale, unit = ("bw", 2**10, "KiB/s") if is_old else ("bw_bytes", 1, "B/s")
    moved = scale * numbers.number("io_bytes") / max(numbers.number("runtime"), 1) * 1e3
    check_agreement(line, "bytes, runtime and rate", scale * numbers.number(name), moved, 0.01)
    draft.add(STORAGE_BANDWIDTH, repr(numbers[name]), unit, line, size=size, labels=labels)
    draft.add(OPERATION_RATE, repr(numbers["iops"]), "1/s", line, size=size, labels=labels)
    unit = "us" if is_old and "clat_ns" not in numbers else "ns"
    latency = numbers.object("clat" if unit == "us" else "clat_ns")
    times = {statistic: latency.number(name) for name, statistic in _SPREAD.items()}
    shares: Mapping[str, Any] = latency.get("percentile", {})
    if list(shares.values()) != sorted(shares.values()):
        raise GarbledError(line, "percentiles do not rise")
    for share, time in shares.items():
        if not _SHARE.fullmatch(share):
            raise GarbledError(line, f"{share[:40]!r} is no percentile")
        times[f"p{float(share):g}"] = time
    printed = map(repr, times.values())
    draft.add_each(ROUND_TRIP, times, printed, unit, line, size=size, labels=labels)


def _parse_fio(draft: Draft) -> None:
    draft.program = "fio"
    if re.match(r"[2-5];fio-", draft.block.lines[0].text):
        raise GarbledError(draft.block.start, "fio's terse output has no names: use JSON")
    jobs = [match[1] for line in draft.block.lines if (match := _HEAD.fullmatch(line.text))]
    version = [line.text[4:] for line in draft.block.lines if re.fullmatch(r"fio-\S+", line.text)]
    draft.version = version[0] if version else None
    results = [job[1] for _, job in find(_RESULT, draft.block.lines)]
    if len(jobs) != 1 or results != jobs:
        raise GarbledError(draft.block.start, "text of other than one job: use JSON")
    for line in draft.block.lines:
        if match := _LINE.fullmatch(line.text):
            labels = [("job", jobs[0]), ("operation", match["operation"])]
            two = float(match["two"]) * _BYTES[match["two_unit"]]
            ten = float(match["ten"]) * _DECIMAL[match["ten_unit"]]
            check_agreement(line.number, "MiB and MB", two, ten, 0.01)
            unit = match["two_unit"]
            draft.add(STORAGE_BANDWIDTH, match["two"], unit, line.number, labels=labels)
            unit = _RATES[match["scale"]]
            draft.add(OPERATION_RATE, match["rate"], unit, line.number, labels=labels)
    is_over = any(line.text.startswith("Run status group 0") for line in draft.block.lines)
    draft.end(is_over, "the status of the group")


def _at_most(fabric: FabricEstimate, seconds: float) -> RunForecast:
    """Return what a program sends at most whose bytes cross the network if its storage does."""
    return RunForecast(seconds * fabric.rate, seconds, "at most the rate of the link")


def _plan_fio(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    seconds, own = request.seconds or 30.0, request.options
    size = () if own.has("--size") else (f"--size={_FILE}",)
    words = (
        *("fio", "--name=etherweave", "--directory={directory}", "--rw=randread"),
        *(f"--bs={request.size_max or 4096}", *size, f"--runtime={seconds_text(seconds)}"),
        *("--time_based", "--output-format=json"),
    )
    # Files that are read are written first, before the clock starts.
    is_read = own.value("--rw", "randread") not in ("write", "randwrite")
    written = own.amount("--size", _FILE, 1024) * own.count("--numjobs", 1) * is_read
    timed = seconds + float(own.value("--ramp_time", "0"))
    forecast = _at_most(fabric, timed + written / fabric.rate)
    files = f"files of {amount(written, 'B')}, then {timed:g} s at the rate of the link, at most"
    return alone(request, words, replace(forecast, basis=files if written else forecast.basis))


_FILE = "256m"  # Size of each file, unless the user names another.


FIO = adapter("fio", plan=_plan_fio, parse=_parse_fio, parse_json=_parse_fio_json)


_UNDER = (
    "kB reclen write rewrite read reread read write read rewrite read fwrite frewrite fread freread"
)
_NAMES = (
    *("write", "rewrite", "read", "reread", "random_read", "random_write", "backward_read"),
    *("record_rewrite", "stride_read", "fwrite", "frewrite", "fread", "freread"),
)
_ENDS = (16, 24, *range(33, 33 + 9 * len(_NAMES), 9))
"""Where the values of columns end; names above them end elsewhere."""


def _parse_iozone(draft: Draft) -> None:
    draft.program = "iozone"
    columns: set[int] = set()
    has_header = is_scaled = is_over = False
    for line in draft.block.lines:
        text = " ".join(line.text.split())
        if version := re.fullmatch(r"Version \$Revision: ([\d.]+) \$", text):
            draft.version = version[1]
        elif text == "Output is in kBytes/sec":
            is_scaled = True
        elif text == _UNDER:
            has_header = True
        elif has_header and begins_with_digit(line.text):
            if not is_scaled or is_over:
                raise GarbledError(line.number, "a row without its unit, or after the end")
            columns = _take_iozone(draft, line, columns)
        is_over = is_over or text == "iozone test complete."
    draft.end(is_over, "the line `iozone test complete.`")


def _take_iozone(draft: Draft, line: TextLine, columns: set[int]) -> set[int]:
    """Read a row that fills the same columns as those above; return where they end."""
    cells = {match.end(): match[0] for match in re.finditer(r"\S+", line.text)}
    if not set(_ENDS[:2]) <= cells.keys() <= set(_ENDS):
        raise GarbledError(line.number, "values are not below the names of columns")
    if columns and cells.keys() != columns:
        raise GarbledError(line.number, "other columns than in the rows above")
    size = integer(cells[_ENDS[1]], line.number) * 2**10
    file = str(integer(cells[_ENDS[0]], line.number) * 2**10)
    for end, name in zip(_ENDS[2:], _NAMES, strict=True):
        if end in cells:
            labels = [("operation", name), ("file_bytes", file)]
            rate = str(integer(cells[end], line.number))
            draft.add(STORAGE_BANDWIDTH, rate, "KiB/s", line.number, size=size, labels=labels)
    return set(cells)


def _plan_iozone(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    record = max((request.size_max or 2**20) // 1024, 4)
    words = ("iozone", "-a", "-s", str(record * 64), "-r", str(record), "-i", "0", "-i", "1")
    own = request.options
    # Files are of 64 records; each test passes through them twice, with -+n once.
    tests = 2 + sum(name == "-i" for name, _ in own.values)
    sent = float(64 * 1024 * record * tests * (1 if own.has("-+n") else 2))
    forecast = RunForecast(sent, 60.0, f"{tests} tests of a file of {64 * record} KiB, at most")
    return alone(request, (*words, "-f", "{directory}/iozone.tmp"), forecast)


IOZONE = adapter("iozone", plan=_plan_iozone, parse=_parse_iozone)


_ROW = re.compile(
    rf"(?P<device>\S.*?)\s*:\s+(?P<rate>{NUMBER})\s+(?P<bytes>{NUMBER})\s+(?P<mean>{NUMBER})\s+"
    rf"(?P<min>{NUMBER})\s+(?P<max>{NUMBER})\s*"
)
_DEVICE = re.compile(r"Total|(?!.* NSID (?! *\d+ ))[\w():./ -]+ from core +\d+")
_BLOCK = 512  # Every request is a multiple of it [bytes].


def _parse_spdk(draft: Draft) -> None:
    draft.program = "spdk_nvme_perf"
    seen: set[str] = set()
    for line in draft.block.lines[1:]:
        row = _ROW.fullmatch(line.text)
        if "Total" in seen:
            draft.leftover += [line] if re.search(r"\w", line.text) else []
        elif row and _DEVICE.fullmatch(row["device"]):
            _take_spdk(draft, line, row)
            seen.add(row["device"])
        elif re.search(r"\w", line.text):
            raise not_understood(line)
    draft.end("Total" in seen, "the row of the total")


def _take_spdk(draft: Draft, line: TextLine, row: re.Match[str]) -> None:
    rate, megabytes = float(row["rate"]), float(row["bytes"])
    blocks = round(megabytes * 2**20 / max(rate, 1e-9) / _BLOCK)
    size = blocks * _BLOCK
    if abs(rate * size / 2**20 - megabytes) > 0.006 + 0.001 * megabytes:
        raise GarbledError(line.number, "operations and bytes do not agree in whole blocks")
    if not float(row["min"]) <= float(row["mean"]) <= float(row["max"]):
        raise GarbledError(line.number, "the mean is outside of its range")
    number, labels = line.number, [("device", row["device"])]
    draft.add(OPERATION_RATE, row["rate"], "1/s", number, size=size, labels=labels)
    draft.add(STORAGE_BANDWIDTH, row["bytes"], "MiB/s", number, size=size, labels=labels)
    names = ("mean", "min", "max")
    draft.add_each(ROUND_TRIP, names, row.group(*names), "us", number, size=size, labels=labels)


def _plan_spdk(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    seconds = request.seconds or 10.0
    where = "trtype:tcp adrfam:IPv4 traddr:{server} trsvcid:4420"
    words = ("spdk_nvme_perf", "-q", "32", "-o", str(request.size_max or 4096), "-w", "randread")
    notes = ("a target of NVMe over TCP must run on the host, at its usual port",)
    length = _at_most(fabric, seconds + request.options.count("-a", 0))
    return alone(request, (*words, "-t", seconds_text(seconds), "-r", where), length, notes=notes)


SPDK_PERF = adapter("spdk_perf", plan=_plan_spdk, parse=_parse_spdk)
