"""OSU Micro-Benchmarks over MPI, NCCL, RCCL and OpenSHMEM, versions 3 to 7, and in Python.

The number of a pair's latency is half a round trip; of a collective, one call. Bandwidth is in 10^6
bytes. The metric follows from the title of the test: ``osu_bw_fan_in`` prints bandwidth below the
words *Avg Latency(us)*. Without a title, times are those of a call, as no header names the test.
"""

import re
from collections.abc import Iterator, Mapping

from etherweave.bench.adapters.osu_plans import OPTIONS, plan
from etherweave.bench.programs.adapter import adapter
from etherweave.bench.texts.draft import FIXED_2, INTEGER, Draft, begins_with_digit, columns, fields
from etherweave.measurements.benchmark_report import (
    GarbledError,
    TextLine,
    check_alignment,
    check_rising,
    missing_powers,
    missing_row,
)
from etherweave.measurements.metrics import (
    BANDWIDTH,
    BANDWIDTH_BOTH,
    BANDWIDTH_SUM,
    CALL_TIME,
    ELAPSED,
    LATENCY,
    MESSAGE_RATE,
    OPERATION_RATE,
    OVERLAP,
    OVERLAPPED_TIME,
    Metric,
)

_TITLE = re.compile(
    r"# O(?:SU|MB) (?P<library>MPI|Python MPI|OpenSHMEM|UPC|UPC\+\+|[NRX]CCL)(?P<separator>[ _])"
    r"(?P<title>\S.*?)(?: Latency| latency)? Test(?: v(?P<version>[\d.]+))?\s*"
)
_DEVICE = re.compile(r"-(CUDA|ROCM|OPENACC|SYCL|HIP)\b")
_TABLE = (
    r"# (?:Size(?: \(B\))?[ \t]+(?:(?:Avg |Min )?Latency ?\(us\)|Bandwidth ?\(MB/s\)|MB/s\b|"
    r"Messages/s|Overall ?\(us\))|(?:Avg Latency|Overall) ?\(us\))"
)
_PAIRS = {
    "Latency": ("latency", LATENCY),
    "Multi": ("multi_lat", LATENCY),
    "Multi-threaded": ("latency_mt", LATENCY),
    "Multi-process": ("latency_mp", LATENCY),
    "Bandwidth": ("bw", BANDWIDTH),
    "Bi-Directional Bandwidth": ("bibw", BANDWIDTH_BOTH),
    "Multiple Bandwidth / Message Rate": ("mbw_mr", BANDWIDTH_SUM),
}
_PERSISTENT_PAIRS = {
    f"{title} Persistent": (f"{_PAIRS[title][0]}_persistent", _PAIRS[title][1])
    for title in ("Latency", "Bandwidth", "Bi-Directional Bandwidth")
}
_ONE_SIDED = {
    "Put": ("put_latency", CALL_TIME),
    "Get": ("get_latency", CALL_TIME),
    "Accumulate": ("acc_latency", CALL_TIME),
    "Get_accumulate": ("get_acc_latency", CALL_TIME),
    "Compare_and_swap": ("cas_latency", CALL_TIME),
    "Fetch_and_op": ("fop_latency", CALL_TIME),
    "Put Bandwidth": ("put_bw", BANDWIDTH),
    "Get Bandwidth": ("get_bw", BANDWIDTH),
    "Put Bi-directional Bandwidth": ("put_bibw", BANDWIDTH_BOTH),
    "Get Multi": ("get_multi_lat", CALL_TIME),
    "Get Multiple Bandwidth Bandwidth": ("get_mbw", BANDWIDTH_SUM),
}
_COLLECTIVES = {
    "All-to-All Personalized Exchange": "alltoall",
    "All-to-Allv Personalized Exchange": "alltoallv",
    "All-to-Allw Personalized Exchange": "alltoallw",
    "Broadcast": "bcast",
    "Reduce_scatter": "reduce_scatter",
    "Reduce_scatter_block": "reduce_scatter_block",
} | {
    name: name.lower()
    for name in (
        *("Allgather", "Allgatherv", "Allreduce", "Barrier", "Gather", "Gatherv"),
        *("Reduce", "Scatter", "Scatterv"),
    )
}
_SHMEM = {
    "Put": ("put", CALL_TIME),
    "Get": ("get", CALL_TIME),
    "Put_nb": ("put_nb", CALL_TIME),
    "Put_nbi": ("put_nb", CALL_TIME),
    "Get_nb": ("get_nb", CALL_TIME),
    "Put Message Rate": ("put_mr", MESSAGE_RATE),
    **{
        f"{call}_{kind} Message Rate": (f"{call.lower()}_mr_nb", MESSAGE_RATE)
        for call in ("Put", "Get")
        for kind in ("nb", "nbi")
    },
    "Atomic Operation Rate": ("atomics", CALL_TIME),
} | {
    name: (name.lower(), CALL_TIME)
    for name in ("Barrier", "Broadcast", "Collect", "FCollect", "Reduce")
}
_OTHER_TITLES = {"All-to-All": "alltoall", "Alltoall": "alltoall"}
_OTHER_TITLES |= {name: name.lower() for name in ("Alltoallv", "Alltoallw")}
_OTHER_TITLES |= {"All-to-Allv": "alltoallv", "All-to-Allw": "alltoallw"}
"""Tests of non-blocking collectives and of those among neighbours."""
_OF_NEIGHBOURS = ("neighbor_allgather", "neighbor_alltoall")
_KINDS = {"Non-blocking ": "i{}", "Persistent ": "{}_persistent", "Neighborhood ": "neighbor_{}"}
_OTHER_KINDS = {"Non-Blocking ": "i{}", "Non-blocking Neighborhood ": "ineighbor_{}"}
_XCCL_FROM = (7, 3)
"""Version from which the tests of NCCL and RCCL are one program, ``osu_xccl_*``."""

_TIMES = {
    "latency(us)": "mean",
    "avg latency(us)": "mean",
    "min latency(us)": "min",
    "max latency(us)": "max",
    "pure comm.(us)": "mean",
    "min comm.(us)": "min",
    "max comm.(us)": "max",
}
_RATES = (BANDWIDTH, BANDWIDTH_BOTH, BANDWIDTH_SUM)
_SILENT = {"compute(us)", "coll. init(us)", "mpi_test(us)", "mpi_wait(us)", "iterations"}
_SILENT |= {"transmit size"}
_TAIL = re.compile(r"p(\d{1,2}) tail (?:lat\(us\)|bw ?\(mb/s\))")
_COLUMN = re.compile(
    r"size(?: \(b\))?|operation|(?:(?:avg|min|max) )?latency ?\(us\)|bandwidth ?\(mb/s\)|"
    r"messages/s|million ops/s|mb/s|overall ?\(us\)|compute ?\(us\)|coll\. init ?\(us\)|"
    r"mpi_(?:test|wait) ?\(us\)|(?:pure|min|max) comm\. ?\(us\)|overlap ?\(%\)|iterations|"
    r"validation|transmit size|p\d{1,2} tail (?:lat|bw) ?\((?:us|mb/s)\)"
)
_HEADER = re.compile(
    r"# (?:Size|Operation)\b|# (?:(?:Avg|Min|Max) )?(?:Latency|Overall|Bandwidth) ?\("
)
_FACTS = re.compile(r"\[ ([^:\]]+): ([^\]]+) \]|# ([A-Z][\w ]+): (.+?)\.?\s*$")
_INIT = re.compile(r"nprocs: (\d+), min: (\d+) ms, max: (\d+) ms, avg: (\d+) ms\s*")
_WORD = re.compile(
    r"shmem_(?:int|long|longlong|float|double)_"
    r"(?:fadd|finc|add|inc|cswap|swap|set|fetch|and|or|xor|fetch_and|fetch_or|fetch_xor)"
)
_VERDICT = re.compile(r"Pass|Fail")


_SMALL = 256  # Messages up to here wait for latency [bytes].
_GROWTH_ROWS_MIN = 4
_GROWTH_MAX = 0.25  # Growth of a latency between small messages, as a share of that of their sizes.


def _parse(draft: Draft) -> None:
    first, *rest = draft.block.lines
    is_titled = not re.match(_TABLE, first.text)
    metric = _recognise(draft, first) if is_titled else None
    header: list[str] = []
    rows: list[TextLine] = []
    for line in rest if is_titled else draft.block.lines:
        if not line.text.strip():
            continue
        if line.text.startswith("# ") and _HEADER.match(line.text):
            if header:
                raise GarbledError(line.number, "a second header: two runs are mixed")
            header = _columns(line)
        elif line.text.startswith("# "):
            _take_comment(draft, line, header)
        elif header and _is_row(line.text, header):
            rows.append(line)
        elif draft.program == "osu_init" and (match := _INIT.fullmatch(line.text)):
            names = ("min", "max", "mean")
            draft.add_each(ELAPSED, names, match.groups()[1:], "ms", line.number)
        else:
            draft.leftover.append(line)
    if metric is None:
        metric = _untitled(draft, header)
        _check_growth(header, rows)
    _read_rows(draft, metric, header, rows)


def _take_comment(draft: Draft, line: TextLine, header: list[str]) -> None:
    if line.text.startswith("# Uni-directional Bandwidth (MB/sec)"):
        raise GarbledError(line.number, "a table by sizes of the window (-V) is not read")
    if not header and not _FACTS.search(line.text) and re.search(r"\S {2,}\S", line.text):
        raise GarbledError(line.number, f"a header that is not understood: {line.text!r}")
    draft.facts.update(_facts(line.text))


def _columns(line: TextLine) -> list[str]:
    text = line.text.strip(" #").lower()
    header = [name.replace(" (us)", "(us)") for name in _COLUMN.findall(text)]
    if _COLUMN.sub("", text).strip():
        header = columns(text)
    if len(set(header)) != len(header):
        raise GarbledError(line.number, "two columns of one name")
    return header


def _untitled(draft: Draft, header: list[str]) -> Metric:
    """Return the metric of a table whose title is missing, by its header."""
    draft.program = "osu"
    draft.warn("the line `# OSU MPI ...` is missing: which test it was is not known")
    if "messages/s" in header and "mb/s" in header:
        draft.program = "osu_mbw_mr"
        return BANDWIDTH_SUM
    if "messages/s" in header:
        return MESSAGE_RATE
    if "bandwidth (mb/s)" in header:
        draft.warn("whether the bandwidth is of one direction or of both is not known")
        return BANDWIDTH
    return CALL_TIME


def _check_growth(header: list[str], rows: list[TextLine]) -> None:
    """Reject bandwidth below the words *Avg Latency(us)*, which only the title could explain.

    Raises ``GarbledError`` when the values of small messages grow with their size.
    """
    if header[1:2] != ["avg latency(us)"]:
        return
    cells = [row.text.split() for row in rows]
    small = [
        (int(cell[0]), float(cell[1]))
        for cell in cells
        if len(cell) > 1 and INTEGER.fullmatch(cell[0]) and FIXED_2.fullmatch(cell[1])
        if 0 < int(cell[0]) <= _SMALL and float(cell[1])
    ]
    if len(small) < _GROWTH_ROWS_MIN:
        return
    (first, low), (last, high) = small[0], small[-1]
    if high / low > _GROWTH_MAX * last / first:
        reason = "values of small messages grow with their size, as no latency does"
        raise GarbledError(rows[0].number, f"{reason}; the line `# OSU MPI ...` is missing")


def _is_row(text: str, header: list[str]) -> bool:
    if header[0] == "operation":
        return bool(re.search(r"\d\.\d\d\s*$|shmem_", text))
    return begins_with_digit(text)


def _recognise(draft: Draft, line: TextLine) -> Metric:
    """Return the metric, and set the program, by the title."""
    device = _DEVICE.search(line.text)
    match = _TITLE.fullmatch(_DEVICE.sub("", line.text))
    program = match and _program(match["library"], match["separator"], match["title"])
    if not (match and program):
        raise GarbledError(line.number, f"unknown test {line.text.strip()[:60]!r}")
    draft.version = match["version"]
    draft.program = f"osu_{_family(match['library'], draft.version)}{program[0]}"
    if device:
        draft.facts["device"] = device[1]
    return program[1]


def _family(library: str, version: str | None) -> str:
    """Name the family between ``osu_`` and the test: ``nccl_`` before it became ``xccl_``."""
    if not library.endswith("CCL"):
        return ""
    numbers = tuple(int(number) for number in (version or "").split(".") if number)
    is_old = numbers and numbers < _XCCL_FROM
    return f"{library.lower()}_" if is_old else "xccl_"


def _program(library: str, separator: str, title: str) -> tuple[str, Metric] | None:
    if library == "OpenSHMEM":
        known = _SHMEM.get(title)
        return known and (f"oshm_{known[0]}", known[1])
    if separator == "_":
        return _ONE_SIDED.get(title)
    if title in ("Init", "Hello World"):
        return title.split()[0].lower(), ELAPSED
    if pair := (_PAIRS | _PERSISTENT_PAIRS).get(title):
        return pair
    if title.endswith(" Persistent"):
        title = f"Persistent {title.removesuffix(' Persistent')}"
    for words, form in (_OTHER_KINDS | _KINDS).items():
        bare = title.removeprefix(words)
        if bare != title and (name := (_COLLECTIVES | _OTHER_TITLES).get(bare)):
            return form.format(name), CALL_TIME
    name = _COLLECTIVES.get(title)
    return (name, CALL_TIME) if name else None


def _facts(text: str) -> dict[str, str]:
    matches = _FACTS.findall(text)
    return {(name or other).lower(): value or said for name, value, other, said in matches}


def _read_rows(draft: Draft, metric: Metric, header: list[str], rows: list[TextLine]) -> None:
    has_sizes = header[:1] == ["size"] or header[:1] == ["size (b)"]
    if draft.program == "osu_oshm_put_nb" and "overlap(%)" in header:
        draft.program = "osu_oshm_put_overlap"
    if draft.program == "osu_bw" and header[1:2] == ["avg latency(us)"]:
        draft.program = "osu_bw_fan"
        draft.warn("the column that says latency in us holds bandwidth in MB/s of all senders")
        metric, header = BANDWIDTH_SUM, ["size", "mb/s"]
    if rows and not (has_sizes or header[0] == "operation" or "barrier" in draft.program):
        raise GarbledError(rows[0].number, f"{draft.program} without a column of sizes")
    kinds = [_kind(name) for name in header]
    cells = [dict(zip(header, fields(row, kinds, header), strict=True)) for row in rows]
    check_alignment(rows)
    for row, cell in zip(rows, cells, strict=True):
        size = int(cell[header[0]]) if has_sizes else None
        _read_row(draft, metric, cell, row.number, size)
    if has_sizes:
        sizes = [int(cell[header[0]]) for cell in cells]
        check_rising(zip((row.number for row in rows), sizes, strict=True))
        for gap in missing_powers(sizes):
            draft.miss(missing_row(gap))
    elif rows and header[0] != "operation":
        draft.end(len(rows) == 1, "the only row")


def _kind(name: str) -> re.Pattern[str]:
    integers = dict.fromkeys(("size", "size (b)", "iterations", "transmit size"), INTEGER)
    return integers.get(name) or {"operation": _WORD, "validation": _VERDICT}.get(name, FIXED_2)


def _read_row(
    draft: Draft, metric: Metric, cell: Mapping[str, str], line: int, size: int | None
) -> None:
    label = [("operation", cell["operation"])] if "operation" in cell else []
    for name, value in cell.items():
        if tail := _TAIL.fullmatch(name):
            unit = "us" if "lat" in name else "MB/s"
            draft.add(metric, value, unit, line, size=size, statistic=f"p{tail[1]}")
        elif name in _TIMES and metric in _RATES:
            raise GarbledError(line, f"the column {name!r} in a test of bandwidth")
        elif name in _TIMES:
            time = CALL_TIME if metric not in (LATENCY, CALL_TIME) else metric
            draft.add(time, value, "us", line, size=size, statistic=_TIMES[name], labels=label)
        elif name in ("bandwidth (mb/s)", "bandwidth(mb/s)", "mb/s"):
            draft.add(metric, value, "MB/s", line, size=size)
        elif name == "messages/s":
            draft.add(MESSAGE_RATE, value, "1/s", line, size=size)
        elif name == "million ops/s":
            draft.add(OPERATION_RATE, value, "M/s", line, labels=label)
        elif name == "overall(us)":
            draft.add(OVERLAPPED_TIME, value, "us", line, size=size)
        elif name == "overlap(%)":
            draft.add(OVERLAP, value, "%", line, size=size)
        elif name == "validation":
            draft.check(value == "Pass", f"size {size}: the received data were wrong")
        elif name not in _SILENT and name not in ("size", "size (b)", "operation"):
            draft.warn(f"the column {name!r} is not known")


_PROGRAMS = (
    *("osu_latency", "osu_bw", "osu_bibw", "osu_mbw_mr", "osu_multi_lat", "osu_allreduce"),
    *("osu_alltoall", "osu_allgather", "osu_bcast", "osu_barrier", "osu_put_latency"),
    *("osu_get_bw", "osu_oshm_put", "osu_oshm_put_mr", "osu_oshm_atomics", "osu_oshm_barrier"),
)


def _rarer() -> Iterator[str]:
    """Give the programs whose titles are known, but for the usual ones."""
    pairs = [name for name, _ in (*_PAIRS.values(), *_ONE_SIDED.values())]
    shmem = [f"oshm_{name}" for name, _ in _SHMEM.values()]
    kinds = [form.format(key) for form in ("{}", *_KINDS.values()) for key in _COLLECTIVES.values()]
    others = ("oshm_put_overlap", "bw_fan_in", "bw_fan_out", "init", "hello")
    for name in dict.fromkeys([*pairs, *kinds, *shmem, *others]):
        # MPI has neighbours in these only.
        is_none = name.startswith("neighbor_") and not name.startswith(_OF_NEIGHBOURS)
        if not is_none and f"osu_{name}" not in _PROGRAMS:
            yield f"osu_{name}"


ADAPTER = adapter(
    "osu",
    plan=plan,
    parse=_parse,
    programs=_PROGRAMS,
    rarer=tuple(_rarer()),
    options=OPTIONS,
    table=_TABLE,
)
