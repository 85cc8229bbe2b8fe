"""ucc_perftest: collectives of UCC, as a table by number of elements.

Times are of a call, over ranks. *GB/s* are 10^9 bytes on the bus: the first of its columns is of
the mean time, the second of the shortest, the third of the longest, whatever the header calls
them.
"""

import re

from etherweave.bench.texts.draft import FIXED_2, INTEGER, Draft, begins_with_digit, fields
from etherweave.measurements.benchmark_report import GarbledError, TextLine
from etherweave.measurements.metrics import BANDWIDTH_BUS, CALL_TIME

BEGINS = r"Collective:\s+[A-Z]\w+(?: \w+)*\s*$"
_FACT = re.compile(
    r"(Collective|Memory type|Datatype|Reduction|Inplace|Iteration mode):\s*(.*?)\s*"
)
_COUNT = re.compile(r"(Warmup|Iterations):|\s+(?:small|large)\s+\d+")
_NUMBER = re.compile(rf"{FIXED_2.pattern}|N/A")
_TIMES = ("mean", "min", "max")
_RATES = ("mean", "max", "min")
_COLUMNS = {3 + 2: False, 6 + 2: True}  # Whether a row of so many columns has bandwidths.
_RATE_MIN = 0.03  # Payload over time from which on a bandwidth of 0.00 is that of one rank [GB/s].


def parse(draft: Draft) -> None:
    """Read a text of ucc_perftest into a draft."""
    draft.program = "ucc_perftest"
    has_header = False
    for line in draft.block.lines:
        text = " ".join(line.text.split())
        if fact := _FACT.fullmatch(line.text):
            draft.facts[fact[1]] = fact[2]
        elif re.match(r"Count Size Time, us", text):
            if has_header:
                raise GarbledError(line.number, "a second header: two runs are mixed")
            has_header = True
        elif has_header and (begins_with_digit(line.text) or text.startswith("N/A ")):
            _take(draft, line)
        elif not (_COUNT.match(line.text) or re.fullmatch(r"(?:(?:avg|min|max) ?)+", text)):
            draft.leftover += [line] if text else []


def _take(draft: Draft, line: TextLine) -> None:
    has_rates = _COLUMNS.get(len(line.text.split()), False)
    sizes = [re.compile(rf"{INTEGER.pattern}|N/A")] * 2
    count, printed, *cells = fields(line, [*sizes, *[_NUMBER] * (6 if has_rates else 3)])
    size = None if printed == "N/A" else int(printed)
    labels = [("call", draft.facts.get("Collective", "").lower())]
    labels += [] if count == "N/A" else [("count", count)]
    times, rates = cells[:3], cells[3:]
    draft.add_each(CALL_TIME, _TIMES, times, "us", line.number, size=size, labels=labels)
    if size and rates[:1] == ["0.00"] and size / max(float(times[0]), 0.01) / 1e3 > _RATE_MIN:
        raise GarbledError(line.number, "one rank sends nothing: its bandwidth is 0")
    for statistic, rate in zip(_RATES, rates, strict=False):
        if rate != "N/A":
            number = line.number
            draft.add(
                BANDWIDTH_BUS, rate, "GB/s", number, size=size, statistic=statistic, labels=labels
            )
