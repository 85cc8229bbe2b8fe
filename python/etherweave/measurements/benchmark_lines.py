"""Figures of the benchmarks among a run's jobs, in the units that each tool prints."""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from etherweave.api.results import Result
from etherweave.api.units import Unit, amount
from etherweave.measurements.metrics import FIRST_TOKEN_TIME, ITERATION_TIME, ROUND_TRIP
from etherweave.measurements.quantities import Quantity, quantities

_SINGLE_FIGURE_TOOLS = ("osu_", "IMB-")  # Beginnings of tools that print a bare number.
_TOOL_UNITS = {"s": (1e6, "us"), "B/s": (1e-6, "MB/s"), "1/s": (1, "messages/s")}
"""Scale and name of a unit, as the OSU Micro-Benchmarks and IMB print it."""

_COLUMN_UNITS = {
    Unit.SECONDS: (1e6, "_us"),
    Unit.BYTES_PER_SECOND: (8e-9, "_gbps"),
    Unit.PER_SECOND: (1.0, "_per_s"),
    Unit.BYTES: (1.0, "_bytes"),
    Unit.COUNT: (1.0, ""),
}
"""Scale and end of the name of a column, by the unit of its metric."""
_MAIN_COLUMN = re.compile(
    r"^benchmarks\.(?!.*[._]p(50|95)\.).*\.(latency|round_trip|call_time|elapsed|\w*bandwidth\w*|"
    r"time_to_first_token|time_between_tokens|goodput|flop_rate|update_rate)_(us|gbps|per_s)$"
)
"""Columns of times and rates, without their parts, medians and 95th percentiles."""


def benchmark_figures(result: Result) -> list[Quantity]:
    """List what the tools print; none where the run was cut, or the overview has it already."""
    if result.is_partial:
        return []
    return [
        figure
        for figure in quantities(result)
        if figure.metric is not ITERATION_TIME and figure.test != "incast"
    ]


def benchmark_rows(result: Result) -> list[dict[str, Any]]:
    """Write the figures as objects, each in the unit of its metric."""
    return [
        {
            "job": figure.job,
            "program": figure.program,
            "test": figure.test,
            "metric": figure.metric.name,
            "unit": figure.metric.unit.value,
            "bytes": figure.size_bytes,
            "ranks": figure.ranks,
            "value": figure.median,
            "note": figure.note,
        }
        for figure in benchmark_figures(result)
    ]


def benchmark_columns(result: Result) -> dict[str, float]:
    """Name the figures as columns of a dataset: ``benchmarks.a.osu_latency.latency_us``."""
    columns = dict[str, float]()
    for figure in benchmark_figures(result):
        scale, end = _COLUMN_UNITS[figure.metric.unit]
        tool = (figure.program, figure.test.replace(" ", "_"), f"{figure.metric.name}{end}")
        name = ".".join(filter(None, ("benchmarks", figure.job, *tool)))
        columns[name] = figure.median * scale
    return columns


def main_columns(names: Iterable[str]) -> list[str]:
    """Return the names of columns that a reader of a benchmark wants first."""
    return [name for name in names if _MAIN_COLUMN.search(name)]


_STATISTIC = re.compile(r"(?P<service>.*?) ?\b(?P<statistic>mean|p\d+)")


def statistic(figure: Quantity) -> tuple[str, str] | None:
    """Return what a mean or a percentile is of, and its name; None for every other figure."""
    match = _STATISTIC.fullmatch(figure.test)
    if not match:
        return None
    if figure.metric is ROUND_TRIP:
        subject = f"calls of {match['service']}" if match["service"] else "requests"
    else:
        subject = figure.metric.name.replace("_", " ")
    return subject, match["statistic"]


class JobLines(NamedTuple):
    """Printed lines of a job."""

    tools: str  # Figures of its tools, on a line.
    statistics: list[str]  # A line for each time that has a mean and percentiles.
    has_iterations: bool  # Whether iterations are more than the rows that statistics are made of.


def benchmark_lines(
    result: Result, times: Mapping[str, Mapping[str, float]]
) -> dict[str, JobLines]:
    """Write the figures of each job that are not the mean of its iterations or its call."""
    jobs = dict[str, dict[str, list[str]]]()
    statistics = dict[str, dict[str, list[str]]]()
    for figure in benchmark_figures(result):
        if named := statistic(figure):
            own = statistics.setdefault(figure.job, {}).setdefault(named[0], [])
            own.append(f"{named[1]} {amount(figure.median, figure.metric.unit.value)}")
        elif not _is_printed(figure, times.get(figure.job, {})):
            tool = " ".join(filter(None, (figure.program, figure.test)))
            jobs.setdefault(figure.job, {}).setdefault(tool, []).append(_text(figure))
    return {
        job: JobLines(
            "; ".join(f"{tool} {', '.join(texts)}" for tool, texts in jobs.get(job, {}).items()),
            [
                f"{subject}: {', '.join(texts)}"
                for subject, texts in statistics.get(job, {}).items()
            ],
            FIRST_TOKEN_TIME.name.replace("_", " ") not in statistics.get(job, {}),
        )
        for job in {**jobs, **statistics}
    }


def _is_printed(figure: Quantity, times: Mapping[str, float]) -> bool:
    """Whether it is the mean of the iterations or of the call, which is printed beside it.

    A tool's number stands there by the tool's name, and that of as many iterations as a note says.
    """
    is_named = bool(figure.note) or figure.program.startswith(_SINGLE_FIGURE_TOOLS)
    printed = () if is_named else (times.get("mean_us"), times.get("call_us"))
    return any(same and math.isclose(figure.median, same * 1e-6) for same in printed)


def _text(figure: Quantity) -> str:
    """Write a figure with its unit, and its name where the tool prints several."""
    unit = figure.metric.unit.value
    if figure.program.startswith(_SINGLE_FIGURE_TOOLS):
        scale, name = _TOOL_UNITS[unit]
        return f"{figure.median * scale:.2f} {name}"
    name = figure.metric.name.replace("_", " ")
    note = f" ({figure.note})" if figure.note else ""
    return f"{name} {amount(figure.median, unit)}{note}"
