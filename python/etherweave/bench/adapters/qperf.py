"""qperf: sockets and RDMA of a pair, one short section for each test.

Megabytes are 10^6 bytes; latency is half a round trip. A sweep has a section for each size.
"""

import itertools
import re
from dataclasses import dataclass, field

from etherweave.bench.programs import plans
from etherweave.bench.programs.adapter import adapter
from etherweave.bench.programs.program_options import options
from etherweave.bench.texts.draft import NUMBER, Draft, integer
from etherweave.measurements.benchmark_report import GarbledError, TextLine
from etherweave.measurements.metrics import BANDWIDTH, LATENCY, MESSAGE_RATE

_TEST = (
    r"(?:(?:tcp|udp|sctp|sdp|rds)_(?:bw|lat)|(?:rc|uc|ud|xrc)_(?:bi_bw|bw|lat)|"
    r"(?:rc|uc)_rdma_(?:write|read)_(?:bw|lat)|(?:rc|uc)_rdma_write_poll_lat):\s*$"
)
_ITEM = re.compile(r"    (?P<name>\w+) += +(?P<value>\S.*?)\s*")
_AMOUNT = re.compile(rf"(?P<number>{NUMBER}) ?(?P<unit>[\w%/. ]*)(?: \([\d,]+\))?")
_UNITS = {
    **{"ns": "ns", "us": "us", "ms": "ms", "sec": "s", "bytes/sec": "B/s", "KB/sec": "kB/s"},
    **{"MB/sec": "MB/s", "GB/sec": "GB/s", "TB/sec": "TB/s", "/sec": "1/s", "K/sec": "k/s"},
    **{"M/sec": "M/s"},
}
_SIZES = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "KB": 10**3, "MB": 10**6}
_RATES = {"bw": "", "send_bw": "sender", "recv_bw": "receiver"}


def _parse(draft: Draft) -> None:
    draft.program = "qperf"
    sections = _sections(draft)
    sizes: dict[str, list[int]] = {}
    for place, section in enumerate(sections):
        if section.test == "conf":
            version = section.items.get("loc_qperf")
            draft.version = version.text if version else None
        elif section.is_whole:
            size = _take(draft, section)
            sizes.setdefault(section.test, []).append(-1 if size is None else size)
        elif place == len(sections) - 1:
            draft.miss(f"the last section of {section.test} is cut, and left out")
        else:
            raise GarbledError(section.line, f"lines of {section.test} are missing")
    for test, swept in sizes.items():
        if not _is_regular(swept):
            raise GarbledError(
                draft.block.start, f"the sizes of {test} are no sweep: some are lost"
            )


@dataclass
class _Section:
    test: str
    line: int
    items: dict[str, TextLine] = field(default_factory=dict)
    equals: set[int] = field(default_factory=set)  # Where the equals signs stand.
    is_over: bool = False  # A foreign line follows it.

    @property
    def is_whole(self) -> bool:
        """Whether the longest name, by which qperf aligns the signs, is among the names."""
        longest = max(map(len, self.items), default=0)
        return self.equals == {longest + 6}


def _sections(draft: Draft) -> list[_Section]:
    sections: list[_Section] = []
    for line in draft.block.lines:
        item = _ITEM.fullmatch(line.text)
        if head := re.fullmatch(rf"{_TEST}|conf:\s*", line.text):
            sections.append(_Section(head[0].strip(" :"), line.number))
        elif item and sections[-1].is_over:
            raise GarbledError(line.number, f"{item['name']} after a line that is not understood")
        elif item and item["name"] not in sections[-1].items:
            sections[-1].items[item["name"]] = TextLine(line.number, item["value"])
            sections[-1].equals.add(line.text.index("="))
        elif item:
            raise GarbledError(line.number, f"{item['name']} occurs twice")
        elif line.text.startswith("failed to "):
            raise GarbledError(line.number, f"qperf says: {line.text.strip()}")
        elif "=" in line.text or line.text.rstrip().endswith(":"):
            raise GarbledError(line.number, f"a line that is not understood: {line.text[:60]!r}")
        elif line.text.strip():
            draft.leftover.append(line)
            sections[-1].is_over = True
    return sections


def _is_regular(sizes: list[int]) -> bool:
    """Whether sizes rise by one factor or by one step, as qperf sweeps them."""
    pairs = list(itertools.pairwise(sizes))
    by_step = len({after - before for before, after in pairs}) < 2
    return by_step or len({after / before for before, after in pairs if before}) < 2


def _take(draft: Draft, section: _Section) -> int | None:
    """Read a section; return its message size."""
    test, items = section.test, section.items
    if "timeout" in items and "msg_size" not in items:
        raise GarbledError(section.line, "the message size is missing")
    labels = [("test", test)]
    is_bandwidth = test.endswith("bw")
    size = _size(items["msg_size"]) if "msg_size" in items else None
    wrong = ("latency",) if is_bandwidth else tuple(_RATES)
    if any(name in items for name in wrong):
        raise GarbledError(section.line, f"{test} has other values: sections are mixed")
    if "latency" in items:
        printed, unit = _amount(items["latency"])
        draft.add(LATENCY, printed, unit, items["latency"].number, size=size, labels=labels)
    for name, side in _RATES.items():
        if name in items:
            printed, unit = _amount(items[name])
            own = [*labels, ("side", side)] if side else labels
            draft.add(BANDWIDTH, printed, unit, items[name].number, size=size, labels=own)
            if not float(printed):
                draft.miss(f"{test} carried nothing: {name} is 0")
    if is_bandwidth and "msg_rate" in items:
        printed, unit = _amount(items["msg_rate"])
        draft.add(MESSAGE_RATE, printed, unit, items["msg_rate"].number, size=size, labels=labels)
    return size


def _amount(line: TextLine) -> tuple[str, str]:
    amount = _AMOUNT.fullmatch(line.text)
    unit = _UNITS.get(amount["unit"].strip()) if amount else None
    if amount is None or unit is None:
        raise GarbledError(line.number, f"{line.text[:40]!r} is no amount")
    return amount["number"], unit


def _size(line: TextLine) -> int:
    amount = _AMOUNT.fullmatch(line.text)
    scale = _SIZES.get(amount["unit"].strip()) if amount else None
    if amount is None or scale is None:
        raise GarbledError(line.number, f"{line.text[:40]!r} is no size")
    return integer(amount["number"], line.number) * scale


def _plan(request: plans.BenchmarkRequest, fabric: plans.FabricEstimate) -> plans.BenchmarkPlan:
    seconds, tests = request.seconds or 2.0, request.options.words or ("tcp_bw", "tcp_lat")
    largest = min(next(most for key, most in _SIZES_MAX if test.startswith(key)) for test in tests)
    if (request.size_min or 0) > largest or (request.size_max or 0) > largest:
        raise plans.BenchmarkPlanError(f"{' '.join(tests)} of qperf send at most {largest} B")
    sizes = plans.doubling(request.size_min or 1, request.size_max or largest)
    sweep = ("-oo", f"msg_size:{sizes[0]}:{sizes[-1]}:*2")
    is_rdma = any(test.startswith(_RDMA) for test in tests)
    device = ("-i", request.device) if request.device and is_rdma else ()
    count = request.options.count("-n", 0)
    lasts = () if count else ("-t", plans.seconds_text(seconds))
    head = ("qperf", "{server}", "-lp", "{port}", *lasts, "-vu", "-uu")
    named = () if request.options.words else tests
    server = ("qperf", "-lp", "{port}")
    length = seconds * len(tests) * len(sizes)
    alone = ", of latencies a message at a time" * any(test.endswith("lat") for test in tests)
    basis = f"{length:g} s at the rate of the link{alone}"
    sent = sum(seconds * _rate(test, size, fabric) for test in tests for size in sizes)
    if count:
        steps = [(size, count * (1 + ("bi_bw" in test))) for size in sizes for test in tests]
        swept = plans.predict_sweep(steps, fabric, f"{count:,} messages of each size", each=2)
        sent, length, basis = swept.bytes, swept.seconds, swept.basis
    words = (*head, *device, *sweep, *named)
    return plans.timed_pair(request, fabric, words, server, length, sent=sent, basis=basis)


def _rate(test: str, size: int, fabric: plans.FabricEstimate) -> float:
    """Return what a host sends [bytes/s]: the link's rate, or a message a round trip."""
    if not test.endswith("lat"):
        return fabric.rate * (1 + ("bi_bw" in test))
    # A read has its data in the answer alone; other messages go both ways.
    ways = 1 if "_rdma_read_" in test else 2
    return size / (ways * size / fabric.rate + 2 * fabric.latency)


_RDMA = ("rc_", "uc_", "ud_", "xrc_")
_SIZES_MAX = (("udp_", 2**15), ("ud_", 2**11), ("", 2**16))
"""Largest power of two that a datagram holds, by the beginning of a test [bytes]."""
_TESTS = (
    *(f"{kind}_{test}" for kind in ("tcp", "udp", "sctp", "sdp", "rds") for test in ("bw", "lat")),
    *(f"{kind}{test}" for kind in _RDMA for test in ("bw", "lat", "bi_bw")),
    *(f"rc_rdma_{verb}_{test}" for verb in ("write", "read") for test in ("bw", "lat")),
    *(f"uc_rdma_write_{test}" for test in ("bw", "lat")),
    *("rc_rdma_write_poll_lat", "uc_rdma_write_poll_lat"),
)
ADAPTER = adapter(
    "qperf",
    plan=_plan,
    parse=_parse,
    options=options("qperf", {"": _TESTS}),
    begins=_TEST,
    inside=_TEST,
)
