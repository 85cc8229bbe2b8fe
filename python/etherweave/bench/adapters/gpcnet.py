"""GPCNeT: random rings on all nodes, with and without congestion.

Bandwidth is in 2^20 bytes per rank; its 99 % is the slow side. The congestion impact is computed
anew from both tables, as congested over isolated for times and the inverse for bandwidth.
"""

import re

from etherweave.bench.programs import plans
from etherweave.bench.programs.adapter import adapter
from etherweave.bench.texts.draft import Draft
from etherweave.measurements import metrics
from etherweave.measurements.benchmark_report import GarbledError, Measurement, TextLine

_NETWORK = {
    "RR Two-sided Lat": metrics.LATENCY,
    "RR Get Lat": metrics.CALL_TIME,
    "RR Two-sided BW": metrics.BANDWIDTH_RANK,
    "RR Put BW": metrics.BANDWIDTH_RANK,
    "RR Two-sided BW+Sync": metrics.BANDWIDTH_RANK,
    "Nat Two-sided BW": metrics.BANDWIDTH_RANK,
    "Multiple Allreduce": metrics.CALL_TIME,
    "Multiple Alltoall": metrics.BANDWIDTH_RANK,
}
_VICTIMS = ("RR Two-sided Lat", "RR Two-sided BW+Sync", "Multiple Allreduce")
_CONGESTORS = ("Alltoall", "Two-sided Incast", "Put Incast", "Get Bcast")
_TESTS: dict[str, metrics.Metric] = _NETWORK | dict.fromkeys(_CONGESTORS, metrics.BANDWIDTH_RANK)
_TABLES = {
    "Isolated Network Tests": "isolated",
    "Isolated Congestion Tests": "congestors alone",
    "Network Tests running with Congestion Tests": "congested",
    "Network Tests running with Congestion Tests - Key Results": "impact",
}
_STATISTICS = {"Min": "min", "Max": "max", "Avg": "mean", "Avg(Worst)": "mean_worst"}
_STATISTICS |= {"99%": "p99", "99.9%": "p99.9"}
_ROW = re.compile(r"(?P<test>[A-Z][\w+ -]*?) \((?P<size>\d+) B\)")
_TENTH = re.compile(r"[0-9]{1,18}\.[0-9]")
_FACTS = re.compile(r"\s+(?:Test with )?(\d+) (MPI ranks|nodes running \w+ Tests)")
_LEGEND = re.compile(r"\s+Legend|\s+(?:RR|Nat|Lat|BW|BW\+Sync) = ")


def _parse(draft: Draft) -> None:
    first, *rest = draft.block.lines
    begun = re.fullmatch(r"Network(Load)? Tests v([\d.]+)\s*", first.text)
    if not begun:
        raise GarbledError(first.number, f"unknown test {first.text.strip()[:60]!r}")
    is_load = bool(begun[1])
    draft.program = "network_load_test" if is_load else "network_test"
    draft.version = begun[2]
    table, header, bars = None, list[str](), list[int]()
    for line in rest:
        cells = _cells(line)
        if re.fullmatch(r"\s*\+[-+]+\+\s*", line.text):
            bars = _places(line, "+")
        elif cells and len(cells) > 1 and _places(line, "|") != bars:
            raise GarbledError(line.number, "the row does not fit the lines of its table")
        if cells is None:
            _take_other(draft, line)
        elif len(cells) == 1:
            table, header = _title(cells[0], line), []
        elif cells[0] == "Name":
            if table is None or header:
                raise GarbledError(line.number, "a table without a title")
            header = cells
        elif table == "impact":
            _check_impact(draft, cells, line)
        elif table is None or not header:
            raise GarbledError(line.number, "a row without a table")
        else:
            _take_row(draft, table, dict(zip(header, cells, strict=False)), len(cells), line)
    _close(draft, is_load)


def _cells(line: TextLine) -> list[str] | None:
    text = line.text.strip()
    is_row = text.startswith("|") and text.endswith("|") and len(text) > 1
    return [cell.strip() for cell in text[1:-1].split("|")] if is_row else None


def _places(line: TextLine, sign: str) -> list[int]:
    return [place for place, character in enumerate(line.text) if character == sign]


def _take_other(draft: Draft, line: TextLine) -> None:
    if fact := _FACTS.match(line.text):
        draft.facts[fact[2].lower()] = fact[1]
    elif re.search(r"\w", line.text) and not _LEGEND.match(line.text):
        draft.leftover.append(line)


def _title(text: str, line: TextLine) -> str:
    """Return the table's name; the verbose build has a table for each victim."""
    plain, _, victim = text.removesuffix(" Network Test)").partition(" (")
    name = _TABLES.get(plain)
    if name is None or (victim and victim.strip() not in _VICTIMS):
        raise GarbledError(line.number, f"unknown table {text[:60]!r}")
    return f"{name}: {victim.strip()}" if victim else name


def _take_row(draft: Draft, table: str, cells: dict[str, str], count: int, line: TextLine) -> None:
    row = _ROW.fullmatch(cells.get("Name", ""))
    metric = _TESTS.get(row["test"]) if row else None
    if row is None or metric is None or count != len(cells):
        raise GarbledError(line.number, f"a row that is not understood: {line.text.strip()[:60]!r}")
    unit = {"usec": "us", "MiB/s/rank": "MiB/s"}.get(cells.get("Units", ""))
    if unit is None or (unit == "us") == (metric is metrics.BANDWIDTH_RANK):
        raise GarbledError(line.number, f"{row['test']} in {cells.get('Units')!r}")
    labels = [("test", row["test"]), ("table", table)]
    if row["test"] not in _expected(table):
        raise GarbledError(line.number, f"{row['test']} is not valid in the table of {table} tests")
    if any(measurement.labels == tuple(labels) for measurement in draft.measurements):
        raise GarbledError(line.number, f"{row['test']} occurs twice in a table")
    for name, value in cells.items():
        if name in ("Name", "Units"):
            continue
        if name not in _STATISTICS or not _TENTH.fullmatch(value):
            raise GarbledError(line.number, f"{value[:40]!r} in column {name[:40]!r}")
        statistic, size = _STATISTICS[name], int(row["size"])
        draft.add(metric, value, unit, line.number, size=size, statistic=statistic, labels=labels)


def _expected(table: str) -> tuple[str, ...]:
    """Name the tests that a table may hold."""
    name, _, victim = table.partition(": ")
    if victim:
        return (victim, *_CONGESTORS)
    return {"congestors alone": _CONGESTORS, "congested": _VICTIMS}.get(name, tuple(_NETWORK))


def _of(draft: Draft, test: str, table: str, statistic: str) -> Measurement | None:
    for measurement in draft.measurements:
        labels = dict(measurement.labels)
        is_table = labels["table"].partition(":")[0] == table
        if labels["test"] == test and is_table and measurement.statistic == statistic:
            return measurement
    return None


def _impact(draft: Draft, test: str, statistic: str) -> float | None:
    isolated = _of(draft, test, "isolated", statistic)
    congested = _of(draft, test, "congested", statistic)
    if not (isolated and congested and isolated.value and congested.value):
        return None
    ratio = congested.value / isolated.value
    return 1 / ratio if isolated.metric is metrics.BANDWIDTH_RANK else ratio


def _check_impact(draft: Draft, cells: list[str], line: TextLine) -> None:
    row = _ROW.fullmatch(cells[0])
    if row is None or len(cells) != 3:
        return
    for statistic, printed in zip(("mean", "p99"), cells[1:], strict=True):
        own = _impact(draft, row["test"], statistic)
        if own is None or not re.fullmatch(r"[0-9]{1,9}\.[0-9]X", printed):
            continue
        if abs(own - float(printed[:-1])) > 0.051 + 0.01 * own:
            draft.warn(
                f"{row['test']}: GPCNeT prints an impact of {printed}, its tables say {own:.2f}"
            )
    draft.facts[f"impact of {row['test']}"] = f"{cells[1]} {cells[2]}"


def _close(draft: Draft, is_load: bool) -> None:
    expected = _VICTIMS if is_load else tuple(_NETWORK)
    tables = ("isolated", "congested") if is_load else ("isolated",)
    for test in expected:
        for table in tables:
            if not _of(draft, test, table, "mean"):
                draft.miss(f"{test} is missing in the table of the {table} tests")
    is_over = not is_load or f"impact of {_VICTIMS[-1]}" in draft.facts
    draft.end(is_over, "the table of key results")
    impacts = list(_impacts(draft)) if is_load else []
    for test, statistic, value, line in impacts:
        labels = [("test", test), ("table", "impact")]
        draft.add(
            metrics.CONGESTION_IMPACT, repr(value), "1", line, statistic=statistic, labels=labels
        )


def _impacts(draft: Draft) -> list[tuple[str, str, float, int]]:
    impacts = []
    for test in _VICTIMS:
        for statistic in ("mean", "p99"):
            value, row = _impact(draft, test, statistic), _of(draft, test, "congested", statistic)
            if value is not None and row is not None:
                impacts.append((test, statistic, value, row.line))
    return impacts


def _plan(request: plans.BenchmarkRequest, fabric: plans.FabricEstimate) -> plans.BenchmarkPlan:
    is_load = request.program == "network_load_test"
    least = 10 if is_load else 2
    if request.nodes < least:
        raise plans.BenchmarkPlanError(f"{request.program} needs at least {least} nodes")
    seconds = 420.0 if is_load else 240.0
    forecast = plans.RunForecast(
        seconds * fabric.rate, seconds, "each test stops after 10 s, later on slow networks"
    )
    notes = ("no options; official results use all nodes and three numbers of ranks per NIC",)
    words = (request.program,)
    return plans.all_ranks(request, words, forecast, pattern=plans.HostPattern.RING, notes=notes)


ADAPTER = adapter("gpcnet", plan=_plan, parse=_parse)
