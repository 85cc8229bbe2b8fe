"""Experiments that are curves: latency and throughput of a fabric under synthetic traffic."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow

import etherweave
from etherweave.study.designed import facts_of
from etherweave.study.plan import OfScenario

POINTS = "points.parquet"
"""What makes a directory a curve's."""


@dataclass(frozen=True)
class Curve:
    """Points of one fabric."""

    points: pl.DataFrame
    """A row for each, with the columns of :func:`etherweave.curve`."""
    resolved: str
    """The scenario with every default filled in, as TOML."""
    facts: Mapping[str, Any]
    """The core's version, the machine, the time it took ``wall_s`` [s]."""

    def save(self, directory: Path) -> None:
        """Write it into a directory, replacing one that is there."""
        directory.mkdir(parents=True, exist_ok=True)
        self.points.write_parquet(directory / POINTS)
        facts = json.dumps(self.facts, indent=2) + "\n"
        (directory / "facts.json").write_text(facts, encoding="utf-8")
        (directory / "scenario.toml").write_text(self.resolved, encoding="utf-8")

    @classmethod
    def load(cls, directory: Path) -> "Curve":
        """Read what :meth:`save` wrote.

        Raises
        ------
        FileNotFoundError
            When there is none.
        """
        points = pl.read_parquet(directory / POINTS)
        facts = json.loads((directory / "facts.json").read_text(encoding="utf-8"))
        return cls(points, (directory / "scenario.toml").read_text("utf-8"), facts)


@dataclass(frozen=True)
class Curved(OfScenario):
    """The points that a scenario's table ``open_loop`` asks for; its result is a :class:`Curve`."""

    def carry_out(self, home: Path, directory: Path) -> None:
        """Simulate the points, on one thread: experiments run side by side."""
        start = time.perf_counter()
        fabric = etherweave.fabric(self.file(home), self.overrides)
        points = pl.DataFrame(pyarrow.table(fabric.curve(1, None)))
        facts = facts_of(time.perf_counter() - start)
        Curve(points, fabric.resolved, facts).save(directory)
