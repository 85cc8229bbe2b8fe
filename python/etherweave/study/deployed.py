"""Experiments on real switches of this machine: plans followed, laboratories, reaction times."""

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from etherweave import control
from etherweave.study.designed import facts_of
from etherweave.study.plan import OfScenario

FIGURES = "figures.json"
"""What makes a directory a deployment's."""
TRIALS = 15
"""Pauses of each plane; the median of so many counts."""


@dataclass(frozen=True)
class Told:
    """What was found on switches that were told a plan."""

    figures: Mapping[str, Any]
    """By name, units as suffixes."""
    facts: Mapping[str, Any]
    """The core's version, the machine, the time it took ``wall_s`` [s]."""

    def save(self, directory: Path) -> None:
        """Write it into a directory, replacing one that is there."""
        directory.mkdir(parents=True, exist_ok=True)
        for name, values in ((FIGURES, self.figures), ("facts.json", self.facts)):
            (directory / name).write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, directory: Path) -> "Told":
        """Read what :meth:`save` wrote.

        Raises
        ------
        FileNotFoundError
            When there is none.
        """
        figures, facts = (
            json.loads((directory / name).read_text(encoding="utf-8"))
            for name in (FIGURES, "facts.json")
        )
        return cls(figures, facts)


def _room() -> str:
    """Write down the room that tells switches: another version may find something else."""
    found = hashlib.sha256()
    for file in sorted(Path(control.__file__).parent.rglob("*")):
        if file.suffix in (".py", ".c"):
            found.update(file.read_bytes())
    return found.hexdigest()


@dataclass(frozen=True)
class _OnSwitches(OfScenario):
    """What experiments on switches have in common."""

    def inputs(self, home: Path) -> str:
        """Write down the scenario, its overrides, and the room that tells switches."""
        return f"{super().inputs(home)}\n{self!r}\n{_room()}"


@dataclass(frozen=True)
class Followed(_OnSwitches):
    """Frames of all pairs of hosts followed through Open vSwitch; its result is a :class:`Told`."""

    def missing(self) -> str:
        """Tell whether Open vSwitch is."""
        from etherweave.control.ovs.daemons import missing

        absent = missing()
        return f"{', '.join(absent)} not installed" if absent else ""

    def carry_out(self, home: Path, directory: Path) -> None:
        """Tell the switches the plan, read it back, and follow the frames."""
        from etherweave.control.ovs.verify import VerifyOptions, verify
        from etherweave.control.plan import CARRIED, counts, plan

        def found() -> dict[str, Any]:
            planned = plan(self.file(home), self.overrides)
            report = verify(planned, VerifyOptions(pairs=None))
            rules = [counts(switch) for switch in planned.plan.switches]
            carried = [sum(by.get(purpose, 0) for purpose in CARRIED) for by in rules]
            return {
                "frames": sum(report.followed.values()),
                "frames_wrong": len(report.findings),
                "switches_differing": len(report.differences),
                "rules_min": min(carried),
                "rules_mean": mean(carried),
                "rules_max": max(carried),
            }

        _timed(found).save(directory)


@dataclass(frozen=True)
class InALab(_OnSwitches):
    """The story of a laboratory of namespaces; its result is a :class:`Told`."""

    plane: str = "ovs"
    """What switches: Open vSwitch, or the switch in the kernel."""

    def missing(self) -> str:
        """Tell which privilege or program is."""
        from etherweave.control.lab.lifecycle import missing

        return missing(self.plane)

    def carry_out(self, home: Path, directory: Path) -> None:
        """Bring the lab up, tell its story, and remove it."""
        from etherweave.control.lab.demonstration import demonstrate_in_lab

        file = self.file(home)
        _timed(lambda: demonstrate_in_lab(file, self.overrides, self.plane)).save(directory)


@dataclass(frozen=True)
class Reacted:
    """How fast pauses turn packets to other ports; its result is a :class:`Told`."""

    name: str
    plane: str
    """What obeys: "ebpf" or "ovs"."""

    def inputs(self, home: Path) -> str:
        """Write down the plane, the number of trials, and the room that tells switches."""
        return f"{self!r} {TRIALS}\n{_room()}"

    def missing(self) -> str:
        """Tell which privilege or program is."""
        from etherweave.control.reaction import DataPlane, missing

        return missing(DataPlane(self.plane)) or ""

    def carry_out(self, home: Path, directory: Path) -> None:
        """Pause, wait, resume, several times."""
        from etherweave.control.reaction import DataPlane, measure

        def found() -> dict[str, Any]:
            reaction = measure(DataPlane(self.plane), TRIALS)
            return {
                "pause_us": reaction.pause.median,
                "resume_us": reaction.resume.median,
                "expiry_us": reaction.expiry.median,
                "frames": reaction.sent,
                "frames_lost": reaction.lost,
                "missed": reaction.missed,
            }

        _timed(found).save(directory)


def _timed(find: Callable[[], dict[str, Any]]) -> Told:
    start = time.perf_counter()
    figures = find()
    return Told(figures, facts_of(time.perf_counter() - start))
