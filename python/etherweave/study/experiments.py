"""Experiments of studies, and the results that they leave in a directory.

A scenario is run, designed on paper, or swept over loads; a balanced fabric is known by formula.
Experiments on real switches are in :mod:`etherweave.control.experiments`.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Protocol, Self, cast

import polars as pl

import etherweave
from etherweave import _core
from etherweave.api import toml
from etherweave.api.inputs import read_json, read_parquet, read_text
from etherweave.api.machine import machine
from etherweave.api.outputs import below, write_json, write_text, written

POINTS = "points.parquet"  # A directory with this file is the result of a :class:`CurveExperiment`.
DESIGN = "design.json"  # A directory with this file is the result of a :class:`DesignExperiment`.
RESOLVED = "scenario.toml"


class StudyExperiment(Protocol):
    """A piece of a study's work, whose result is a directory."""

    @property
    def name(self) -> str:
        """Name of the result: words with dots between, of which the first is a group."""

    def inputs(self, home: Path) -> str:
        """Write down everything but the core that decides the result of the study's folder."""

    def missing(self) -> str:
        """Name what the experiment needs and this machine lacks; empty if nothing."""

    def carry_out(self, home: Path, directory: Path) -> None:
        """Leave the result in a directory, replacing one that is there."""


@dataclass(frozen=True)
class ScenarioExperiment:
    """Base of experiments with a scenario file."""

    name: str  # Name of the result.
    scenario: str  # Path of the scenario from the study's folder, without ``.toml``.
    overrides: dict[str, object] = field(default_factory=dict)  # Dotted keys and values.

    def file(self, home: Path) -> Path:
        """Find the scenario, given the study's folder."""
        return home / f"{self.scenario}.toml"

    def inputs(self, home: Path) -> str:
        """Write down the scenario and its overrides."""
        return f"{self.file(home).read_text(encoding='utf-8')}\n{self.overrides}"

    def missing(self) -> str:
        """Return nothing: every machine can carry it out."""
        return ""


@dataclass(frozen=True)
class RunExperiment(ScenarioExperiment):
    """One run of a scenario; its result is an :class:`etherweave.Result`."""

    def inputs(self, home: Path) -> str:
        """Resolve the scenario."""
        return etherweave.resolve(self.file(home), self.overrides)

    def packet_hops(self, home: Path) -> int | None:
        """Estimate packets over links; None where nothing says how many, or some may be skipped."""
        if "[run.fast_forward]" in self.inputs(home):
            return None
        estimate = etherweave.foresee(self.file(home), self.overrides)
        return estimate["packet_hops"] if estimate else None

    def carry_out(self, home: Path, directory: Path) -> None:
        """Run the scenario.

        Raises `RuntimeError` where the run got stuck, and `ValueError` where it has a fault: its
        result is then in a directory beside that of the experiment.
        """
        try:
            result = etherweave.run(self.file(home), self.overrides)
        except etherweave.FaultError as fault:
            kept = fault.result.save(directory.with_name(f"{directory.name}-fault"))
            raise ValueError(f"{fault}; the result until then is in {kept}") from None
        if result.summary["finished"] == "stuck":
            raise RuntimeError(f"{self.name} is stuck:\n{result.summary.get('stuck_report')}")
        result.save(directory)


class ExperimentResult:
    """The result of an experiment: a dataclass, of which each field is a file of a directory."""

    def save(self, directory: Path) -> None:
        """Write it into a directory, replacing one that is there."""
        directory.mkdir(parents=True, exist_ok=True)
        for file, value in zip(self._files(), vars(self).values(), strict=True):
            if isinstance(value, pl.DataFrame):
                written(below(directory, file), value.write_parquet)
            elif isinstance(value, str):
                write_text(below(directory, file), value)
            else:
                write_json(below(directory, file), value)

    @classmethod
    def load(cls, directory: Path) -> Self:
        """Read what :meth:`save` wrote; raises `FileNotFoundError` where there is nothing."""
        return cls(*(_READERS[Path(file).suffix](directory / file) for file in cls._files()))

    @classmethod
    def _files(cls) -> list[str]:
        named = {"points": POINTS, "resolved": RESOLVED}
        names = (text.name for text in fields(cast(Any, cls)))
        return [named.get(name, f"{name}.json") for name in names]


def _points(path: Path) -> pl.DataFrame:
    return pl.DataFrame(read_parquet(path))


_READERS: dict[str, Callable[[Path], Any]] = {
    ".json": read_json,
    ".parquet": _points,
    ".toml": read_text,
}


@dataclass(frozen=True)
class CurveResult(ExperimentResult):
    """Latency and throughput of one fabric under synthetic traffic."""

    points: pl.DataFrame  # A row for each point, with the columns of :func:`etherweave.curve`.
    resolved: str  # The scenario with every default filled in, as TOML.
    facts: Mapping[str, Any]  # The core's version, the machine, the time it took ``wall_s`` [s].


@dataclass(frozen=True)
class CurveExperiment(ScenarioExperiment):
    """The points of a scenario's table ``open_loop``; its result is a :class:`CurveResult`."""

    def carry_out(self, home: Path, directory: Path) -> None:
        """Simulate the points, on one thread: experiments run side by side."""
        start = time.perf_counter()
        source = self.file(home)
        points = pl.DataFrame(etherweave.curve(source, self.overrides))
        facts = facts_of(time.perf_counter() - start)
        resolved = etherweave.fabric(source, self.overrides).resolved
        CurveResult(points, resolved, facts).save(directory)


@dataclass(frozen=True)
class DesignResult(ExperimentResult):
    """Facts about a fabric without any traffic."""

    design: Mapping[str, Any]
    """Its figures as built, as ``etherweave design --json`` has them; empty when it was not."""
    formula: Mapping[str, Any]  # Its figures by formula; empty when it is no balanced fabric.
    resolved: str
    """Its scenario with every default filled in, as TOML; empty when it was not built."""
    facts: Mapping[str, Any]  # The core's version, the machine, the time it took ``wall_s`` [s].


@dataclass(frozen=True)
class DesignExperiment(ScenarioExperiment):
    """A scenario's fabric, built and analysed; its result is a :class:`DesignResult`."""

    def carry_out(self, home: Path, directory: Path) -> None:
        """Build and analyse the fabric."""
        file = self.file(home)
        _design(file.read_text(encoding="utf-8"), str(file), self.overrides, {}).save(directory)


@dataclass(frozen=True)
class BalancedFabricExperiment:
    """The largest balanced fabric of a family and a radix; its result is a DesignResult."""

    name: str  # Name of the result.
    family: str  # Name in the core: "clos_3", "butterfly_2d" to "butterfly_5d", "dragonfly".
    radix: int  # Ports of every switch.
    is_built: bool  # Whether it is built and analysed, beside its formulas.
    overrides: dict[str, object] = field(default_factory=dict)
    """Dotted keys and values for its scenario."""

    def inputs(self, home: Path) -> str:
        """Write down the family, the radix and what is done."""
        return repr(self)

    def missing(self) -> str:
        """Return nothing: every machine can carry it out."""
        return ""

    def carry_out(self, home: Path, directory: Path) -> None:
        """Evaluate the formulas; build and analyse the fabric when that is wanted."""
        formula = by_formula(self.radix)[self.family]
        scenario = formula.pop("scenario")
        if self.is_built:
            result = _design(scenario, self.name, self.overrides, formula)
        else:
            result = DesignResult({}, formula, "", facts_of(0.0))
        result.save(directory)


def by_formula(radix: int) -> dict[str, dict[str, Any]]:
    """Figures of the largest balanced fabrics of switches of ``radix`` ports, by family."""
    return {fabric["name"]: fabric for fabric in json.loads(_core.largest(radix))}


def _design(
    text: str, origin: str, overrides: Mapping[str, object], formula: Mapping[str, Any]
) -> DesignResult:
    start = time.perf_counter()
    literals = [(key, toml.literal(value)) for key, value in overrides.items()]
    fabric = _core.Fabric.parse(text, origin, literals)
    figures = fabric.design(None)
    assert figures is not None, "nobody stopped it"
    wall_s = time.perf_counter() - start
    return DesignResult(json.loads(figures.to_json()), formula, fabric.resolved, facts_of(wall_s))


def facts_of(wall_s: float) -> dict[str, Any]:
    """Write down which version made a result, on which machine, and in which time."""
    return {"version": _core.version(), "wall_s": wall_s, "machine": machine()}
