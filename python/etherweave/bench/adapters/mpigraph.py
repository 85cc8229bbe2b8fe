"""mpiGraph: bandwidth between all pairs, as two matrices.

Its *MB* are 2^20 bytes; its average is a harmonic mean, as of rates it should be.
"""

import re
from statistics import harmonic_mean

from etherweave.bench.programs import plans
from etherweave.bench.programs.adapter import adapter
from etherweave.bench.texts.draft import Draft, integer
from etherweave.measurements.benchmark_report import GarbledError, TextLine, check_agreement
from etherweave.measurements.metrics import BANDWIDTH

_DIRECTIONS = {"Send": "to", "Recv": "from"}
_FIXED = re.compile(r"[0-9]{1,12}\.[0-9]{3}")


def _parse(draft: Draft) -> None:
    draft.program = "mpiGraph"
    lines = draft.block.lines
    draft.version = lines[0].text.split()[-1].removeprefix("v")
    size, is_over = None, False
    totals: dict[str, TextLine] = {}
    for place, line in enumerate(lines):
        cells = line.text.rstrip().split("\t")
        if cells[0] == "MsgSize" and len(cells) == 2:
            size = integer(cells[1], line.number)
        elif cells[0] in ("Times", "Window", "Procs") and len(cells) == 2:
            draft.facts[cells[0].lower()] = cells[1]
        elif total := re.fullmatch(r"(Send|Recv) (max|avg)\s+(\S+)", line.text.strip()):
            totals[f"{total[1]} {total[2]}"] = TextLine(line.number, total[3])
        elif cells[0] in _DIRECTIONS and len(cells) > 1:
            if size is None:
                raise GarbledError(line.number, "the message size is missing")
            _take(draft, cells, lines[place + 1 :], size, totals)
        is_over = is_over or line.text.startswith("END mpiGraph")
    draft.end(is_over, "the line `END mpiGraph`")


def _take(
    draft: Draft,
    header: list[str],
    rows: tuple[TextLine, ...],
    size: int,
    totals: dict[str, TextLine],
) -> None:
    direction, *hosts = header
    if len(rows) < len(hosts):
        draft.miss(f"the matrix {direction} is cut, and left out")
        return
    values: list[tuple[str, str, str, int]] = []
    for host, row in zip(hosts, rows, strict=False):
        label, *cells = row.text.rstrip().split("\t")
        if label != f"{host} {_DIRECTIONS[direction]}" or len(cells) != len(hosts):
            raise GarbledError(
                row.number, f"expected {len(hosts)} values {host} {_DIRECTIONS[direction]}"
            )
        for other, cell in zip(hosts, cells, strict=True):
            if not _FIXED.fullmatch(cell):
                raise GarbledError(row.number, f"{cell[:40]!r} is no bandwidth")
            if other != host:
                values.append((host, other, cell, row.number))
    if not values:
        raise GarbledError(rows[0].number, "one rank sends nothing")
    _check(direction, [float(cell) for _, _, cell, _ in values], totals, rows[0].number)
    for host, other, cell, line in values:
        ends = (host, other) if direction == "Send" else (other, host)
        labels = [("measured_by", direction.lower()), ("from", ends[0]), ("to", ends[1])]
        draft.add(BANDWIDTH, cell, "MiB/s", line, size=size, labels=labels)


def _check(direction: str, values: list[float], totals: dict[str, TextLine], line: int) -> None:
    own = {f"{direction} max": max(values), f"{direction} avg": harmonic_mean(values)}
    for name, value in own.items():
        if name not in totals:
            raise GarbledError(line, f"{name} is missing")
        printed = totals[name]
        if not re.fullmatch(r"[0-9]{1,12}\.[0-9]{6}", printed.text):
            raise GarbledError(printed.number, f"{printed.text[:40]!r} is no bandwidth")
        check_agreement(printed.number, name, float(printed.text), value, 1e-5)


def _plan(request: plans.BenchmarkRequest, fabric: plans.FabricEstimate) -> plans.BenchmarkPlan:
    ranks = plans.need_ranks(request, 2, "mpiGraph")
    size, times, window = request.size_max or 2**20, request.iterations or 10, 10
    messages = (ranks - 1) * times * window * request.ranks_per_node
    total = float(messages * size)
    seconds = total / fabric.rate + (ranks - 1) * times * 2 * fabric.latency
    forecast = plans.RunForecast(total, seconds, "each rank to every other, in windows")
    words = ("mpiGraph", str(size), str(times), str(window))
    return plans.all_ranks(
        request, words, forecast, pattern=plans.HostPattern.ALL_PAIRS, sizes=(size,)
    )


ADAPTER = adapter("mpigraph", plan=_plan, parse=_parse)
