"""Chatterbug's proxies, and the variants that print a line for each rank and iteration.

Those variants are read only if every iteration of every rank is there: order statistics of a part
would be wrong numbers.
"""

import re

from etherweave.bench.adapter import Adapter
from etherweave.bench.adapters.ember import cube
from etherweave.bench.draft import NUMBER, Draft
from etherweave.bench.measurements import GarbledError, TextLine
from etherweave.bench.metrics import ITERATION_TIME
from etherweave.bench.plans import (
    BenchmarkPlan,
    BenchmarkRequest,
    FabricEstimate,
    RunForecast,
    all_ranks,
    need_ranks,
)

_RESULT = re.compile(
    r"Time elapsed per iteration for grid size \((\d+),(\d+),(\d+)\) "
    r"(?:with message sizes \((\d{1,12},\d{1,12},\d{1,12})\) |x (\d+) x (\d+)): "
    rf"({NUMBER}) s\s*"
)
_RANK = re.compile(rf"Rank (\d+) = \[[\d,]+\] iteration (\d+):\s+({NUMBER})s\s*")
_FINISHED = re.compile(r"Finished (\d+) iterations\s*")
_SHARES = (("min", 0.0), ("p50", 0.5), ("p99", 0.99), ("max", 1.0))


def _parse(draft: Draft) -> None:
    draft.program = "chatterbug"
    ranks: dict[tuple[int, int], str] = {}
    finished: int | None = None
    for line in draft.block.lines:
        if row := _RANK.fullmatch(line.text):
            point = int(row[1]), int(row[2])
            if point in ranks:
                raise GarbledError(line.number, f"rank {row[1]}, iteration {row[2]} stands twice")
            ranks[point] = row[3]
        elif done := _FINISHED.fullmatch(line.text):
            finished = int(done[1])
        elif result := _RESULT.fullmatch(line.text):
            _take(draft, line, result)
        elif line.text.startswith("Rank "):
            raise GarbledError(line.number, f"a row that is not understood: {line.text[:60]!r}")
        elif line.text.strip() and not re.match(r"Running |Total time = ", line.text):
            draft.leftover.append(line)
    if finished is not None:
        draft.facts["iterations"] = str(finished)
    if ranks:
        _take_ranks(draft, ranks, finished)
    draft.end(bool(draft.measurements), "the result")


def _take(draft: Draft, line: TextLine, result: re.Match[str]) -> None:
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


def _plan(request: BenchmarkRequest, fabric: FabricEstimate) -> BenchmarkPlan:
    ranks = need_ranks(request, 2, request.program)
    x, y, z = sorted(cube(ranks), reverse=True)
    size, iterations = request.size_max or 10_000, request.iterations or 1000
    peers = x + y + z - 3
    total = float(peers * size * iterations * request.ranks_per_node)
    seconds = total / fabric.rate + iterations * peers * fabric.latency
    words = (*map(str, (x, y, z, size, size, size, iterations)),)
    forecast = RunForecast(total, seconds, "blocking exchanges with the peers of three rows")
    return all_ranks(request, ("subcom3d-a2a", *words), forecast)


ADAPTER = Adapter(
    name="chatterbug",
    programs=("subcom3d-a2a", "stencil3d"),
    metrics=(ITERATION_TIME,),
    checks=("every iteration of every rank is there, and no one twice",),
    begins=(
        r"Running stencil\dd on|Finished \d+ iterations|Time elapsed per iteration for grid|"
        r"Rank \d+ = \[[\d,]+\] iteration \d+:"
    ),
    inside=r"Finished \d+ iterations|Time elapsed per iteration|Rank \d+ = ",
    plan=_plan,
    parse=_parse,
)
