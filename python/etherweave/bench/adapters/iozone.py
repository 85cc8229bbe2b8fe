"""IOzone's automatic table. *kBytes* are 2^10 bytes; columns are recognised by where they end."""

import re

from etherweave.bench.adapter import Adapter
from etherweave.bench.draft import Draft, begins_with_digit, integer
from etherweave.bench.measurements import GarbledError, TextLine
from etherweave.bench.metrics import STORAGE_BANDWIDTH
from etherweave.bench.plans import BenchmarkPlan, BenchmarkRequest, FabricEstimate, alone

_UNDER = (
    "kB reclen write rewrite read reread read write read rewrite read fwrite frewrite fread freread"
)
_NAMES = (
    *("write", "rewrite", "read", "reread", "random_read", "random_write", "backward_read"),
    *("record_rewrite", "stride_read", "fwrite", "frewrite", "fread", "freread"),
)
_ENDS = (16, 24, *range(33, 33 + 9 * len(_NAMES), 9))
"""Where the values of columns end; names above them end elsewhere."""


def _parse(draft: Draft) -> None:
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
            columns = _take(draft, line, columns)
        is_over = is_over or text == "iozone test complete."
    draft.end(is_over, "the line `iozone test complete.`")


def _take(draft: Draft, line: TextLine, columns: set[int]) -> set[int]:
    """Read a row that fills the same columns as those above; return where they end."""
    cells = {match.end(): match[0] for match in re.finditer(r"\S+", line.text)}
    if not set(_ENDS[:2]) <= cells.keys() <= set(_ENDS):
        raise GarbledError(line.number, "values do not stand below the names of columns")
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


def _plan(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    record = max((request.size_max or 2**20) // 1024, 4)
    words = ("iozone", "-a", "-s", str(record * 64), "-r", str(record), "-i", "0", "-i", "1")
    return alone(request, (*words, "-f", "{directory}/iozone.tmp"), 60.0)


ADAPTER = Adapter(
    name="iozone",
    programs=("iozone",),
    metrics=(STORAGE_BANDWIDTH,),
    checks=(
        "values stand below the names of columns, in all rows the same",
        "the closing line is there",
    ),
    begins=r"\s*Iozone: Performance Test of File I/O",
    plan=_plan,
    parse=_parse,
)
