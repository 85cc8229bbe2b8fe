"""Experiments of studies on real switches of this machine: deployed rules, labs, reaction times."""

import hashlib
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import etherweave
from etherweave.study.deployments import DeploymentResult
from etherweave.study.experiments import ScenarioExperiment, facts_of

TRIALS = 15  # Pauses of each data plane; the median counts.


def _control_sources() -> str:
    """Hash the code that programs switches: another version may measure other figures."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.rglob("*")):
        if file.suffix in (".py", ".c"):
            digest.update(file.read_bytes())
    return digest.hexdigest()


class _Measured(ABC):
    """Base of experiments whose result is a :class:`DeploymentResult`."""

    @abstractmethod
    def figures(self, home: Path) -> dict[str, Any]:
        """Measure the figures of the result."""

    def carry_out(self, home: Path, directory: Path) -> None:
        """Measure, and keep the figures with the time that it took."""
        start = time.perf_counter()
        figures = self.figures(home)
        DeploymentResult(figures, facts_of(time.perf_counter() - start)).save(directory)


@dataclass(frozen=True)
class _SwitchExperiment(_Measured, ScenarioExperiment):
    """Base of experiments on switches."""

    def inputs(self, home: Path) -> str:
        """Write down the scenario, its overrides, and the code that programs switches."""
        return f"{super().inputs(home)}\n{self!r}\n{_control_sources()}"


@dataclass(frozen=True)
class _BridgeExperiment(_SwitchExperiment):
    """Base of experiments on bridges of Open vSwitch."""

    def missing(self) -> str:
        """Name the programs of Open vSwitch that are not installed."""
        from etherweave.control.ovs.daemons import missing

        absent = missing()
        return f"{', '.join(absent)} not installed" if absent else ""


@dataclass(frozen=True)
class RulesExperiment(_BridgeExperiment):
    """Frames of all pairs of hosts traced through Open vSwitch."""

    def figures(self, home: Path) -> dict[str, Any]:
        """Program the switches, read the rules back, and trace the frames."""
        from etherweave.control.ovs.verify import VerifyOptions, verify
        from etherweave.control.plan import CARRIED, counts, plan

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


@dataclass(frozen=True)
class LabExperiment(_SwitchExperiment):
    """The demonstration in a lab of namespaces."""

    plane: str = "ovs"  # Data plane: "ovs" for Open vSwitch, "ebpf" for the switch in the kernel.

    def missing(self) -> str:
        """Name the privilege or the program that this machine lacks."""
        from etherweave.control.lab.lifecycle import missing

        return missing(self.plane)

    def figures(self, home: Path) -> dict[str, Any]:
        """Bring the lab up, run its demonstration, and remove it."""
        from etherweave.control.lab.demonstration import demonstrate_in_lab

        return demonstrate_in_lab(self.file(home), self.overrides, self.plane)


@dataclass(frozen=True)
class AnnouncementExperiment(_SwitchExperiment):
    """Hosts that announce their addresses, under DMP and under rewriting switches.

    Hosts are namespaces.
    """

    def missing(self) -> str:
        """Name the privilege or the program that this machine lacks."""
        from etherweave.control.lab.lifecycle import missing

        return missing("ovs")

    def figures(self, home: Path) -> dict[str, Any]:
        """Bring up both labs, let hosts announce themselves, and remove the labs."""
        from etherweave.control.lab.announcement_trials import announce_in_labs

        trials = announce_in_labs(self.file(home), self.overrides)
        reached: dict[str, dict[str, dict[str, int]]] = {}
        for trial in trials:
            for row in trial.recordings:
                by_service = reached.setdefault(trial.addresses, {}).setdefault(row.source, {})
                by_service[row.service] = row.reached
        first = trials[0]
        pairs = first.hosts * (first.hosts - 1)
        return {"hosts": first.hosts, "machines": first.machines, "pairs": pairs, **reached}


@dataclass(frozen=True)
class LearningExperiment(_BridgeExperiment):
    """A fabric that a controller learns by LLDP, in Open vSwitch."""

    def figures(self, home: Path) -> dict[str, Any]:
        """Build the switches, learn how they are wired, and compare."""
        from etherweave.control.controller.learning_trial import learn_in_bridges
        from etherweave.control.plan import plan

        planned = plan(self.file(home), self.overrides).plan
        return {"differing": len(learn_in_bridges(planned))}


@dataclass(frozen=True)
class FloodingExperiment(_BridgeExperiment):
    """Switches that learn addresses, with tables of ``design.tables.capacity.exact_entries``."""

    frames: int = 1_000  # Number of frames between random hosts, where tables overflow.

    def figures(self, home: Path) -> dict[str, Any]:
        """Let the switches learn, and count the frames that reach other hosts."""
        from etherweave.control.ovs.flooding import flood
        from etherweave.control.plan import plan

        file = self.file(home)
        planned = plan(file, self.overrides).plan
        report = etherweave.design(file, self.overrides)["bridging"][0]
        trial = flood(planned, report["core"]["capacity"], self.frames)
        switches = [host.switch for host in planned.hosts]
        between = [
            frame.is_flooded
            for frame in trial.overflowing
            if switches[frame.sender] != switches[frame.receiver]
        ]
        return {
            "unreached": len(planned.hosts) - 1 - len(trial.unknown.reached),
            "known_flooded": sum(frame.is_flooded for frame in trial.known),
            "overflowing": len(between),
            "overflowing_flooded_share": mean(between),
            "designed_share": report["flooded_share"],
            "lost": trial.lost,
        }


@dataclass(frozen=True)
class ReactionExperiment(_Measured):
    """How fast pauses divert packets to other ports."""

    name: str
    plane: str  # Data plane: "ebpf" or "ovs".

    def inputs(self, home: Path) -> str:
        """Write down the data plane, the number of trials, and the code that programs switches."""
        return f"{self!r} {TRIALS}\n{_control_sources()}"

    def missing(self) -> str:
        """Name the privilege or the program that this machine lacks."""
        from etherweave.control.reaction import DataPlane, missing

        return missing(DataPlane(self.plane)) or ""

    def figures(self, home: Path) -> dict[str, Any]:
        """Pause, wait, resume, several times."""
        from etherweave.control.reaction import DataPlane, measure

        reaction = measure(DataPlane(self.plane), TRIALS)
        return {
            "pause_us": reaction.pause.median,
            "resume_us": reaction.resume.median,
            "expiry_us": reaction.expiry.median,
            "frames": reaction.sent,
            "frames_lost": reaction.lost,
            "missed": reaction.missed,
        }
