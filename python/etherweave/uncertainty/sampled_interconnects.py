"""Samples of what profiles of interconnects yield."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from etherweave.api.interconnects import BENCHMARKS, Interconnect
from etherweave.api.simulation import resolve
from etherweave.api.work import Work, WorkCallback, unheard
from etherweave.sweeps import Executor, WorkerError, executor
from etherweave.uncertainty import check_rows
from etherweave.uncertainty.declared import Declared
from etherweave.uncertainty.intervals import Distribution, distribution
from etherweave.uncertainty.model_errors import errors_at
from etherweave.uncertainty.sampling import SampledScenario, check_count, paired, sampled_scenario
from etherweave.uncertainty.together import together

FIGURES = (*BENCHMARKS, "congestion_impact")
"""Figures of :class:`etherweave.api.interconnects.Interconnect` that samples have."""


def sample_interconnects(
    names: Sequence[str],
    samples: int,
    home: Path,
    where: Executor = executor(),  # noqa: B008 - frozen, and starts nothing
    on_progress: WorkCallback = unheard,
    figures: Sequence[str] = FIGURES,
) -> dict[str, dict[str, Distribution]]:
    """Draw what is not known of profiles; gives the distribution of each figure of each profile.

    Samples are those of each profile, beside the profile as it stands. Profiles that have a figure
    from the same place have the same shares, so that they are compared in pairs. Intervals with the
    error of the model take no figure as fitted. ``home`` is a directory that the executor may use;
    figures do not depend on it. ``on_progress`` is called with the work whenever a sample has
    ended. Raises ``UncertaintyError`` when samples are too few or
    too many; ``WorkerError`` when a worker has died, or a figure has a mistake.
    """
    check_count(samples)
    scenarios = {
        name: sampled_scenario({"interconnect": {"profile": name}}, {}, samples, Declared())
        for name in names
    }
    drawn = paired(scenarios, samples)
    tasks, found = [], dict[str, dict[str, float]]()
    for name, scenario in drawn.items():
        for point in scenario.points():
            keys = {key: value for key, value in point.items() if key != "sample" and value != ""}
            tasks.append((f"{name}/{point['sample']}", [name, keys, list(figures)]))
    work = Work([name for name, _ in tasks], workers=where.workers)
    for done, answer in where.completed(f"{__name__}:measure", tasks, home):
        if isinstance(answer, WorkerError):
            raise answer
        found[done] = answer
        work.end(done)
        on_progress(work)
    sampled = {
        (name, figure): _sampled(figure, name, found, scenario)
        for name, scenario in drawn.items()
        for figure in figures
    }
    all_figures = _with_model(sampled)
    return {name: {figure: all_figures[name, figure] for figure in figures} for name in drawn}


class Sampled(NamedTuple):
    """A figure of a profile, with its values in samples."""

    values: Sequence[float]
    distribution: Distribution


def _sampled(
    figure: str, name: str, runs: Mapping[str, Mapping[str, float]], scenario: SampledScenario
) -> Sampled:
    values = [runs[f"{name}/{number}"][figure] for number in range(len(scenario.shares))]
    names = [entry.name for entry in scenario.drawn.entries]
    point = runs[f"{name}/-1"][figure]
    return Sampled(values, distribution(figure, point, values, scenario.shares, names))


def _with_model(figures: Mapping[tuple[str, str], Sampled]) -> dict[tuple[str, str], Distribution]:
    """Add intervals with the error of the model to figures, by profile and name."""
    medians = {key: own.distribution.median for key, own in figures.items()}
    conditions = {key: conditions_of_figure(*key, median) for key, median in medians.items()}
    errors = dict(zip(conditions, errors_at(conditions.values()), strict=True))
    together_of = {
        key: together(
            own.values,
            replace(errors[key].further, ratio_min=min(1.0, _busy(*key, medians[key]))),
            is_time=not is_rate(key[1]),
        )
        for key, own in figures.items()
    }
    return {
        key: replace(own.distribution, together=together_of[key]) for key, own in figures.items()
    }


def is_rate(figure: str) -> bool:
    """Whether more of a figure is faster."""
    return figure in BENCHMARKS and BENCHMARKS[figure].is_rate


def conditions_of_figure(name: str, figure: str, value: float) -> check_rows.Conditions:
    """Return the conditions of the error of the model in a figure of a profile."""
    benchmark = BENCHMARKS.get(figure)
    if benchmark is None:
        return check_rows.Conditions(check_rows.RATIO, fit=check_rows.FITS[1])
    (job,) = _scenario(name, figure)["job"]
    limit = check_rows.limit_of(_busy(name, figure, value), 1.0)
    return check_rows.conditions_of(job)._replace(limit=limit)


@cache
def _scenario(name: str, figure: str) -> dict[str, Any]:
    return tomllib.loads(resolve(BENCHMARKS[figure].scenario(name)))


def _busy(name: str, figure: str, value: float) -> float:
    """Return the part of the time of a benchmark for which the link of a host is busy."""
    benchmark = BENCHMARKS.get(figure)
    if benchmark is None:
        return 0.0
    scenario = _scenario(name, figure)
    return check_rows.link_us(scenario, scenario["job"][0]) / benchmark.mean_ns(value) * 1e3


def measure(task: tuple[str, dict[str, object], list[str]]) -> dict[str, float]:
    """Simulate the figures of a sample in a worker."""
    name, keys, figures = task
    interconnect = Interconnect(name, keys)
    return {figure: float(getattr(interconnect, figure)) for figure in figures}
