"""Results of experiments on real switches: figures, by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from etherweave.study.experiments import ExperimentResult

FIGURES = "figures.json"  # A directory with this file is the result of an experiment on switches.


@dataclass(frozen=True)
class DeploymentResult(ExperimentResult):
    """Figures measured on programmed switches."""

    figures: Mapping[str, Any]  # Figures by name, units as suffixes.
    facts: Mapping[str, Any]  # The core's version, the machine, the time it took ``wall_s`` [s].
