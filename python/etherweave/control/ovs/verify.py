"""Builds a plan as bridges, follows frames through them, and compares with the design.

The design says by the core where packets may go; Open vSwitch says where they go. Neither knows the
other, so that a mistake in either, or in the rules between them, shows as a difference.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain, islice
from pathlib import Path
from typing import TypeAlias

import polars

from etherweave.control.ovs import bridges, load
from etherweave.control.ovs.cases import (
    Case,
    Ground,
    Kind,
    Place,
    ground,
    lossless,
    pairs,
    pauses,
    raised,
    services,
    unicasts,
)
from etherweave.control.ovs.daemons import Daemons, Datapath, running
from etherweave.control.ovs.judgement import Decision, Finding, Question, judge, questions
from etherweave.control.ovs.oracle import Journey, Oracle
from etherweave.control.ovs.trace import Hit
from etherweave.control.plan import Planned, counts
from etherweave.control.rules import Plan, Purpose, SwitchPlan
from etherweave.control.services import pause_rule

Tell: TypeAlias = Callable[[str, int, int], object]
"""Takes what is being done, how much of it is done, and how much there is."""

BATCH = 4096
"""Frames between two questions to the design, which answers many at once much faster."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be verified."""

    pairs: int | None = 1000
    """Pairs of hosts; none: all."""
    seed: int = 1
    """Of all that is by chance."""
    keep: Path | None = None
    """Directory for the files of Open vSwitch, which stay; none: one that goes."""


@dataclass(frozen=True, slots=True)
class Report:
    """What came of it."""

    asked: dict[Kind, int]
    """Frames that were followed, by what they were sent for."""
    findings: tuple[Finding, ...]
    """Of every frame that goes wrong the first thing."""
    differences: dict[str, list[str]]
    """Rules, groups and meters that bridges lack or have too much, by switch."""
    rules: dict[Purpose, int]
    """Of all switches."""
    rules_met: int
    """That decided about at least one frame."""
    build_s: float
    """For bridges and rules."""
    trace_s: float
    """For following frames and judging them."""

    @property
    def is_good(self) -> bool:
        """Tell whether nothing differs."""
        return not self.findings and not self.differences

    @property
    def traces_per_s(self) -> float:
        """Frames that were followed and judged per second."""
        return sum(self.asked.values()) / max(self.trace_s, 1e-9)


def verify(
    planned: Planned,
    wish: Wish,
    factory: Mapping[str, int] | None = None,
    tell: Tell = lambda *_: None,
) -> Report:
    """Verify a plan on bridges of an Open vSwitch that is started for it, and stopped.

    Raises
    ------
    OvsError
        If Open vSwitch is missing, or refuses what it is told.
    """
    with running(Datapath.DUMMY, wish.keep) as daemons:
        return examine(daemons, planned, wish, factory or {}, tell)


def examine(
    daemons: Daemons, planned: Planned, wish: Wish, factory: Mapping[str, int], tell: Tell
) -> Report:
    """Verify a plan on daemons that run, and have no bridges yet."""
    start_s = time.monotonic()
    wiring = bridges.wiring(planned.plan)
    differences = _build(daemons, planned, wiring, tell)
    built_s = time.monotonic()
    tally = Tally(ground(planned, factory, wish.seed))
    with Oracle(daemons.control, planned.plan, wiring) as oracle:
        _follow(oracle, tally, wish, partial(_pause, daemons, planned, wiring), tell)
    return Report(
        {kind: tally.asked[kind] for kind in Kind if tally.asked[kind]},
        tuple(tally.findings),
        differences,
        dict(sum((Counter(counts(switch)) for switch in planned.plan.switches), Counter())),
        len(tally.met),
        built_s - start_s,
        time.monotonic() - built_s,
    )


def _build(
    daemons: Daemons, planned: Planned, wiring: bridges.Wiring, tell: Tell
) -> dict[str, list[str]]:
    """Make bridges, fill them, and tell how they differ from the plan."""
    tell("bridges", 0, len(planned.plan.switches))
    bridges.build(daemons, without_failed(planned), wiring)
    told = load.at_all(
        planned.plan,
        wiring,
        partial(load.fill, daemons),
        lambda done, all_: tell("bridges with rules", done, all_),
    )
    names = (switch.name for switch in planned.plan.switches)
    return {name: lines for name, lines in zip(names, told, strict=True) if lines}


def _follow(
    oracle: Oracle,
    tally: "Tally",
    wish: Wish,
    pause: Callable[[frozenset[Place]], None],
    tell: Tell,
) -> None:
    """Follow all frames, first while nothing is paused."""
    known = tally.ground
    chosen, others, sets = pairs(known, wish.pairs), list(services(known)), list(pauses(known))
    both = (unicasts, lossless) if known.planned.spec.priorities else (unicasts,)
    count = len(chosen) * (len(both) + len(sets)) + len(others)
    for done in tally.count(oracle, chain(others, *(some(known, chosen) for some in both))):
        tell("frames", done, count)
    for paused in sets:
        pause(paused)
        for done in tally.count(oracle, unicasts(known, chosen, Kind.PAUSED), paused):
            tell("frames", done, count)


def without_failed(planned: Planned) -> Plan:
    """Leave out the ports of cables that are down, as if they were not plugged in."""
    table = polars.DataFrame(planned.deployment.tables["ports"])
    up = set(table.filter(polars.col("is_up") == 1).select("switch", "port").rows())
    switches = tuple(
        replace(switch, ports=tuple(port for port in switch.ports if (number, port.number) in up))
        for number, switch in enumerate(planned.plan.switches)
    )
    return replace(planned.plan, switches=switches)


class Tally:
    """Counts frames, and the rules that they meet, and keeps what is wrong.

    Parameters
    ----------
    ground
        Who is where.
    """

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.asked: Counter[Kind] = Counter()
        self.findings: list[Finding] = []
        self.met: set[tuple[int, Hit]] = set()

    def count(
        self, oracle: Oracle, cases: Iterable[Case], paused: frozenset[Place] = frozenset()
    ) -> Iterator[int]:
        """Follow and judge frames; yield now and then how many are done."""
        rest = iter(cases)
        while batch := list(islice(rest, BATCH)):
            journeys = list(oracle.follow(case.probe for case in batch))
            self._judge(list(zip(batch, journeys, strict=True)), paused)
            yield self.asked.total()

    def _judge(self, followed: list[tuple[Case, Journey]], paused: frozenset[Place]) -> None:
        asked = [questions(case, journey) for case, journey in followed]
        planned = self.ground.planned
        decisions = _decide(planned, list(chain.from_iterable(asked)), paused)
        for (case, journey), some in zip(followed, asked, strict=True):
            self.asked[case.kind] += 1
            self.met.update(_met(journey))
            must = raised(self.ground, case, journey)
            finding = judge(planned.plan, must, journey, list(islice(decisions, len(some))))
            if finding:
                self.findings.append(finding)


def _decide(
    planned: Planned, asked: list[Question], paused: frozenset[Place]
) -> Iterator[Decision]:
    """Ask the design where packets go; the routing has no say about ways round pauses."""
    table = polars.DataFrame(planned.deployment.decide(asked, sorted(paused)))
    for by_table, by_routing in table.rows():
        yield Decision(_numbers(by_table), None if paused else _numbers(by_routing))


def _pause(
    daemons: Daemons, planned: Planned, wiring: bridges.Wiring, paused: frozenset[Place]
) -> None:
    """Tell all bridges which ports are paused, as a pause agent does."""

    def tell_bridge(bridge: str, switch: SwitchPlan) -> None:
        number = switch.datapath_id - 1
        ports = frozenset(port for place, port in paused if place == number)
        if switch.pause_bits:
            load.change(daemons, bridge, pause_rule(switch.pause_bits, ports, None))

    load.at_all(planned.plan, wiring, tell_bridge)


def _met(journey: Journey) -> Iterator[tuple[int, Hit]]:
    hits = ((hop.switch, hit) for hop in journey.hops for hit in hop.visit.hits)
    return ((switch, hit) for switch, hit in hits if hit.priority is not None)


@cache
def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split()))
