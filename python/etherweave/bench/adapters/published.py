"""Logs that others publish, read as references and run by nobody here: MLPerf Training and PICO.

MLPerf Training: lines of mlperf-logging, *:::MLLOG* and a JSON object. The time to train is that
from *run_start* to *run_stop*; *tracked_stats* has seconds of a step, or samples a second. What a
run logs between is left aside.

PICO's summary of collectives: a row of CSV for each algorithm and size, in nanoseconds, of the
slowest rank in each iteration.
"""

import csv
import json
import re
from statistics import median
from typing import Any, NoReturn

from etherweave.bench.programs import plans
from etherweave.bench.programs.adapter import adapter
from etherweave.bench.texts.draft import Draft, integer
from etherweave.measurements.benchmark_report import GarbledError, TextLine
from etherweave.measurements.metrics import CALL_TIME, ELAPSED, ITERATION_TIME, SAMPLE_RATE

_MARK = ":::MLLOG "
_FACTS = (
    *("submission_org", "submission_platform", "global_batch_size", "gradient_accumulation_steps"),
    *("max_sequence_length", "seed"),
)
_STATISTICS = {"train_step_time": (ITERATION_TIME, "s"), "throughput": (SAMPLE_RATE, "1/s")}


def _plan(request: plans.BenchmarkRequest, fabric: plans.FabricEstimate) -> plans.BenchmarkPlan:
    raise plans.BenchmarkPlanError(f"{request.program}: its published logs are read, it is not run")


def _parse_mlperf(draft: Draft) -> None:
    clocks = dict[str, tuple[TextLine, float]]()
    series: dict[str, list[tuple[TextLine, float]]] = {name: [] for name in _STATISTICS}
    for line in draft.block.lines:
        if not line.text.startswith(_MARK):
            continue
        entry = _entry(line)
        key, value = entry["key"], entry.get("value")
        if key in ("run_start", "run_stop"):
            if key in clocks:
                raise GarbledError(line.number, f"{key} occurs twice: two logs are mixed")
            clocks[key] = line, _number(line, entry.get("time_ms"))
            status = (entry.get("metadata") or {}).get("status", "success")
            if status != "success":
                draft.fail(f"the run ended with status {str(status)[:40]!r}")
        elif key == "submission_benchmark":
            draft.program = str(value)
        elif key in _FACTS:
            draft.facts[key] = str(value)
        elif key == "tracked_stats" and isinstance(value, dict):
            for name in value.keys() & _STATISTICS.keys():
                series[name].append((line, _number(line, value[name])))
    draft.program = draft.program or "MLPerf Training"
    _take_mlperf(draft, clocks, series)


def _entry(line: TextLine) -> dict[str, Any]:
    try:
        entry = json.loads(line.text.removeprefix(_MARK), parse_constant=_reject)
    except (ValueError, RecursionError):
        raise GarbledError(line.number, "the JSON object of an MLLOG line is garbled") from None
    if not isinstance(entry, dict) or not isinstance(entry.get("key"), str):
        raise GarbledError(line.number, "an MLLOG line without a key")
    if not isinstance(entry.get("metadata", {}), dict | None):
        raise GarbledError(line.number, "metadata of an MLLOG line is no object")
    return entry


def _reject(constant: str) -> NoReturn:
    raise ValueError(constant)


def _number(line: TextLine, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise GarbledError(line.number, f"expected a number, found {str(value)[:40]!r}")
    return float(value)


def _take_mlperf(
    draft: Draft,
    clocks: dict[str, tuple[TextLine, float]],
    series: dict[str, list[tuple[TextLine, float]]],
) -> None:
    for name, entries in series.items():
        if entries:
            (metric, unit), (last, _) = _STATISTICS[name], entries[-1]
            numbers = [number for _, number in entries]
            draft.facts[f"entries of {name}"] = str(len(numbers))
            statistics = {"min": min(numbers), "p50": median(numbers), "max": max(numbers)}
            draft.add_each(metric, statistics, map(repr, statistics.values()), unit, last.number)
    if len(clocks) == 2:
        (_, start), (stop, end) = clocks["run_start"], clocks["run_stop"]
        draft.add(ELAPSED, repr((end - start) / 1e3), "s", stop.number)
    draft.end("run_stop" in clocks, "run_stop")


MLPERF = adapter("mlperf", plan=_plan, parse=_parse_mlperf, begins=_MARK, inside=_MARK)


_COLUMNS = ("collective_type", "buffer_size", "algo_name", "median")
_HEADER = r"(?:\w+,)*(?:collective_type|algo_name),"
_NAMES = {"mean": "mean", "median": "p50", "std": "stdev", "min": "min", "max": "max"}
_LABELS = {"algo_name": "algorithm", "datatype": "datatype", "nnodes": "nodes"}
_LABELS |= {"tasks_per_node": "ranks_per_node"}


def _parse_pico(draft: Draft) -> None:
    draft.program = "pico"
    header, *lines = draft.block.lines
    columns = next(csv.reader([header.text]))
    if len(set(columns)) < len(columns):
        raise GarbledError(header.number, "two columns have one name")
    if missing := [name for name in _COLUMNS if name not in columns]:
        expected = ", ".join(_COLUMNS)
        raise GarbledError(header.number, f"no column {missing[0]}; expected {expected}")
    rows = set[tuple[object, ...]]()
    for line in lines:
        cells = next(csv.reader([line.text]), [])
        if len(cells) != len(columns):
            if line.text.strip():
                draft.leftover.append(line)
            continue
        row = dict(zip(columns, cells, strict=True))
        labels = [("operation", row["collective_type"].lower())]
        labels += [(name, row[column]) for column, name in _LABELS.items() if row.get(column)]
        size = integer(row["buffer_size"], line.number)
        if (size, *labels) in rows:
            raise GarbledError(line.number, "a row occurs twice: two tables are mixed")
        rows.add((size, *labels))
        for column, cell in row.items():
            share = re.fullmatch(r"percentile_(\d{1,2}(?:\.\d{1,3})?)", column)
            statistic = f"p{share[1]}" if share else _NAMES.get(column)
            if statistic and cell:
                at = line.number
                draft.add(CALL_TIME, cell, "ns", at, size=size, statistic=statistic, labels=labels)
        draft.facts.update({name: row[name] for name in ("system", "mpi_lib") if row.get(name)})


PICO = adapter("pico", plan=_plan, parse=_parse_pico, begins=_HEADER)
