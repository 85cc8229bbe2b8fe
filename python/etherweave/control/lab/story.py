"""The paper's story in a lab that is up, as plain numbers.

Addresses by DMP without floods, few rules, ways as planned and as simulated, and traffic that goes
round a paused port and comes back. :func:`story` returns everything; each chapter stands alone.
"""

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from etherweave.control.lab import counters, state
from etherweave.control.lab.compare import Comparison, TellCount, compare
from etherweave.control.lab.diversion import FRAMES, Pausing, diversion, pausing
from etherweave.control.lab.layout import FACTORY, Layout
from etherweave.control.lab.lifecycle import Lab, down, up
from etherweave.control.lab.state import Realm
from etherweave.control.lab.traffic import Traffic, traffic
from etherweave.control.lab.walk import Probe, Walker
from etherweave.control.rules import Purpose
from etherweave.control.text import mac_text
from etherweave.fabrics import design
from etherweave.scenario import Overrides, Scenario

NOBODY = FACTORY + 0xFE
"""An address from a factory that no host of a lab has."""

Tell: TypeAlias = Callable[[str, Any], object]
"""Takes the name of a chapter and its figures, as soon as they are known."""


@dataclass(frozen=True)
class Addresses:
    """How hosts came by their addresses."""

    hosts: int
    addressed: int
    """Hosts with the address of the plan."""
    requests: int
    answers: int
    elsewhere: int
    """Frames of DMP at any port but that of the host that asked."""
    round_trip_ms_median: float
    layout: str


@dataclass(frozen=True)
class Unknown:
    """Frames to addresses that nobody has."""

    addresses: tuple[str, ...]
    sent: int
    entered: int
    """Seen where they came in."""
    elsewhere: int
    """Seen at any other port of any switch."""


@dataclass(frozen=True)
class Rules:
    """How many rules switches hold, against the model of figure 6."""

    installed: tuple[int, ...]
    """Of each switch: what the design counts, read back from the switch."""
    alternatives: tuple[int, ...]
    """Of those, the ones that stand in for others."""
    total: tuple[int, ...]
    """Of each switch, with admission, DMP, broadcasts."""
    design_min: int
    design_mean: float
    design_max: int
    """Of the minimal rules, as ``etherweave design`` counts them."""
    is_minimal: bool
    """Whether minimal rules are what was installed, and the model's counts must be met."""
    flat: int
    """What each switch would hold with a rule per host."""


@dataclass(frozen=True)
class Story:
    """All chapters."""

    fabric: str
    switches: int
    hosts: int
    plane: str
    addresses: Addresses
    unknown: Unknown
    rules: Rules
    ways: Comparison
    pausing: Pausing | None
    """None: no conditional rule of this fabric has another port."""
    traffic: Traffic | None
    """None: ping is not installed."""

    def as_json(self) -> dict[str, Any]:
        """Give it as plain values."""
        return asdict(self)


def story(lab: Lab, tell: Tell = lambda *_: None, count: TellCount = lambda *_: None) -> Story:
    """Tell the whole story of a lab that is up, and that nobody else uses meanwhile.

    Parameters
    ----------
    lab
        Under conditional rules, if it shall pause.
    tell
        Called with every chapter.
    count
        Called while the simulator works.
    """
    scenario = lab.directory / "scenario.toml"
    told: dict[str, Any] = {}

    def chapter(name: str, figures: Any) -> None:
        told[name] = figures
        tell(name, figures)

    chapter("addresses", addresses(lab))
    chapter("unknown", unknown(lab.layout))
    chapter("rules", rules(lab, scenario))
    is_whole = not lab.record.failed
    chapter("ways", compare(lab.layout, scenario if is_whole else None, tell=count))
    way_round = diversion(lab.layout)
    chapter("pausing", pausing(lab, way_round) if way_round else None)
    chapter("traffic", traffic(lab.layout))
    plan = lab.layout.plan
    return Story(plan.name, len(plan.switches), len(plan.hosts), lab.record.plane, **told)


def in_a_lab(
    scenario: Scenario,
    overrides: Overrides | None = None,
    plane: str = "ovs",
    where: Realm | None = None,
) -> dict[str, Any]:
    """Bring a lab up, tell its story as plain numbers, and remove the lab.

    Parameters
    ----------
    scenario, overrides, plane
        As for :func:`etherweave.control.lab.lifecycle.up`, which also says what is raised;
        :func:`~etherweave.control.lab.lifecycle.missing` tells beforehand whether it can be.
    where
        Among the labs of this machine, unless given.

    Returns
    -------
    dict
        :class:`Story` as dictionaries and lists, and in ``failures`` what is not as it should be.
    """
    realm, name = where or state.realm(), f"story-{os.getpid()}"
    lab = up(realm, name, scenario, overrides, plane=plane)
    try:
        told = story(lab)
    finally:
        down(realm, name)
    return {**told.as_json(), "failures": failures(told)}


def failures(told: Story) -> list[str]:
    """Say what is not as it should be."""
    hosts, unknown, ways = told.addresses, told.unknown, told.ways
    pausing, rules = told.pausing, told.rules
    claims = {
        "hosts without the address of the plan": hosts.addressed == hosts.hosts,
        "frames of DMP were seen elsewhere": hosts.elsewhere == 0,
        "frames to nobody were lost before their switch": unknown.entered == unknown.sent,
        "frames to nobody were seen elsewhere": unknown.elsewhere == 0,
        "rules are not as many as by the model": not rules.is_minimal or _as_modelled(rules),
        "ways differ": not ways.differences,
        "pings were lost": told.traffic is None or told.traffic.answered == told.traffic.pings,
    }
    if pausing:
        claims |= {
            "frames were lost around a pause": pausing.lost == 0,
            "ports under a pause are not those of the tables": all(
                phase.as_tables for phase in (pausing.before, pausing.paused, pausing.resumed)
            ),
            "a paused port has sent": pausing.paused.by_default == 0,
            "the alternative port has not sent": pausing.paused.by_alternative >= FRAMES,
        }
    return [wrong for wrong, holds in claims.items() if not holds]


def _as_modelled(rules: Rules) -> bool:
    counts = rules.installed
    found = (min(counts), sum(counts) / len(counts), max(counts))
    return found == (rules.design_min, rules.design_mean, rules.design_max)


def addresses(lab: Lab) -> Addresses:
    """Tell what was seen while hosts booted."""
    boot = lab.record.boot or {}
    planned = {host.name: mac_text(host.mac) for host in lab.layout.plan.hosts}
    trips = pl.Series([host["round_trip_ms"] for host in boot["hosts"]])
    return Addresses(
        len(planned),
        sum(host["mac"] == planned[host["host"]] for host in boot["hosts"]),
        boot["requests"],
        boot["answers"],
        boot["elsewhere"],
        float(trips.median() or 0.0),  # type: ignore[arg-type]
        lab.layout.plan.layout,
    )


def unknown(layout: Layout) -> Unknown:
    """Send from every host to addresses that nobody has: a factory's, and one like a host's."""
    targets = (NOBODY, max(host.mac for host in layout.plan.hosts) + 1)
    probes = [Probe(host, mac) for host in range(len(layout.plan.hosts)) for mac in targets]
    with Walker(layout) as walker:
        # The same quiet as while known addresses are answered, and five times longer.
        walks = list(walker.follow(probes, quiet_s=0.1, arrive=False))
    entered = sum(walk.entered for walk in walks)
    elsewhere = sum(len(walk.hops) + walk.strays for walk in walks)
    return Unknown(tuple(map(mac_text, targets)), len(probes), entered, elsewhere)


def rules(lab: Lab, scenario: Path) -> Rules:
    """Count rules in the switches and on paper."""
    tables = design(scenario, {"design.routings": []})["tables"]
    compacted = tables["compacted"]
    switches = lab.layout.plan.switches
    return Rules(
        tuple(counters.installed(lab)),
        tuple(
            sum(rule.purpose is Purpose.ALTERNATIVE for rule in switch.rules) for switch in switches
        ),
        tuple(len(switch.rules) for switch in switches),
        compacted["rules_min"],
        compacted["rules_mean"],
        compacted["largest"]["entries"],
        lab.layout.planned.spec.rules == "minimal",
        tables["exact"]["entries"],
    )
