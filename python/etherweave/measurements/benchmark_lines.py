"""Figures of the benchmarks among a run's jobs, in the units that each tool prints."""

import math
import re
from collections.abc import Mapping
from typing import Any

from etherweave.api.results import Result
from etherweave.api.units import amount
from etherweave.measurements.metrics import ITERATION_TIME
from etherweave.measurements.quantities import Quantity, quantities

_TOOL_UNITS = {"s": (1e6, "us"), "B/s": (1e-6, "MB/s"), "1/s": (1, "messages/s")}
"""Scale and name of a unit, as the OSU Micro-Benchmarks and IMB print it."""


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


def benchmark_lines(result: Result, times: Mapping[str, Mapping[str, float]]) -> dict[str, str]:
    """Write the figures of each job that are not the mean of its iterations or its call."""
    jobs = dict[str, dict[str, list[str]]]()
    for figure in benchmark_figures(result):
        own = times.get(figure.job, {})
        # Statistics stand beside each other, even where all requests are alike.
        is_statistic = re.search(r"\b(mean|p\d+)$", figure.test)
        # A number of as many iterations as a note says stands there even where it is one's time.
        printed = () if is_statistic or figure.note else (own.get("mean_us"), own.get("call_us"))
        if any(same and math.isclose(figure.median, same * 1e-6) for same in printed):
            continue
        tool = " ".join(filter(None, (figure.program, figure.test)))
        jobs.setdefault(figure.job, {}).setdefault(tool, []).append(_text(figure))
    return {
        job: "; ".join(f"{tool} {', '.join(texts)}" for tool, texts in tools.items())
        for job, tools in jobs.items()
    }


def _text(figure: Quantity) -> str:
    """Write a figure with its unit, and its name where the tool prints several."""
    unit = figure.metric.unit.value
    if figure.program.startswith(("osu_", "IMB-")):
        scale, name = _TOOL_UNITS[unit]
        return f"{figure.median * scale:.2f} {name}"
    name = figure.metric.name.replace("_", " ")
    note = f" ({figure.note})" if figure.note else ""
    return f"{name} {amount(figure.median, unit)}{note}"
