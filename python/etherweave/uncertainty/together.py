"""Intervals of samples and the error of the model together, of times and rates of jobs.

Datasets have the conditions of that error in a column for each job, so that pages and figures know
it without the scenario.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from etherweave.uncertainty.check_rows import Conditions, conditions_of
from etherweave.uncertainty.coverage import QUANTILES
from etherweave.uncertainty.intervals import Interval, quantiles
from etherweave.uncertainty.model_errors import Further, errors_at

CONDITIONS = "conditions."
"""Beginning of columns with the conditions of the error of the model, by job."""
_BETWEEN = "; "  # Text between these conditions.
_OF_JOB = re.compile(r"^(?:jobs|streams|flows)\.(?P<job>.*)\.\w+_(?P<unit>us|gbps)$")
"""Times and rates of a job, in which the model has an error."""


def conditions_of_jobs(
    resolved: str, text: str, changes: Mapping[str, object]
) -> dict[str, Conditions]:
    """Return the conditions of the times of each job of a resolved scenario.

    ``text`` and ``changes`` are what it is resolved from: it has the figures of its interconnect,
    and no name of it.
    """
    scenario = tomllib.loads(resolved)
    stated = tomllib.loads(text).get("interconnect", {}).get("profile", "")
    scenario["interconnect"] = {"profile": changes.get("interconnect.profile", stated)}
    return {job["name"]: conditions_of(scenario, job) for job in scenario["job"]}


def columns(conditions: Mapping[str, Conditions]) -> dict[str, str]:
    """Write conditions by job as columns of a dataset."""
    return {f"{CONDITIONS}{job}": _BETWEEN.join(each) for job, each in conditions.items()}


def errors_in(row: Mapping[str, Any]) -> dict[str, Further]:
    """Return the error of the model in each job, by the conditions in a row of a dataset."""
    names = [name for name in row if name.startswith(CONDITIONS) and row[name]]
    return {name.removeprefix(CONDITIONS): _further(row[name]) for name in names}


@cache
def _further(conditions: str) -> Further:
    return errors_at([Conditions(*conditions.split(_BETWEEN))])[0].further


def together_of(
    figure: str, values: Sequence[float], errors: Mapping[str, Further]
) -> Interval | None:
    """Return the interval of 90 % of a time or a rate of a job, with the error of the model."""
    name = _OF_JOB.match(figure)
    if name is None or name["job"] not in errors:
        return None
    return together(values, errors[name["job"]], is_time=name["unit"] == "us")


def together(values: Sequence[float], error: Further, *, is_time: bool) -> Interval:
    """Return the interval of 90 % by samples of a figure and the error of the model together.

    Each sample is as likely as the others, and so is each of the quantiles of the error.
    """
    ends = quantiles(error.applied(values, QUANTILES, is_time=is_time))
    return Interval(ends[0], ends[-1])
