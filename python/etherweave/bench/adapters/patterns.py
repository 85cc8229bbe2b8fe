"""Proxies of communication patterns: Ember and Chatterbug.

The MPI proxies of SST's Ember: Halo3D, Halo3D-26, Sweep3D and incast.

Halo and sweep print the bytes of one iteration over the time of all, so their rate is not stored;
incast's *MB/s* are 2^20 bytes.

Chatterbug's proxies, and the variants that print a line for each rank and iteration.

Those variants are read only if every iteration of every rank is there: order statistics of a part
would be wrong numbers.
"""

import re

from etherweave.bench.programs.adapter import adapter
from etherweave.bench.programs.plans import (
    BenchmarkPlan,
    BenchmarkPlanError,
    BenchmarkRequest,
    FabricEstimate,
    HostPattern,
    RunForecast,
    all_ranks,
    need_ranks,
)
from etherweave.bench.texts.draft import NUMBER, Draft, integer
from etherweave.measurements.benchmark_report import GarbledError, TextLine, check_agreement
from etherweave.measurements.metrics import BANDWIDTH_SUM, ELAPSED, ITERATION_TIME, MESSAGE_RATE

_TITLES = {
    "MPI Nearest Neighbor Communication": "halo3d",
    "Sweep3D Communication Pattern": "sweep3d",
    "Incast Communication Benchmark": "incast",
}
_ITEM = re.compile(r"# ([A-Z][\w ().]*?):\s+(\S.*?)\s*")
_ROW = re.compile(rf"\s+({NUMBER})\s+({NUMBER})\s+({NUMBER})\s*")
_HEADERS = {
    "halo3d": "# Time KBytesXchng/Rank-Max MB/S/Rank",
    "sweep3d": "# Time KBytesXchng/Rank-Max MB/S/Rank",
    "incast": "# Time Taken Msgs/s MB/s",
}
SLEEP_NS = 1000  # Ember's own default, before every exchange [ns].


def _parse_ember(draft: Draft) -> None:
    first, *rest = draft.block.lines
    draft.program = _TITLES[first.text.strip("# \t")]
    is_under_header = False
    rows: list[tuple[TextLine, re.Match[str]]] = []
    for line in rest:
        if item := _ITEM.fullmatch(line.text):
            if item[1] in draft.facts:
                raise GarbledError(line.number, f"{item[1]} occurs twice")
            draft.facts[item[1]] = item[2]
        elif " ".join(line.text.split()) == _HEADERS[draft.program]:
            is_under_header = True
        elif is_under_header and (row := _ROW.fullmatch(line.text)):
            rows.append((line, row))
        elif line.text.strip() and line.text.strip() not in ("# Info:", "# Statistics:"):
            draft.leftover.append(line)
    if len(rows) > 1:
        raise GarbledError(rows[1][0].number, "a second result: two runs are mixed")
    if rows:
        (_take_incast if draft.program == "incast" else _take_ember)(draft, *rows[0])
    draft.end(bool(rows), "the result")


def _iterations(draft: Draft, line: TextLine) -> int:
    if "Iterations" not in draft.facts:
        raise GarbledError(line.number, "the number of iterations is missing")
    return max(integer(draft.facts["Iterations"], line.number), 1)


def _take_ember(draft: Draft, line: TextLine, row: re.Match[str]) -> None:
    time, exchanged, rate = row.groups()
    own = float(exchanged) / max(float(time), 1e-9)
    check_agreement(line.number, "time, bytes and rate", float(rate), own, 0.001)
    each = float(time) / _iterations(draft, line)
    draft.add(ELAPSED, time, "s", line.number)
    draft.add(ITERATION_TIME, repr(each), "s", line.number)
    draft.warn("the printed rate is of one iteration's faces over the time of all: not stored")


def _take_incast(draft: Draft, line: TextLine, row: re.Match[str]) -> None:
    time, messages, rate = row.groups()
    if "Message Size" not in draft.facts:
        raise GarbledError(line.number, "the message size is missing")
    size = integer(draft.facts["Message Size"], line.number)
    own = float(messages) * size / 2**20
    check_agreement(line.number, "size, messages and rate", float(rate), own, 0.001)
    draft.add(ELAPSED, time, "s", line.number)
    draft.add(MESSAGE_RATE, messages, "1/s", line.number, size=size)
    draft.add(BANDWIDTH_SUM, rate, "MiB/s", line.number, size=size)


def cube(ranks: int) -> tuple[int, int, int]:
    """Part ranks into three dimensions, as equal as can be."""
    triples = (
        (x, y, ranks // x // y)
        for x in range(1, ranks + 1)
        for y in range(x, ranks // x + 1)
        if ranks % (x * y) == 0 and ranks // x // y >= y
    )
    return max(triples, key=lambda triple: triple[0])


def _plan_ember(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    ranks = need_ranks(request, 2, request.program)
    iterations = request.iterations or 100
    if request.program == "incast":
        size = request.size_max or 2**16
        total = float((ranks - 1) * size * iterations)
        forecast = RunForecast(total, total / fabric.rate, "all that one rank receives")
        arguments = ("-msgsize", str(size), "-iterations", str(iterations))
        return all_ranks(request, ("incast", *arguments), forecast)
    if request.program not in ("halo3d", "halo3d-26"):
        raise BenchmarkPlanError(
            f"{request.program} is read, not planned; known: halo3d, halo3d-26, incast"
        )
    x, y, z = sorted(cube(ranks), reverse=True)
    points, variables = 100, 8
    faces = 6 * 8 * points * points * variables
    edges = 12 * 8 * points * variables if request.program == "halo3d-26" else 0
    total = float((faces + edges) * iterations * request.ranks_per_node)
    seconds = total / fabric.rate + iterations * (18 * fabric.latency + SLEEP_NS * 1e-9)
    words = (
        *("-pex", str(x), "-pey", str(y), "-pez", str(z)),
        *("-nx", str(points), "-ny", str(points), "-nz", str(points)),
        *("-vars", str(variables), "-iterations", str(iterations), "-sleep", str(SLEEP_NS)),
    )
    forecast = RunForecast(total, seconds, "faces and edges of an inner rank")
    return all_ranks(request, (request.program, *words), forecast, pattern=HostPattern.ALL_NODES)


EMBER = adapter("ember", plan=_plan_ember, parse=_parse_ember)


_RESULT = re.compile(
    r"Time elapsed per iteration for grid size \((\d+),(\d+),(\d+)\) "
    r"(?:with message sizes \((\d{1,12},\d{1,12},\d{1,12})\) |x (\d+) x (\d+)): "
    rf"({NUMBER}) s\s*"
)
_RANK = re.compile(rf"Rank (\d+) = \[[\d,]+\] iteration (\d+):\s+({NUMBER})s\s*")
_FINISHED = re.compile(r"Finished (\d+) iterations\s*")
_SHARES = (("min", 0.0), ("p50", 0.5), ("p99", 0.99), ("max", 1.0))


def _parse_chatterbug(draft: Draft) -> None:
    draft.program = "chatterbug"
    ranks: dict[tuple[int, int], str] = {}
    finished: int | None = None
    patterns, known = (_RANK, _FINISHED, _RESULT), r"Running |Total time = "
    for line, row in draft.rows(draft.block.lines, *patterns, looks="Rank ", known=known):
        if row.re is _FINISHED:
            finished = int(row[1])
        elif row.re is _RESULT:
            _take_chatterbug(draft, line, row)
        elif (point := (int(row[1]), int(row[2]))) in ranks:
            raise GarbledError(line.number, f"rank {row[1]}, iteration {row[2]} occurs twice")
        else:
            ranks[point] = row[3]
    if finished is not None:
        draft.facts["iterations"] = str(finished)
    if ranks:
        _take_ranks(draft, ranks, finished)
    draft.end(bool(draft.measurements), "the result")


def _take_chatterbug(draft: Draft, line: TextLine, result: re.Match[str]) -> None:
    x, y, z, sizes, variables, width, time = result.groups()
    draft.program = "subcom3d-a2a" if sizes else "stencil3d"
    shape = [("grid", f"{x}x{y}x{z}")]
    shape += [("message_bytes", sizes)] if sizes else [("variables", f"{variables} of {width} B")]
    draft.add(ITERATION_TIME, time, "s", line.number, labels=shape)


def _take_ranks(draft: Draft, ranks: dict[tuple[int, int], str], finished: int | None) -> None:
    processes = len({rank for rank, _ in ranks})
    expected = processes * (finished or 0)
    last = draft.block.end
    if finished is None or len(ranks) != expected:
        raise GarbledError(last, f"{len(ranks)} times of {processes} ranks, {expected} expected")
    times = sorted(ranks.values(), key=float)
    for statistic, share in _SHARES:
        chosen = times[round(share * (len(times) - 1))]
        draft.add(ITERATION_TIME, chosen, "s", draft.block.start, statistic=statistic)
    mean = repr(sum(map(float, times)) / len(times))
    draft.add(ITERATION_TIME, mean, "s", draft.block.start)
    draft.facts["ranks"] = str(processes)


def _plan_chatterbug(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    ranks = need_ranks(request, 2, request.program)
    x, y, z = sorted(cube(ranks), reverse=True)
    size, iterations = request.size_max or 10_000, request.iterations or 1000
    peers = x + y + z - 3
    total = float(peers * size * iterations * request.ranks_per_node)
    seconds = total / fabric.rate + iterations * peers * fabric.latency
    words = (*map(str, (x, y, z, size, size, size, iterations)),)
    forecast = RunForecast(total, seconds, "blocking exchanges with the peers of three rows")
    return all_ranks(request, ("subcom3d-a2a", *words), forecast)


CHATTERBUG = adapter("chatterbug", plan=_plan_chatterbug, parse=_parse_chatterbug)
