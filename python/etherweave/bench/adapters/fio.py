"""fio: JSON, with a word or two before it, or the normal text, which is rounded.

Bytes per second are exact in JSON; ``bw`` without suffix would be KiB/s. In text *MiB* and *MB* are
both what they say.
"""

import re
from collections.abc import Mapping
from typing import Any

from etherweave.bench.adapter import Adapter
from etherweave.bench.checks import check_agreement
from etherweave.bench.draft import NUMBER, Draft, find, size_bytes
from etherweave.bench.measurements import GarbledError, Labels
from etherweave.bench.metrics import OPERATION_RATE, ROUND_TRIP, STORAGE_BANDWIDTH
from etherweave.bench.plans import BenchmarkPlan, BenchmarkRequest, FabricEstimate, alone

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


def _parse(draft: Draft) -> None:
    draft.program = "fio"
    if draft.block.is_object:
        assert draft.block.data is not None
        _parse_object(draft, draft.block.data)
    elif draft.block.lines[0].text.startswith("3;fio-"):
        raise GarbledError(draft.block.start, "fio's terse output has no names: use JSON")
    else:
        _parse_text(draft)


def _parse_object(draft: Draft, data: Mapping[str, Any]) -> None:
    line = draft.block.start
    try:
        draft.version = str(data["fio version"]).removeprefix("fio-")
        for job in data["jobs"]:
            draft.check(job["error"] == 0, f"job {job['jobname']}: error {job['error']}")
            if job["job options"].get("name", job["jobname"]) != job["jobname"]:
                raise GarbledError(line, "a job has two names")
            for operation in _OPERATIONS:
                if job[operation]["io_bytes"] and job["error"] == 0:
                    _take(draft, job, operation, line)
    except (KeyError, TypeError, AttributeError, ArithmeticError) as error:
        raise GarbledError(line, f"the JSON object is not fio's: {error!r}") from None
    draft.end(True, "")


def _take(draft: Draft, job: Mapping[str, Any], operation: str, line: int) -> None:
    numbers, options = job[operation], job["job options"]
    block = options.get("bs")
    size = size_bytes(block, line) if isinstance(block, str) and block else None
    labels = [("job", str(job["jobname"])), ("operation", operation)]
    moved, runtime = numbers["io_bytes"] / max(numbers["runtime"], 1) * 1e3, numbers["bw_bytes"]
    check_agreement(line, "bytes, runtime and rate", runtime, moved, 0.01)
    _put(draft, line, "B/s", size, labels, numbers["bw_bytes"])
    draft.add(OPERATION_RATE, repr(numbers["iops"]), "1/s", line, size=size, labels=labels)
    latency = numbers["clat_ns"]
    for name, statistic in _SPREAD.items():
        _wait(draft, latency[name], line, size, statistic, labels)
    shares = latency.get("percentile", {})
    if list(shares.values()) != sorted(shares.values()):
        raise GarbledError(line, "percentiles do not rise")
    for share, time in shares.items():
        if not _SHARE.fullmatch(share):
            raise GarbledError(line, f"{share[:40]!r} is no percentile")
        _wait(draft, time, line, size, f"p{float(share):g}", labels)


def _put(
    draft: Draft, line: int, unit: str, size: int | None, labels: Labels, value: object
) -> None:
    draft.add(STORAGE_BANDWIDTH, repr(value), unit, line, size=size, labels=labels)


def _wait(
    draft: Draft, time: object, line: int, size: int | None, statistic: str, labels: Labels
) -> None:
    printed = repr(time)
    draft.add(ROUND_TRIP, printed, "ns", line, size=size, statistic=statistic, labels=labels)


def _parse_text(draft: Draft) -> None:
    jobs = [found[1] for line in draft.block.lines if (found := _HEAD.fullmatch(line.text))]
    version = [line.text[4:] for line in draft.block.lines if re.fullmatch(r"fio-\S+", line.text)]
    draft.version = version[0] if version else None
    results = [job[1] for _, job in find(_RESULT, draft.block.lines)]
    if len(jobs) != 1 or results != jobs:
        raise GarbledError(draft.block.start, "text of other than one job: use JSON")
    for line in draft.block.lines:
        if found := _LINE.fullmatch(line.text):
            labels = [("job", jobs[0]), ("operation", found["operation"])]
            two = float(found["two"]) * _BYTES[found["two_unit"]]
            ten = float(found["ten"]) * _DECIMAL[found["ten_unit"]]
            check_agreement(line.number, "MiB and MB", two, ten, 0.01)
            draft.add(
                STORAGE_BANDWIDTH, found["two"], found["two_unit"], line.number, labels=labels
            )
            unit = _RATES[found["scale"]]
            draft.add(OPERATION_RATE, found["rate"], unit, line.number, labels=labels)
    is_over = any(line.text.startswith("Run status group 0") for line in draft.block.lines)
    draft.end(is_over, "the status of the group")


def _plan(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    seconds = request.seconds or 30.0
    words = (
        *("fio", "--name=etherweave", "--directory={directory}", "--rw=randread"),
        *(f"--bs={request.size_max or 4096}", "--size=256m", f"--runtime={seconds:g}"),
        *("--time_based", "--output-format=json"),
    )
    return alone(request, words, seconds)


ADAPTER = Adapter(
    name="fio",
    programs=("fio",),
    metrics=(STORAGE_BANDWIDTH, OPERATION_RATE, ROUND_TRIP),
    checks=(
        "every job ended without an error",
        "bytes, runtime and rate agree",
        "percentiles rise",
    ),
    begins=r"\S+: \(g=0\): rw=\w+, bs=|3;fio-\d",
    json=r'"fio version"\s*:',
    plan=_plan,
    parse=_parse,
    version=(("--version",), r"fio-(\d[\w.]*)"),
)
