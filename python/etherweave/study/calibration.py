"""Fits constants of hosts to one published figure each, one after another, and to nothing else.

Each constant is searched by bisection: its figure grows or falls with it. The shipped defaults of
the core are such values, rounded; this prints them again beside the figures that they come from.
"""

from collections.abc import Iterator
from tomllib import loads

import etherweave
from etherweave.study.declared import FittedConstant
from etherweave.study.experiments import ScenarioExperiment
from etherweave.study.folder import Study

STEPS = 9
"""Of each bisection: 1/512 of the range is left."""


def calibrate(study: Study) -> Iterator[tuple[str, str, str, str, str, str]]:
    """Fit the constants that a study declares; yields rows of text."""
    fitted: dict[str, object] = {}
    for constant in study.declared.constant:
        low, high = constant.low_ns, constant.high_ns
        is_falling = _measure(study, constant, fitted, low) > _measure(
            study, constant, fitted, high
        )
        for _ in range(STEPS):
            middle = (low + high) // 2
            if (_measure(study, constant, fitted, middle) > constant.target) == is_falling:
                low = middle
            else:
                high = middle
        fitted[constant.key] = f"{low}ns"
        reached = _measure(study, constant, fitted, low)
        yield (
            constant.key,
            constant.check,
            f"{constant.target:g}",
            _shipped(study, constant),
            f"{low}ns",
            f"{reached:.3f}",
        )


def _experiment(study: Study, constant: FittedConstant) -> ScenarioExperiment:
    for experiment in study.experiments(False):
        if experiment.name == constant.check and isinstance(experiment, ScenarioExperiment):
            return experiment
    raise ValueError(f"{study.home}: no run {constant.check}, to which {constant.key} is fitted")


def _measure(
    study: Study, constant: FittedConstant, fitted: dict[str, object], value: int
) -> float:
    experiment = _experiment(study, constant)
    options = {**experiment.overrides, **fitted, constant.key: f"{value}ns"}
    result = etherweave.run(experiment.file(study.home), options)
    return study.metrics[constant.check]({experiment.name: result})


def _shipped(study: Study, constant: FittedConstant) -> str:
    experiment = _experiment(study, constant)
    table = loads(etherweave.resolve(experiment.file(study.home), experiment.overrides))
    for part in constant.key.split("."):
        table = table[part]
    return str(table)
