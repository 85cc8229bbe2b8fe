"""SPDK's perf of NVMe, local or over fabrics. *MiB/s*, once called *MB/s*, are 2^20 bytes."""

import re

from etherweave.bench.adapter import Adapter
from etherweave.bench.draft import NUMBER, Draft
from etherweave.bench.measurements import GarbledError, TextLine
from etherweave.bench.metrics import OPERATION_RATE, ROUND_TRIP, STORAGE_BANDWIDTH
from etherweave.bench.plans import BenchmarkPlan, BenchmarkRequest, FabricEstimate, alone

_ROW = re.compile(
    rf"(?P<device>\S.*?)\s*:\s+(?P<rate>{NUMBER})\s+(?P<bytes>{NUMBER})\s+(?P<mean>{NUMBER})\s+"
    rf"(?P<min>{NUMBER})\s+(?P<max>{NUMBER})\s*"
)
_DEVICE = re.compile(r"Total|(?!.* NSID (?! *\d+ ))[\w():./ -]+ from core +\d+")
_BLOCK = 512
"""Every request is a multiple of it [bytes]."""


def _parse(draft: Draft) -> None:
    draft.program = "spdk_nvme_perf"
    seen: set[str] = set()
    for line in draft.block.lines[1:]:
        row = _ROW.fullmatch(line.text)
        if "Total" in seen:
            draft.leftover += [line] if re.search(r"\w", line.text) else []
        elif row and _DEVICE.fullmatch(row["device"]):
            _take(draft, line, row)
            seen.add(row["device"])
        elif re.search(r"\w", line.text):
            raise GarbledError(line.number, f"a row that is not understood: {line.text[:60]!r}")
    draft.end("Total" in seen, "the row of the total")


def _take(draft: Draft, line: TextLine, row: re.Match[str]) -> None:
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
    for name in ("mean", "min", "max"):
        time = row[name]
        draft.add(ROUND_TRIP, time, "us", number, size=size, statistic=name, labels=labels)


def _plan(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    seconds = request.seconds or 10.0
    where = "trtype:tcp adrfam:IPv4 traddr:{server} trsvcid:4420"
    words = ("spdk_nvme_perf", "-q", "32", "-o", str(request.size_max or 4096), "-w", "randread")
    notes = ("a target of NVMe over TCP must stand on the host, at its usual port",)
    return alone(request, (*words, "-t", f"{seconds:g}", "-r", where), seconds, notes=notes)


ADAPTER = Adapter(
    name="spdk_perf",
    programs=("spdk_nvme_perf", "perf"),
    metrics=(OPERATION_RATE, STORAGE_BANDWIDTH, ROUND_TRIP),
    checks=(
        "operations and bytes agree in whole blocks",
        "the mean lies within its range",
        "the row of the total is there",
    ),
    begins=(
        r"Device Information\s+:\s+IOPS\s+Mi?B/s\s+Average\s+"
        r"(?:Latency\(us\) )?min\s+max\s*$"
    ),
    plan=_plan,
    parse=_parse,
)
