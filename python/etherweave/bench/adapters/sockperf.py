"""sockperf: half round trips with percentiles, or a rate. *MBps* and *Mbps* are powers of two."""

import re

from etherweave.bench.adapter import Adapter
from etherweave.bench.checks import check_agreement
from etherweave.bench.draft import NUMBER, Draft
from etherweave.bench.measurements import GarbledError, TextLine
from etherweave.bench.metrics import BANDWIDTH, LATENCY, MESSAGE_RATE
from etherweave.bench.plans import BenchmarkPlan, BenchmarkRequest, FabricEstimate, timed_pair

_LATENCY = re.compile(rf"Summary: Latency is ({NUMBER}) usec\s*")
_SPREAD = re.compile(rf"====> avg-latency=({NUMBER}) \(std-dev=({NUMBER})\)\s*")
_SHARE = re.compile(rf"---> percentile ({NUMBER}) += +({NUMBER})\s*")
_ENDS = re.compile(rf"---> <(MIN|MAX)> observation += +({NUMBER})\s*")
_RATE = re.compile(rf"Summary: Message Rate is ({NUMBER}) \[msg/sec\]\s*")
_BANDWIDTH = re.compile(rf"Summary: BandWidth is ({NUMBER}) MBps \(({NUMBER}) Mbps\)\s*")
_DROPS = re.compile(r"# dropped messages = (\d+); # duplicated messages = (\d+);.*= (\d+)\s*")
_SIZE = re.compile(r"msg-size=(\d+)\.")


def _parse(draft: Draft) -> None:
    draft.program = "sockperf"
    lines = [
        TextLine(line.number, line.text.removeprefix("sockperf: ")) for line in draft.block.lines
    ]
    version = re.search(r"version #(\S+)", lines[0].text)
    draft.version = version and version[1]
    mean = [(line, match) for line in lines if (match := _LATENCY.fullmatch(line.text))]
    rate = [(line, match) for line in lines if (match := _BANDWIDTH.fullmatch(line.text))]
    if len(mean) + len(rate) > 1:
        raise GarbledError(draft.block.start, "several summaries: runs are mixed")
    for line, match in mean:
        draft.add(LATENCY, match[1], "us", line.number)
        _take_percentiles(draft, lines, match[1])
    for line, match in rate:
        _take_rate(draft, lines, line, match)
    if not (mean or rate):
        draft.miss("the summary is missing: the text is cut")


def _take_percentiles(draft: Draft, lines: list[TextLine], mean: str) -> None:
    """Read percentiles, which are printed from the highest to the lowest."""
    before, is_over = float("inf"), False
    for line in lines:
        if spread := _SPREAD.fullmatch(line.text):
            if spread[1] != mean:
                raise GarbledError(line.number, f"two means: {spread[1]} and {mean}")
            draft.add(LATENCY, spread[2], "us", line.number, statistic="stdev")
        elif (drops := _DROPS.fullmatch(line.text)) and any(map(int, drops.groups())):
            draft.warn(f"dropped, duplicated, out of order: {', '.join(drops.groups())}")
        found = _SHARE.fullmatch(line.text) or _ENDS.fullmatch(line.text)
        if found:
            if float(found[2]) > before:
                raise GarbledError(line.number, "percentiles do not fall")
            before, is_over = float(found[2]), found[1] == "MIN"
            name = found[1].lower() if found[1] in ("MIN", "MAX") else f"p{float(found[1]):g}"
            draft.add(LATENCY, found[2], "us", line.number, statistic=name)
    draft.end(is_over, "the smallest observation")


def _take_rate(draft: Draft, lines: list[TextLine], line: TextLine, match: re.Match[str]) -> None:
    check_agreement(line.number, "MBps and Mbps", float(match[2]), 8 * float(match[1]), 0.001)
    sizes = [found[1] for one in lines if (found := _SIZE.search(one.text))]
    size = int(sizes[0]) if sizes else None
    draft.add(BANDWIDTH, match[1], "MiB/s", line.number, size=size)
    for one in lines:
        if rate := _RATE.fullmatch(one.text):
            if size:
                own = float(rate[1]) * size / 2**20
                check_agreement(one.number, "size, rate and bandwidth", float(match[1]), own, 0.01)
            draft.add(MESSAGE_RATE, rate[1], "1/s", one.number, size=size)
    draft.end(True, "")


def _plan(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    seconds = request.seconds or 10.0
    size = ("--msg-size", str(request.size_max)) if request.size_max else ()
    common = ("-i", "{server}", "-p", "{port}", "--tcp")
    client = ("sockperf", "ping-pong", *common, "-t", f"{seconds:g}", *size)
    return timed_pair(request, fabric, client, ("sockperf", "server", *common))


ADAPTER = Adapter(
    name="sockperf",
    programs=("sockperf",),
    metrics=(LATENCY, BANDWIDTH, MESSAGE_RATE),
    checks=(
        "percentiles fall from the highest to the smallest",
        "size, rate and bandwidth agree",
        "dropped or duplicated messages are reported",
    ),
    begins=r"sockperf: == version #",
    plan=_plan,
    parse=_parse,
    version=(("--version",), r"version (\d[\w.-]*)"),
)
