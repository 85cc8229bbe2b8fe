"""What a study is: experiments that leave results, and what is measured in them."""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Protocol, TypeVar

HOME = Path(__file__).parents[3] / "studies"
"""Scenarios and published figures of every study, in a directory of its name."""

Kept = TypeVar("Kept")


class Experiment(Protocol):
    """A piece of a study's work, whose result is a directory."""

    @property
    def name(self) -> str:
        """What its result is called; words with dots between, the first one names a group."""

    def inputs(self, home: Path) -> str:
        """Write down everything but the core that decides the result.

        Parameters
        ----------
        home
            Directory of the study's scenarios.
        """

    def missing(self) -> str:
        """Tell what this machine lacks for it; empty when nothing."""

    def carry_out(self, home: Path, directory: Path) -> None:
        """Leave the result in a directory, replacing one that is there."""


@dataclass(frozen=True)
class OfScenario:
    """What experiments with a scenario file have in common."""

    name: str
    """What the result is called."""
    scenario: str
    """Stem of the scenario file."""
    overrides: dict[str, object] = field(default_factory=dict)
    """Dotted keys and values."""

    def file(self, home: Path) -> Path:
        """Find the scenario in the study's directory."""
        return home / f"{self.scenario}.toml"

    def inputs(self, home: Path) -> str:
        """Write down the scenario and its overrides."""
        return f"{self.file(home).read_text(encoding='utf-8')}\n{self.overrides}"

    def missing(self) -> str:
        """Tell that nothing is."""
        return ""


@dataclass(frozen=True)
class Plan(Generic[Kept]):
    """A study, before anything of it is carried out."""

    name: str
    """What users call it; its directory in :data:`HOME` has ``expected.csv``."""
    title: str
    """Of the report."""
    authors: str
    """Of the publication."""
    venue: str
    """Where and when it was published, and by whom."""
    found: str
    """What figures of ours are called beside published ones: simulated, designed."""
    experiments: Callable[[bool], Sequence[Experiment]]
    """Lists them, given whether all that was published is wanted."""
    load: Callable[[Path], Kept]
    """Reads the result of an experiment."""
    measures: Callable[[], Mapping[str, Callable[[Mapping[str, Kept]], float]]]
    """What each check measures in the results by experiment."""
    shortened: str = ""
    """What is less than was published, unless all is wanted; empty when nothing is."""
    shown: Sequence[str] = ()
    """Experiments whose resolved scenario stands in the report; all are beside their results."""

    @property
    def home(self) -> Path:
        """Its directory."""
        return HOME / self.name

    def expected(self, full: bool = True) -> list[dict[str, str]]:
        """Read what was published, a row for each check.

        Parameters
        ----------
        full
            Whether rows are wanted whose ``only`` is "full": they need experiments that are
            carried out only when all is.
        """
        rows = self._rows("expected.csv")
        return [row for row in rows if full or row.get("only") != "full"]

    def assumptions(self) -> list[dict[str, str]]:
        """Read what the publication leaves open: ``subject``, ``open``, ``reading``."""
        return self._rows("assumptions.csv") if (self.home / "assumptions.csv").exists() else []

    def _rows(self, file: str) -> list[dict[str, str]]:
        with (self.home / file).open(encoding="utf-8", newline="") as lines:
            return list(csv.DictReader(lines))
