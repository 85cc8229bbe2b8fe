"""Intervals of samples and the error of the model together, of times and rates of jobs.

Datasets have the conditions of that error in a column for each job, so that pages and figures know
it without the scenario.
"""

import math
import re
import statistics
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from etherweave.uncertainty.check_rows import Conditions, conditions_of, limit_of, link_us
from etherweave.uncertainty.coverage import QUANTILES
from etherweave.uncertainty.intervals import Interval, quantiles
from etherweave.uncertainty.model_errors import Further, errors_at

SEED = "seed"  # Column of datasets whose rows are repetitions.
SAMPLE = "sample"  # Column of datasets whose rows are samples: their number, -1 of none.
CONDITIONS = "conditions."
"""Beginning of columns with the conditions of the error of the model, by job."""
_BETWEEN = "; "  # Text between these conditions.
_OF_JOB = re.compile(r"^(?:jobs|streams|flows)\.(?P<job>.*)\.\w+_(?P<unit>us|gbps)$")
_OF_TOOL = re.compile(
    r"\.(?:latency|round_trip|call_time|elapsed|\w*bandwidth\w*)_(?P<unit>us|gbps)$"
)
"""Times and rates of a job, and those that its tool prints, in which the model has an error."""


def conditions_of_jobs(resolved: str) -> dict[str, Conditions]:
    """Return the conditions of the times of each job of a resolved scenario, without a limit.

    The simulated times decide whether a link limits a job.
    """
    return {job["name"]: conditions_of(job) for job in tomllib.loads(resolved)["job"]}


def columns(resolved: str) -> dict[str, str]:
    """Write the conditions of jobs of a resolved scenario as columns of a dataset.

    The time that the link of a host needs for an iteration stands in place of the limit.
    """
    scenario = tomllib.loads(resolved)
    needs = {job["name"]: link_us(scenario, job) for job in scenario["job"]}
    return {
        f"{CONDITIONS}{job}": _BETWEEN.join([*each[:-1], f"{needs[job]:.6g}"])
        for job, each in conditions_of_jobs(resolved).items()
    }


def conditions_in(rows: Sequence[Mapping[str, Any]]) -> dict[str, Conditions]:
    """Return the conditions of jobs by rows of a dataset of one scenario.

    A link limits a job that takes little more than the time of the link, as the median of rows.
    Raises ``ValueError`` for rows of another version, whose conditions are others.
    """
    return {
        job: Conditions(*own)._replace(limit=limit_of(float(own[-1]), _median_us(rows, job)))
        for job, own in _columns_in(rows).items()
    }


def _columns_in(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the texts of columns of conditions, by job."""
    names = [name for name in rows[0] if name.startswith(CONDITIONS) and rows[0][name]]
    jobs = {name.removeprefix(CONDITIONS): rows[0][name].split(_BETWEEN) for name in names}
    for job, own in jobs.items():
        if len(own) != len(Conditions._fields):
            raise ValueError(
                f"{CONDITIONS}{job}: {len(own)} conditions; expected {len(Conditions._fields)}, "
                "as this version samples them"
            )
    return jobs


def _median_us(rows: Sequence[Mapping[str, Any]], job: str) -> float:
    """Return the median over rows of the time of an iteration; infinite where none has it."""
    times = [own for row in rows if (own := row.get(f"jobs.{job}.median_us")) is not None]
    return statistics.median(times) if times else math.inf


def errors_in(rows: Sequence[Mapping[str, Any]]) -> dict[str, Further]:
    """Return the error of the model in each job, by rows of a dataset of one scenario.

    No link is faster than its rate.
    """
    return {
        job: replace(_further(conditions), ratio_min=_busy(rows, job))
        for job, conditions in conditions_in(rows).items()
    }


def _busy(rows: Sequence[Mapping[str, Any]], job: str) -> float:
    """Return the part of the median time of a job for which the link of a host is busy."""
    time_us = _median_us(rows, job)
    return min(1.0, float(_columns_in(rows)[job][-1]) / time_us) if time_us > 0 else 0.0


@cache
def _further(conditions: Conditions) -> Further:
    return errors_at([conditions])[0].further


def together_of(
    figure: str, values: Sequence[float], errors: Mapping[str, Further]
) -> Interval | None:
    """Return the interval of 90 % of a time or a rate of a job, with the error of the model."""
    job, unit = _job_and_unit(figure, errors)
    return together(values, errors[job], is_time=unit == "us") if job in errors else None


def _job_and_unit(figure: str, jobs: Iterable[str]) -> tuple[str, str]:
    """Return the job of a time or a rate, and its unit; empty texts of another figure."""
    if name := _OF_JOB.match(figure):
        return name["job"], name["unit"]
    if name := _OF_TOOL.search(figure):
        named = [job for job in jobs if figure.startswith(f"benchmarks.{job}.")]
        return max(named, key=len, default=""), name["unit"]
    return "", ""


def together(values: Sequence[float], error: Further, *, is_time: bool) -> Interval:
    """Return the interval of 90 % by samples of a figure and the error of the model together.

    Each sample is as likely as the others, and so is each of the quantiles of the error.
    """
    ends = quantiles(error.applied(values, QUANTILES, is_time=is_time))
    return Interval(ends[0], ends[-1])
