"""Experiments that are fabrics on paper: built and judged, or known by formula."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from etherweave import _core, toml
from etherweave.machine import machine
from etherweave.study.plan import OfScenario


@dataclass(frozen=True)
class OnPaper:
    """What is known of a fabric that nothing runs on."""

    design: Mapping[str, Any]
    """Its figures as built, as ``etherweave design --json`` has them; empty when it was not."""
    formula: Mapping[str, Any]
    """Its figures by formula; empty when it is no balanced fabric."""
    resolved: str
    """Its scenario with every default filled in, as TOML; empty when it was not built."""
    facts: Mapping[str, Any]
    """The core's version, the machine, the time it took ``wall_s`` [s]."""

    def save(self, directory: Path) -> None:
        """Write it into a directory, replacing one that is there."""
        directory.mkdir(parents=True, exist_ok=True)
        for name in ("design", "formula", "facts"):
            text = json.dumps(getattr(self, name), indent=2) + "\n"
            (directory / f"{name}.json").write_text(text, encoding="utf-8")
        (directory / "scenario.toml").write_text(self.resolved, encoding="utf-8")

    @classmethod
    def load(cls, directory: Path) -> "OnPaper":
        """Read what :meth:`save` wrote.

        Raises
        ------
        FileNotFoundError
            When there is none.
        """
        design, formula, facts = (
            json.loads((directory / f"{name}.json").read_text(encoding="utf-8"))
            for name in ("design", "formula", "facts")
        )
        return cls(design, formula, (directory / "scenario.toml").read_text("utf-8"), facts)


@dataclass(frozen=True)
class Designed(OfScenario):
    """A scenario's fabric, built and judged; its result is an :class:`OnPaper`."""

    def carry_out(self, home: Path, directory: Path) -> None:
        """Build and judge the fabric."""
        file = self.file(home)
        design(file.read_text(encoding="utf-8"), str(file), self.overrides, {}).save(directory)


@dataclass(frozen=True)
class Largest:
    """The largest balanced fabric of a family and a radix, by formula and maybe as built."""

    name: str
    """What its result is called."""
    family: str
    """As the core names it: "clos_3", "butterfly_2d" to "butterfly_5d", "dragonfly"."""
    radix: int
    """Ports of every switch."""
    is_built: bool
    """Whether it is built and judged as well."""
    overrides: dict[str, object] = field(default_factory=dict)
    """Dotted keys and values for its scenario."""

    def inputs(self, home: Path) -> str:
        """Write down the family, the radix and what is done."""
        return repr(self)

    def missing(self) -> str:
        """Tell that nothing is."""
        return ""

    def carry_out(self, home: Path, directory: Path) -> None:
        """Ask for the formulas; build and judge the fabric when that is wanted."""
        formula = by_formula(self.radix)[self.family]
        scenario = formula.pop("scenario")
        if self.is_built:
            found = design(scenario, self.name, self.overrides, formula)
        else:
            found = OnPaper({}, formula, "", facts_of(0.0))
        found.save(directory)


def by_formula(radix: int) -> dict[str, dict[str, Any]]:
    """Figures of the largest balanced fabrics of switches of ``radix`` ports, by family."""
    return {found["name"]: found for found in json.loads(_core.largest(radix))}


def design(
    text: str, origin: str, overrides: Mapping[str, object], formula: Mapping[str, Any]
) -> OnPaper:
    """Build the fabric of a scenario and judge it."""
    start = time.perf_counter()
    literals = [(key, toml.literal(value)) for key, value in overrides.items()]
    fabric = _core.Fabric.parse(text, origin, literals)
    figures = fabric.design(None)
    assert figures is not None, "nobody stopped it"
    wall_s = time.perf_counter() - start
    return OnPaper(json.loads(figures.to_json()), formula, fabric.resolved, facts_of(wall_s))


def facts_of(wall_s: float) -> dict[str, Any]:
    """Write down what found it, where, and in which time."""
    return {"version": _core.version(), "wall_s": wall_s, "machine": machine()}
