"""A study as its sections see it: checks and results, by name."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import Any

from etherweave.report.section import MissingError
from etherweave.results import Result, Summary
from etherweave.study import Check, Plan
from etherweave.study.curved import POINTS, Curve
from etherweave.study.designed import OnPaper


@dataclass(frozen=True)
class Study:
    """Checks, and where the results are."""

    plan: Plan[Any]
    """What it is."""
    checks: Sequence[Check]
    """Ours against published."""
    directory: Path
    """Holds a directory for each experiment."""

    def result(self, experiment: str) -> Result:
        """Read the result of an experiment that is a run.

        Raises
        ------
        MissingError
            When there is none.
        """
        try:
            return Result.load(self.directory / experiment)
        except FileNotFoundError:
            raise MissingError(f"experiment {experiment}") from None

    @cached_property
    def kept(self) -> Mapping[str, Any]:
        """Results of the experiments of any kind, read when they are asked for.

        Raises
        ------
        MissingError
            When an experiment that is asked for has none.
        """
        return _Kept(self.plan, self.directory)

    def value(self, check: str) -> float:
        """Look up our figure of a check; not a number when it has none.

        Raises
        ------
        MissingError
            When there is no such check.
        """
        for candidate in self.checks:
            if candidate.id == check:
                return candidate.value if math.isfinite(candidate.value) else math.nan
        raise MissingError(f"check {check}")

    def matching(self, patterns: Sequence[str]) -> list[Check]:
        """List the checks with these ids; a ``*`` stands for anything."""
        found = [any(fnmatchcase(check.id, one) for one in patterns) for check in self.checks]
        return list(compress(self.checks, found))

    @cached_property
    def overview(self) -> Mapping[str, Result]:
        """The runs among the experiments, by name, without their tables."""
        names = sorted(path.parent.name for path in self.directory.glob("*/summary.json"))
        return {name: replace(self.result(name), tables={}) for name in names}

    @cached_property
    def designs(self) -> Mapping[str, OnPaper]:
        """The fabrics on paper among the experiments, by name."""
        names = sorted(path.parent.name for path in self.directory.glob("*/design.json"))
        return {name: OnPaper.load(self.directory / name) for name in names}

    @cached_property
    def curves(self) -> Mapping[str, Curve]:
        """The curves among the experiments, by name."""
        names = sorted(path.parent.name for path in self.directory.glob(f"*/{POINTS}"))
        return {name: Curve.load(self.directory / name) for name in names}

    @property
    def summaries(self) -> dict[str, Summary]:
        """Their summaries."""
        return {name: result.summary for name, result in self.overview.items()}


class _Kept(dict[str, Any]):
    def __init__(self, plan: Plan[Any], directory: Path) -> None:
        super().__init__()
        self._plan = plan
        self._directory = directory

    def __missing__(self, experiment: str) -> Any:
        try:
            self[experiment] = self._plan.load(self._directory / experiment)
        except FileNotFoundError:
            raise MissingError(f"experiment {experiment}") from None
        return self[experiment]
