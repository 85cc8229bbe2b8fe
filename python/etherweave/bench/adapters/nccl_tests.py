"""nccl-tests and rccl-tests: collectives of GPUs, from their first format to the present.

*GB/s* are 10^9 bytes; times are of an operation. The bus bandwidth is the algorithm's times a
factor that makes it comparable to a link's: nothing for one rank, which sends nothing.

A row is wrong by its count of wrong values; old versions print the greatest relative error, which
only the program can judge, as it knows the type. Columns that are not known are labels.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from etherweave.bench.programs import plans
from etherweave.bench.programs.adapter import adapter
from etherweave.bench.texts.draft import INTEGER, Draft, begins_with_digit, fields
from etherweave.measurements.benchmark_report import GarbledError, TextLine, check_agreement
from etherweave.measurements.metrics import BANDWIDTH_BUS, BANDWIDTH_CALL, CALL_TIME

_NUMBER = re.compile(r"[0-9]{1,24}(?:\.[0-9]{1,24})?(?:e[+-]?[0-9]{1,3})?")
_KINDS = {
    "size": INTEGER,
    "count": INTEGER,
    "type": re.compile(
        r"u?int(?:8|32|64)|float|half|double|bfloat16|f8e4m3|f8e5m2|fp8_e4m3|fp8_e5m2"
    ),
    "redop": re.compile(r"sum|prod|max|min|avg|mulsum|none|all"),
    "root": re.compile(r"-1|[0-9]{1,6}"),
    "time": _NUMBER,
    "cputime": _NUMBER,
    "algbw": _NUMBER,
    "busbw": _NUMBER,
    "#wrong": re.compile(r"[0-9]{1,12}|N/A|[0-9](?:\.[0-9]+)?e[+-][0-9]+"),
    "error": re.compile(r"N/A|-?nan|inf|[0-9]{1,12}|[0-9](?:\.[0-9]+)?e[+-][0-9]+"),
    "i_min": _NUMBER,
    "i_max": _NUMBER,
    "i_p99": _NUMBER,
}
_LABEL = re.compile(r"[^\s|]{1,40}")
_NO_LABELS = ("timestamp", "i_cv%")
_TIMES = {"time": "mean", "cputime": "mean", "i_min": "min", "i_max": "max", "i_p99": "p99"}
_STARTS = ("time", "cputime")
_TABLE = r"#?[ \t]*size[ \t]+count[ \t]+(?:\(?\w+\)?[ \t]+)*?type[ \t].*\balgbw[ \t]+busbw\b"
_AVERAGE = re.compile(r"# Avg bus bandwidth\s*: (\S+)\s*(OK|FAILED)?\s*")
_BOUNDS = re.compile(r"# Out of bounds values\s*: (\d+) (OK|FAILED)\s*")
_STARTED = re.compile(r"# Collective test starting: (\w+)_perf\s*")
_VERSION = re.compile(r"# nccl-tests version (\S+)|rccl-tests: Version (\S+)")
_NOT_ASKED = re.compile(r"#\s+nThread .* validation: 0\b")
_RANK = re.compile(r"#\s+Rank\s+(\d+)\s")
_NOTES = re.compile(r"#|NCCL version|RCCL version|\S+:\d+:\d+ \[\d+\] NCCL|\s*$")
_FACTOR_MIN = 0.45
"""Least factor of the bus bandwidth from two ranks on: (n - 1) / n, less what rounding takes."""
_FACTOR_MAX = 2.1
_RATE_MIN = 0.03  # Bandwidth from which on a bus bandwidth of 0.00 is that of one rank [GB/s].


@dataclass
class _Table:
    header: list[str] = field(default_factory=list)
    rows: list[TextLine] = field(default_factory=list)
    is_in_place: bool = False  # The line above the header names no other placement.


@dataclass(frozen=True)
class _Verification:
    """Verdict of the program on its results."""

    bounds: tuple[str, str] | None  # How many values are out of bounds, and its verdict.
    cells: tuple[str, ...]  # Counts of wrong values, or errors, of all rows.
    is_asked: bool  # No title says that validation is off.

    @property
    def is_made(self) -> bool:
        """Whether any row was verified: without verification the program says OK all the same."""
        return self.is_asked and any(cell != "N/A" for cell in self.cells)


def _parse(draft: Draft) -> None:
    draft.program = "nccl-tests"
    table, ranks = _Table(), set[str]()
    bounds: tuple[str, str] | None = None
    is_over = False
    is_titled = not re.match(_TABLE, draft.block.lines[0].text)
    _take_version(draft, draft.block.before)
    for line in draft.block.lines:
        if started := _STARTED.fullmatch(line.text):
            draft.program = f"{started[1]}_perf"
        elif re.match(_TABLE, line.text):
            _take_header(table, line)
        elif table.header and begins_with_digit(line.text):
            table.rows.append(line)
        elif verdict := _BOUNDS.fullmatch(line.text):
            bounds = (verdict[1], verdict[2])
        elif average := _AVERAGE.fullmatch(line.text):
            draft.facts["average bus bandwidth"] = f"{average[1]} GB/s"
            if average[2] == "FAILED":
                draft.fail("the average bus bandwidth is below the bound that was asked for")
            is_over = True
        elif rank := _RANK.match(line.text):
            ranks.add(rank[1])
        elif "in-place" in line.text and not table.header:
            table.is_in_place = "out-of-place" not in line.text
        elif not (_take_version(draft, [line]) or _NOTES.match(line.text)):
            draft.leftover.append(line)
    is_asked = not any(_NOT_ASKED.match(line.text) for line in draft.block.lines)
    _read(draft, table, bounds, is_asked=is_asked)
    if len(ranks) == 1 and _is_factor_one(draft):
        draft.warn("one rank is listed, which sends nothing: its times are those of no network")
    if is_titled or is_over:
        draft.end(is_over, "the line `# Avg bus bandwidth`")
    if not is_titled:
        draft.warn("the line with the title is missing: which collective it was is not known")


def _is_factor_one(draft: Draft) -> bool:
    """Whether bus and algorithm have one bandwidth, as a broadcast has with any number of ranks."""
    both = [
        [entry.value for entry in draft.measurements if entry.metric is metric]
        for metric in (BANDWIDTH_CALL, BANDWIDTH_BUS)
    ]
    return bool(draft.measurements) and both[0] == both[1]


def _take_version(draft: Draft, lines: Sequence[TextLine]) -> bool:
    matches = [match for line in lines if (match := _VERSION.match(line.text))]
    for match in matches:
        draft.version = match[1] or match[2]
    return bool(matches)


def _take_header(table: _Table, line: TextLine) -> None:
    if table.header:
        raise GarbledError(line.number, "a second header: two runs are mixed")
    names = line.text.strip().removeprefix("#").split()
    names = ["#wrong" if name == "wrong" else name for name in names]
    needed = ("size", "count", "type", "algbw", "busbw")
    missing = [name for name in needed if name not in names]
    count = sum(names.count(name) for name in _STARTS)
    if missing or count not in (1, 2) or names.count("busbw") != count:
        raise GarbledError(line.number, f"a header that is not understood: {line.text.strip()!r}")
    table.header = names


def _read(draft: Draft, table: _Table, bounds: tuple[str, str] | None, *, is_asked: bool) -> None:
    kinds = [_KINDS.get(name, _LABEL) for name in table.header]
    rows = [(row.number, fields(row, _kinds(kinds, table, row))) for row in table.rows]
    checks = [place for place, name in enumerate(table.header) if name in ("#wrong", "error")]
    counts = tuple(cells[place] for _, cells in rows for place in checks if place < len(cells))
    verification = _Verification(bounds, counts, is_asked)
    if verification.is_made and bounds:
        draft.check(bounds[1] == "OK", f"{bounds[0]} values are out of bounds: {bounds[1]}")
    is_alone = [_take(draft, table, line, cells, verification) for line, cells in rows]
    if any(is_alone):
        line = rows[is_alone.index(True)][0]
        reason = "one rank sends nothing: its bus bandwidth is 0, its times are those of no network"
        raise GarbledError(line, reason)


def _kinds(
    kinds: Sequence[re.Pattern[str]], table: _Table, row: TextLine
) -> Sequence[re.Pattern[str]]:
    """Return the kinds of a row's cells; a time stamp, which is the last column, has two."""
    return [*kinds, _LABEL] if table.header[-1] == "timestamp" else kinds


def _take(
    draft: Draft, table: _Table, line: int, cells: list[str], verification: _Verification
) -> bool:
    """Read a row; return whether it is of one rank."""
    header = table.header
    starts = [place for place, name in enumerate(header) if name in _STARTS]
    fixed = dict(zip(header[: starts[0]], cells, strict=False))
    size = int(fixed["size"])
    about = [(name, fixed[name]) for name in ("type", "redop", "root") if name in fixed]
    places = ("in_place",) if table.is_in_place else ("out_of_place", "in_place")
    extra = _extra(header, cells, range(len(header)))
    is_alone = False
    for where, start, after in zip(places, starts, [*starts[1:], len(header)], strict=False):
        names = header[start:after]
        own = dict(zip(names, cells[start:after], strict=False))
        labels = [("placement", where), *about, *extra, *_extra(header, cells, range(start, after))]
        if _is_wrong(own, verification):
            wrong = own.get("#wrong") or f"an error of {own.get('error')}"
            said = f"{wrong} wrong values" if "#wrong" in own else wrong
            draft.check(False, f"{size} B, {where}: {said}; left out")
            continue
        is_alone = is_alone or _check(own, line, size)
        for name, statistic in _TIMES.items():
            if name in own:
                time = own[name]
                draft.add(
                    CALL_TIME, time, "us", line, size=size, statistic=statistic, labels=labels
                )
        draft.add(BANDWIDTH_CALL, own["algbw"], "GB/s", line, size=size, labels=labels)
        if not is_alone:
            draft.add(BANDWIDTH_BUS, own["busbw"], "GB/s", line, size=size, labels=labels)
    return is_alone


def _extra(header: Sequence[str], cells: Sequence[str], places: range) -> list[tuple[str, str]]:
    """Give the columns that are not known, which say how a row was made: algorithm, protocol.

    Of all columns those that occur once, of the columns of a placement those that occur twice.
    """
    count = 1 if len(places) == len(header) else 2
    return [
        (header[place], cells[place])
        for place in places
        if header[place] not in _KINDS
        and header[place] not in _NO_LABELS
        and header.count(header[place]) == count
        and place < len(cells)
    ]


def _is_wrong(own: Mapping[str, str], verification: _Verification) -> bool:
    """Whether a row's values are wrong; a relative error counts if the program calls any so."""
    if (count := own.get("#wrong")) and count != "N/A":
        return float(count) > 1e-5
    if (error := own.get("error")) and error != "N/A":
        if not math.isfinite(float(error)):
            return True
        is_judged = verification.bounds is not None and verification.bounds[1] == "OK"
        return not is_judged and float(error) > _LIMIT
    return False


_LIMIT = 1e-2  # Relative error of 16 bits that the program allows, the largest of all types.


def _check(own: Mapping[str, str], line: int, size: int) -> bool:
    """Check a row; return whether it is of one rank."""
    time = float(own.get("time") or own["cputime"])
    algorithm, bus = float(own["algbw"]), float(own["busbw"])
    if algorithm > 0.1 and time:
        rounding = 0.005 + 0.006 / algorithm + 0.06 / time
        check_agreement(line, "size, time and rate", algorithm, size / time / 1e3, rounding)
    if bus == 0:
        return algorithm >= _RATE_MIN
    if algorithm > 0.1 and not _FACTOR_MIN < bus / algorithm < _FACTOR_MAX:
        raise GarbledError(line, "a bus bandwidth that no collective has")
    return False


def _plan(request: plans.BenchmarkRequest, fabric: plans.FabricEstimate) -> plans.BenchmarkPlan:
    ranks = plans.need_ranks(request, 2, request.program)
    smallest, largest = request.size_min or 8, request.size_max or 2**30
    count = request.iterations or 20
    own = request.options
    ranks *= own.count("-t", 1) * own.count("-g", 1)
    calls = count * own.count("-m", 1) * max(own.count("-G", 1), 1) + 5 + own.count("-c", 1)
    kinds = _count(own.value("-d"), 10) * _count(own.value("-o"), 5)
    both = 2 * calls * kinds
    steps = [(2 * size * (ranks - 1) // ranks, both) for size in plans.doubling(smallest, largest)]
    words = (
        *(request.program, "-b", str(smallest), "-e", str(largest), "-f", "2", "-g", "1"),
        *("-n", str(count), "-w", "5"),
    )
    forecast = plans.predict_sweep(
        steps, fabric, "2 (n-1)/n of the size, in place and out of place"
    )
    return plans.all_ranks(request, words, forecast, sizes=plans.doubling(smallest, largest))


def _count(value: str, every: int) -> int:
    """Count the types or operations that a value names."""
    return every if value == "all" else 1


ADAPTER = adapter("nccl_tests", plan=_plan, parse=_parse, table=_TABLE)
