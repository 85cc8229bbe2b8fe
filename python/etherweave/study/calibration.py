"""Fits constants of hosts to one published figure each, one after another, and to nothing else.

Each constant is searched by bisection: its figure grows or falls with it. What a study's scenarios
have are such values, rounded; this prints them again beside the figures that they come from. A
constant that is fitted holds for the next ones of its scenario.
"""

from collections.abc import Iterator
from tomllib import loads

import etherweave
from etherweave.study.declared import FittedConstant
from etherweave.study.experiments import ScenarioExperiment
from etherweave.study.folder import Study

STEPS = 9  # Steps of each bisection at most: 1/512 of the range is left.


def calibrate(study: Study) -> Iterator[tuple[str, str, str, str, str, str]]:
    """Fit the constants that a study declares; yields rows of text."""
    fitted: dict[str, dict[str, object]] = {}
    for constant in study.declared.constant:
        of_scenario = fitted.setdefault(_experiment(study, constant).scenario, {})
        value, reached = _fit(study, constant, of_scenario)
        of_scenario[constant.key] = _written(constant, value)
        yield (
            constant.key,
            constant.check,
            f"{constant.target:g}",
            _shipped(study, constant),
            str(of_scenario[constant.key]),
            f"{reached:.3g}",
        )


def _fit(study: Study, constant: FittedConstant, fitted: dict[str, object]) -> tuple[int, float]:
    """Search the value of a constant; returns it with the figure that it gives."""
    ends = {end: _measure(study, constant, fitted, end) for end in (constant.low, constant.high)}
    low, high = ends
    is_falling = ends[low] > ends[high]
    for _ in range(STEPS):
        middle = (low + high) // 2
        if middle == low:
            break
        ends[middle] = _measure(study, constant, fitted, middle)
        if (ends[middle] > constant.target) == is_falling:
            low = middle
        else:
            high = middle
    return min(((at, ends[at]) for at in (low, high)), key=lambda at: abs(at[1] - constant.target))


def _written(constant: FittedConstant, value: int) -> object:
    return f"{value}{constant.unit}" if constant.unit else value


def _experiment(study: Study, constant: FittedConstant) -> ScenarioExperiment:
    for experiment in study.experiments(False):
        if experiment.name == constant.check and isinstance(experiment, ScenarioExperiment):
            return experiment
    raise ValueError(f"{study.home}: no run {constant.check}, to which {constant.key} is fitted")


def _measure(
    study: Study, constant: FittedConstant, fitted: dict[str, object], value: int
) -> float:
    experiment = _experiment(study, constant)
    options = {**experiment.overrides, **fitted, constant.key: _written(constant, value)}
    result = etherweave.run(experiment.file(study.home), options)
    return study.metrics[constant.check]({experiment.name: result})


def _shipped(study: Study, constant: FittedConstant) -> str:
    experiment = _experiment(study, constant)
    table = loads(etherweave.resolve(experiment.file(study.home), experiment.overrides))
    for part in constant.key.split("."):
        table = table[part]
    return str(table)
