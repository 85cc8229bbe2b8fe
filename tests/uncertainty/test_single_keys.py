"""A figure that is set to the value it has changes nothing else: samples set figures one by one."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from etherweave.api.simulation import figures, resolve
from etherweave.study import load_study
from etherweave.study.experiments import RunExperiment

REPOSITORY = Path(__file__).parents[2]
APART = ("link.", "product.", "topology.")
"""Figures that are no keys of a scenario, or parts of a table that stands for all of another."""


def _cases() -> list[tuple[str, Path, dict[str, Any]]]:
    return [*_scenarios(), *_experiments()]


def _scenarios() -> Iterator[tuple[str, Path, dict[str, Any]]]:
    for file in sorted((REPOSITORY / "scenarios").glob("*.toml")):
        yield file.stem, file, {}


def _experiments() -> Iterator[tuple[str, Path, dict[str, Any]]]:
    for home in sorted((REPOSITORY / "studies").iterdir()):
        study, files = load_study(home), set[Path]()
        for row in study.experiments(False):
            if isinstance(row, RunExperiment) and (file := row.file(home)) not in files:
                files.add(file)
                yield row.name, file, dict(row.overrides)


@pytest.mark.parametrize("case", _cases(), ids=lambda case: case[0])
def test_a_figure_that_is_stated_again_changes_nothing(
    case: tuple[str, Path, dict[str, Any]],
) -> None:
    _, file, keys = case
    base = tomllib.loads(resolve(file, keys))
    for figure in figures(file, keys):
        key = figure["key"]
        if not key.startswith(APART) and not key.endswith(".profile") and key not in keys:
            assert tomllib.loads(resolve(file, {**keys, key: figure["value"]})) == base, key
