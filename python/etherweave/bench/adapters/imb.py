"""Intel MPI Benchmarks: MPI1, P2P, RMA, EXT and NBC.

Megabytes are 10^6 bytes. A ping-pong's time is half a round trip. A size whose time ran out has a
row without numbers: it is missing, not zero. A table without the title of the suite is of the
benchmark that a line above it names.
"""

import re
from dataclasses import dataclass, field, replace

from etherweave.bench.programs import plans
from etherweave.bench.programs.adapter import adapter
from etherweave.bench.programs.program_options import options
from etherweave.bench.texts.draft import FIXED_2, INTEGER, Draft, fields
from etherweave.measurements.benchmark_report import (
    GarbledError,
    TextLine,
    check_agreement,
    check_alignment,
    check_rising,
)
from etherweave.measurements.metrics import (
    BANDWIDTH,
    BANDWIDTH_BOTH,
    BANDWIDTH_SUM,
    CALL_TIME,
    LATENCY,
    MESSAGE_RATE,
    OVERLAP,
    OVERLAPPED_TIME,
    Metric,
)

_KNOWN = re.compile(
    r"(?:Multi-)?(?:PingPong(?:SpecificSource|AnySource)?|PingPing(?:SpecificSource|AnySource)?|"
    r"Sendrecv|Exchange|Uniband|Biband|Unirandom|Birandom|Corandom|"
    r"(?i:I?(?:Bcast|Allgatherv?|Alltoallv?|Scatterv?|Gatherv?|Reduce(?:_scatter(?:_block)?)?|"
    r"Allreduce|Barrier)(?:_pure)?)|Reduce_local|Window|"
    r"Unidir_[Pp]ut|Unidir_[Gg]et|Bidir_[Pp]ut|Bidir_[Gg]et|Accumulate|Get_accumulate|"
    r"Compare_and_swap|Fetch_and_op|All_put_all|All_get_all|One_put_all|One_get_all|"
    r"Put_local|Get_local|Put_all_local|Get_all_local|Exchange_[Pp]ut|Exchange_[Gg]et|"
    r"Truly_passive_put)"
)
_TOPICS = re.compile(
    r"# (?P<item>Calling sequence was|List of Benchmarks|Minimum message|Maximum message|MPI_|"
    r"Date|Machine|System|Release|Version|MPI |All processes)"
)
_COLUMNS = {
    "#bytes": INTEGER,
    "#repetitions": INTEGER,
    **dict.fromkeys(
        (
            *("t[usec]", "t_min[usec]", "t_max[usec]", "t_avg[usec]"),
            *("t_ovrl[usec]", "t_pure[usec]", "t_CPU[usec]", "overlap[%]", "Mbytes/sec"),
        ),
        FIXED_2,
    ),
    "Msg/sec": INTEGER,
    "defects": FIXED_2,
}
"""Columns of any part of IMB, in the order in which it prints them."""
_TITLE = r"#\s+Intel ?\(R\) MPI Benchmark"
_TABLE = r"#bytes[ \t]+#repetitions[ \t]+(?:t|Mbytes)|# ?Benchmarking[ \t]+\S+[ \t]*$"
_HEAD = re.compile(r"#bytes|#repetitions|# (?:#processes|\( \d+|Group| +MODE)")
_STATISTICS = {"t[usec]": "mean", "t_min[usec]": "min", "t_max[usec]": "max"}
_STATISTICS |= {"t_avg[usec]": "mean", "t_pure[usec]": "mean"}
_OUT = {
    "time-out": "the time ran out",
    "out-of-mem": "the memory ran out",
    "int-overflow": "the count overflows",
}
_BOTH = ("Sendrecv", "Exchange", "Biband", "Bidir")


REPEATS = 1000  # Repetitions of a size, unless they exceed the volume.
P2P_REPEATS = 100_000
VOLUME = 40 * 2**20  # Volume of the messages of a size [bytes].


@dataclass
class _Section:
    """One benchmark of a run while it is read."""

    name: str
    line: int
    labels: list[tuple[str, str]]
    header: list[str] = field(default_factory=list)
    rows: list[TextLine] = field(default_factory=list)
    missing: list[tuple[str, str]] = field(default_factory=list)  # Sizes without a row, and why.

    @property
    def time(self) -> Metric:
        """Metric of its times."""
        return LATENCY if "PingP" in self.name else CALL_TIME

    @property
    def rate(self) -> Metric:
        """Metric of its megabytes per second."""
        if any(word in self.name for word in _BOTH):
            return BANDWIDTH_BOTH
        return BANDWIDTH_SUM if "random" in self.name else BANDWIDTH


def _parse(draft: Draft) -> None:
    first = draft.block.lines[0]
    if re.match(_TABLE, first.text):
        _parse_untitled(draft)
        return
    title = re.fullmatch(
        rf"{_TITLE}s?(?: Suite)? V?([\d.]+)(?: Update \d+)?, "
        r"(?:MPI-|IMB-)(1|P2P|RMA|NBC|EXT|IO|MT) part\s*",
        first.text,
    )
    if not title:
        raise GarbledError(first.number, f"unknown part of IMB: {first.text.strip()[:60]!r}")
    draft.version, part = title.groups()
    draft.program = "IMB-MPI1" if part == "1" else f"IMB-{part}"
    sections, is_over, listed = _sections(draft)
    for section in sections:
        _read(draft, section)
    draft.end(is_over, "the line of MPI_Finalize")
    names = {section.name for section in sections}
    for name in listed:
        if name not in names and f"Multi-{name}" not in names:
            draft.miss(f"{name} was to be run, and is not here")


def _parse_untitled(draft: Draft) -> None:
    """Read tables whose head is missing; each is of the benchmark that a line above it names."""
    draft.program = "IMB"
    draft.warn("the lines with the title of IMB are missing")
    lines = [line for line in (*draft.block.before, *draft.block.lines) if line.text.strip()]
    sections: list[_Section] = []
    for before, line in zip([None, *lines], lines, strict=False):
        text = line.text.strip()
        if line.number < draft.block.start or text.startswith("# All processes entering"):
            continue
        if begun := re.fullmatch(r"# ?Benchmarking\s+(\S+)", text):
            sections.append(_Section(begun[1], line.number, []))
            continue
        is_new = not sections or bool(sections[-1].header)
        if text.startswith("#bytes") and is_new:
            sections.append(_Section(_name(before), line.number, []))
        if not sections or _name(line) or re.fullmatch(r"[-~=#\s]+", text):
            continue
        if text.startswith("#") and not _HEAD.match(text):
            draft.leftover.append(line)
        else:
            _take(draft, sections[-1], line)
    for section in sections:
        if section.header:
            _read(draft, section)


def _name(line: TextLine | None) -> str:
    """Return the benchmark that a line names, perhaps before a colon; empty if it names none."""
    name = line.text.strip(" \t#:*-") if line else ""
    return name if _KNOWN.fullmatch(name) else ""


def _sections(draft: Draft) -> tuple[list[_Section], bool, list[str]]:
    sections: list[_Section] = []
    listed: list[str] = []
    is_over = is_list = False
    for line in draft.block.lines[1:]:
        text = line.text.strip()
        bare = text.strip("# -")
        if begun := re.fullmatch(r"# Benchmarking (\S+)", text):
            if not _KNOWN.fullmatch(begun[1]) and begun[1] not in listed:
                raise GarbledError(line.number, f"unknown benchmark {begun[1][:40]!r}")
            sections.append(_Section(begun[1], line.number, []))
        elif text.startswith("# All processes entering MPI_Finalize"):
            is_over = True
        elif not bare:
            continue
        elif sections:
            _take(draft, sections[-1], line)
        elif topic := _TOPICS.match(text):
            is_list = topic["item"] == "List of Benchmarks"
        elif is_list and _KNOWN.fullmatch(bare):
            listed.append(bare)
        elif not text.startswith("# IMB-"):
            draft.leftover.append(line)
    return sections, is_over, listed


def _take(draft: Draft, section: _Section, line: TextLine) -> None:
    text = line.text.strip()
    if text.startswith(("#bytes", "#repetitions")):
        if section.header:
            raise GarbledError(line.number, "a second header: the line `# Benchmarking` is missing")
        section.header = text.split()
    elif section.header and re.match(r"\d", text):
        _take_row(section, line)
    elif not re.match(r"#|\d", text):
        draft.leftover.append(line)
    elif processes := re.fullmatch(r"# #processes = (\d+)", text):
        section.labels.append(("processes", processes[1]))
    elif groups := re.fullmatch(r"# \( (\d+) groups of (\d+) processes each running .*\)", text):
        section.labels += [("groups", groups[1]), ("processes", groups[2])]
    elif mode := re.fullmatch(r"# +MODE: ((?:NON-)?AGGREGATE)", text):
        section.labels.append(("mode", mode[1].lower()))
    elif not re.fullmatch(
        r"# (?:Group +\d+: +[\d ]+|\( \d+ additional process.*\))|# +[\d ]+", text
    ):
        raise GarbledError(line.number, f"{text[:60]!r} is not valid here")


def _take_row(section: _Section, line: TextLine) -> None:
    if out := re.match(r"\s*(\d+)\s+(time-out|out-of-mem|int-overflow)\.;", line.text):
        section.missing.append((out[1], _OUT[out[2]]))
    elif section.missing:
        raise GarbledError(line.number, f"a row after {section.missing[0][1]}")
    else:
        section.rows.append(line)


def _read(draft: Draft, section: _Section) -> None:
    if unknown := [name for name in section.header if name not in _COLUMNS]:
        raise GarbledError(section.line, f"unknown column {unknown[0][:40]!r}")
    if section.header != sorted(section.header, key=list(_COLUMNS).index):
        raise GarbledError(section.line, "columns are in another order than IMB's")
    named = dict(section.labels)
    has_modes = draft.program in ("IMB-RMA", "IMB-EXT") and "t[usec]" in section.header
    if len(named) != len(section.labels):
        raise GarbledError(section.line, "lines of its head occur twice")
    is_titled = draft.program != "IMB"
    if is_titled and ("processes" not in named or has_modes != ("mode" in named)):
        raise GarbledError(section.line, "how many processes, or in which mode, is missing")
    if named.get("processes") == "1" and "groups" not in named:
        draft.warn(f"{section.name} of 1 process: one rank sends nothing")
    check_alignment(section.rows)
    labels = [*([("benchmark", section.name)] if section.name else []), *section.labels]
    kinds = [_COLUMNS[name] for name in section.header]
    sizes, repeats = [], []
    for row in section.rows:
        cells = dict(zip(section.header, fields(row, kinds), strict=True))
        size = int(cells["#bytes"]) if "#bytes" in cells else None
        _add(draft, section, cells, row.number, size, labels)
        sizes.append((row.number, size or 0))
        repeats.append(int(cells.get("#repetitions", "0")))
    check_rising(sizes)
    if repeats != sorted(repeats, reverse=True):
        raise GarbledError(section.line, "repetitions rise: rows are mixed")
    for size_missing, reason in section.missing:
        draft.miss(f"{section.name}: {size_missing} B and larger: {reason}")
    if not (section.rows or section.missing):
        draft.miss(f"{section.name} has no rows")


def _add(
    draft: Draft,
    section: _Section,
    cells: dict[str, str],
    line: int,
    size: int | None,
    labels: list[tuple[str, str]],
) -> None:
    for name, value in cells.items():
        if name in _STATISTICS:
            which = _STATISTICS[name]
            draft.add(section.time, value, "us", line, size=size, statistic=which, labels=labels)
        elif name == "t_ovrl[usec]":
            draft.add(OVERLAPPED_TIME, value, "us", line, size=size, labels=labels)
        elif name == "overlap[%]":
            draft.add(OVERLAP, value, "%", line, size=size, labels=labels)
        elif name == "Mbytes/sec":
            draft.add(section.rate, value, "MB/s", line, size=size, labels=labels)
        elif name == "Msg/sec":
            draft.add(MESSAGE_RATE, value, "1/s", line, size=size, labels=labels)
    if section.name == "PingPong" and size and "t[usec]" in cells:
        time, rate = float(cells["t[usec]"]), float(cells["Mbytes/sec"])
        if time and rate:
            rounding = 0.01 + 0.006 / time + 0.006 / rate
            check_agreement(line, "time and bandwidth", rate, size / time, rounding)


def _plan(request: plans.BenchmarkRequest, fabric: plans.FabricEstimate) -> plans.BenchmarkPlan:
    ranks = plans.need_ranks(request, 2, request.program)
    largest = request.size_max or 2**22
    is_p2p = request.program == "IMB-P2P"
    sizes = plans.doubling(request.size_min or (1 if is_p2p else 0), largest)
    repeats = request.iterations or (P2P_REPEATS if is_p2p else REPEATS)
    own, names = request.options, _names(request)
    # P2P was not seen to repeat less of any size: the cost is rather predicted too high.
    is_fixed = is_p2p or own.value("-iter_policy") == "off"
    most = [repeats if is_fixed else VOLUME // max(size, 1) for size in sizes]
    windows = own.count("-window_size", _WINDOW)
    at_once = sum(windows if name in ("Uniband", "Biband") else 1 for name in names)
    at_once *= request.ranks_per_node if own.has("-multi") else 1
    each = [(size, max(min(repeats, count), 1)) for size, count in zip(sizes, most, strict=True)]
    counts = [(size, count * at_once) for size, count in each]
    if names and all(name.lower().lstrip("i").startswith("barrier") for name in names):
        sizes = ()
    low = max((request.size_min or 1).bit_length() - 1, 0)
    arguments = (
        *(request.program, "-npmin", str(ranks)),
        *("-msglog", f"{low}:{largest.bit_length() - 1}"),
        *(("-iter", str(request.iterations)) if request.iterations else ()),
    )
    basis = f"{repeats:,} of each size" if is_p2p else "40 MiB a size"
    forecast = plans.predict_sweep(counts, fabric, f"{len(names)} benchmarks: {basis}")
    # A size of a benchmark ends when its time is over.
    longest = float(own.value("-time", "10")) * len(names) * max(len(sizes), 1)
    forecast = replace(
        forecast,
        seconds=min(forecast.seconds, longest),
        bytes=max(min(forecast.bytes, longest * fabric.rate), float(at_once * sum(sizes))),
    )
    notes = ("a size whose time runs out is left out by IMB: raise -time",)
    return plans.all_ranks(request, arguments, forecast, sizes=sizes, notes=notes)


def _names(request: plans.BenchmarkRequest) -> list[str]:
    """Name the benchmarks that run: those that are named, or all, and included, less excluded."""
    own = request.options
    added, left_out = (own.value(name).split(",") for name in ("-include", "-exclude"))
    named = [*(own.words or _TESTS[request.program]), *filter(None, added)]
    return [name for name in dict.fromkeys(named) if name not in left_out]


_WINDOW = 64  # Messages on their way at once, of Uniband and Biband.
_COLLECTIVES = (
    *("bcast", "allgather", "allgatherv", "alltoall", "alltoallv", "scatter", "scatterv", "gather"),
    *("gatherv", "reduce", "reduce_scatter", "allreduce", "barrier"),
)
_NON_BLOCKING = tuple(f"I{name}" for name in _COLLECTIVES)
_TESTS = {
    "IMB-MPI1": (
        *("PingPong", "PingPongSpecificSource", "PingPongAnySource", "PingPing"),
        *("PingPingSpecificSource", "PingPingAnySource", "Sendrecv", "Exchange", "Uniband"),
        *("Biband", "Reduce_local", "Reduce_scatter_block"),
        *(name.capitalize() for name in _COLLECTIVES),
    ),
    "IMB-P2P": ("PingPong", "PingPing", "Unirandom", "Birandom", "Corandom"),
    "IMB-RMA": (
        *("Unidir_put", "Unidir_get", "Bidir_put", "Bidir_get", "One_put_all", "One_get_all"),
        *("All_put_all", "All_get_all", "Put_local", "Put_all_local", "Exchange_put"),
        *("Exchange_get", "Accumulate", "Get_accumulate", "Fetch_and_op", "Compare_and_swap"),
        *("Truly_passive_put", "Get_local", "Get_all_local"),
    ),
    "IMB-NBC": (*_NON_BLOCKING, *(f"{name}_pure" for name in _NON_BLOCKING)),
    "IMB-EXT": (*("Window", "Unidir_Put", "Unidir_Get", "Bidir_Put", "Bidir_Get", "Accumulate"),),
}
_EVERY = ",".join(dict.fromkeys(name for names in _TESTS.values() for name in names))
ADAPTER = adapter(
    "imb",
    plan=_plan,
    parse=_parse,
    options=options("imb", _TESTS, every=_EVERY),
    begins=_TITLE,
    table=_TABLE,
)
