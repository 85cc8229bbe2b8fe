"""Builds a plan as bridges, follows frames through them, and compares with the design.

The core computes where packets may go; Open vSwitch shows where they go. They are independent, so
that a mistake in either, or in the rules between them, shows as a difference.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain, islice
from pathlib import Path
from typing import TypeAlias

from etherweave.control.forwarding import pause_rule
from etherweave.control.ovs import bridges, load
from etherweave.control.ovs.cases import (
    CaseContext,
    FrameCase,
    FrameKind,
    PortAddress,
    case_context,
    lossless,
    pairs,
    pauses,
    services,
    unicasts,
    with_raised_priority,
)
from etherweave.control.ovs.daemons import Daemons, Datapath, running
from etherweave.control.ovs.judgement import (
    AllowedPorts,
    DecisionQuery,
    FrameFinding,
    decision_queries,
    judge,
)
from etherweave.control.ovs.oracle import FramePath, Oracle
from etherweave.control.ovs.trace import Hit
from etherweave.control.plan import PlannedDeployment, counts
from etherweave.control.rules import FabricPlan, Purpose, SwitchPlan

VerifyProgress: TypeAlias = Callable[[str, int, int], object]
"""Called with what is being done, how much of it is done, and how much there is."""

BATCH = 4096  # Frames between two queries to the core, which processes many at once much faster.


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """Options of a verification."""

    pairs: int | None = 1000  # Number of pairs of hosts; None: all.
    seed: int = 1  # Seed of all random choices.
    keep: Path | None = None
    """Directory for the files of Open vSwitch, which stay; default: one that is removed."""


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """Results of a verification."""

    followed: dict[FrameKind, int]  # Number of frames that were followed, by kind.
    findings: tuple[FrameFinding, ...]  # The first difference of every frame that has one.
    differences: dict[str, list[str]]
    """Rules, groups and meters that bridges lack or have in excess, by switch."""
    rules: dict[Purpose, int]  # Number of rules of all switches, by purpose.
    rules_matched: int  # Number of rules that at least one frame matched.
    build_s: float  # Time for bridges and rules [s].
    trace_s: float  # Time for following frames and comparing them [s].

    @property
    def is_good(self) -> bool:
        """Return whether nothing differs."""
        return not self.findings and not self.differences

    @property
    def traces_per_s(self) -> float:
        """Frames that were followed and judged per second."""
        return sum(self.followed.values()) / max(self.trace_s, 1e-9)


def verify(
    planned: PlannedDeployment,
    options: VerifyOptions,
    factory: Mapping[str, int] | None = None,
    progress: VerifyProgress = lambda *_: None,
) -> VerifyReport:
    """Verify a plan on bridges of an Open vSwitch that runs only for it.

    Raises ``OvsError`` if Open vSwitch is missing, or rejects a command.
    """
    wiring = bridges.bridge_names(planned.plan)
    tally = FrameTally(case_context(planned, factory or {}, options.seed))
    with running(Datapath.DUMMY, options.keep) as daemons:
        start_s = time.monotonic()
        differences = _build(daemons, planned, wiring, progress)
        built_s = time.monotonic()
        with Oracle(daemons.control, planned.plan, wiring) as oracle:
            _follow(oracle, tally, options, partial(_pause, daemons, planned, wiring), progress)
        end_s = time.monotonic()
    return VerifyReport(
        {kind: tally.followed[kind] for kind in FrameKind if tally.followed[kind]},
        tuple(tally.findings),
        differences,
        dict(sum((Counter(counts(switch)) for switch in planned.plan.switches), Counter())),
        len(tally.matched),
        built_s - start_s,
        end_s - built_s,
    )


def _build(
    daemons: Daemons,
    planned: PlannedDeployment,
    wiring: bridges.BridgeNames,
    progress: VerifyProgress,
) -> dict[str, list[str]]:
    """Make bridges, install the plan, and return the differences."""
    progress("bridges", 0, len(planned.plan.switches))
    bridges.build(daemons, without_failed(planned), wiring)
    lines_by_switch = load.at_all(
        planned.plan,
        wiring,
        partial(load.fill, daemons),
        lambda done, all_: progress("bridges with rules", done, all_),
    )
    names = (switch.name for switch in planned.plan.switches)
    return {name: lines for name, lines in zip(names, lines_by_switch, strict=True) if lines}


def _follow(
    oracle: Oracle,
    tally: "FrameTally",
    options: VerifyOptions,
    pause: Callable[[frozenset[PortAddress]], None],
    progress: VerifyProgress,
) -> None:
    """Follow all frames, first while nothing is paused."""
    known = tally.context
    chosen, others, sets = pairs(known, options.pairs), list(services(known)), list(pauses(known))
    tagged = (lossless,) if known.planned.spec.priorities else ()
    count = len(chosen) * (1 + len(tagged)) * (1 + len(sets)) + len(others)

    def routed(kind: FrameKind) -> Iterator[FrameCase]:
        return chain(unicasts(known, chosen, kind), *(frames(known, chosen) for frames in tagged))

    for done in tally.count(oracle, chain(others, routed(FrameKind.UNICAST))):
        progress("frames", done, count)
    for paused in sets:
        pause(paused)
        for done in tally.count(oracle, routed(FrameKind.PAUSED), paused):
            progress("frames", done, count)


def without_failed(planned: PlannedDeployment) -> FabricPlan:
    """Leave out the ports of cables that are down."""
    import polars

    table = polars.DataFrame(planned.deployment.tables["ports"])
    up = set(table.filter(polars.col("is_up") == 1).select("switch", "port").rows())
    switches = tuple(
        replace(switch, ports=tuple(port for port in switch.ports if (number, port.number) in up))
        for number, switch in enumerate(planned.plan.switches)
    )
    return replace(planned.plan, switches=switches)


class FrameTally:
    """Counts frames and the rules that they match, and collects findings.

    ``context`` has hosts and their ports.
    """

    def __init__(self, context: CaseContext) -> None:
        self.context = context
        self.followed: Counter[FrameKind] = Counter()
        self.findings: list[FrameFinding] = []
        self.matched: set[tuple[int, Hit]] = set()

    def count(
        self,
        oracle: Oracle,
        cases: Iterable[FrameCase],
        paused: frozenset[PortAddress] = frozenset(),
    ) -> Iterator[int]:
        """Follow and compare frames; yield the number done after every batch."""
        rest = iter(cases)
        while batch := list(islice(rest, BATCH)):
            journeys = list(oracle.follow(case.probe for case in batch))
            self._judge(list(zip(batch, journeys, strict=True)), paused)
            yield self.followed.total()

    def _judge(
        self, followed: list[tuple[FrameCase, FramePath]], paused: frozenset[PortAddress]
    ) -> None:
        queries = [decision_queries(case, journey) for case, journey in followed]
        planned = self.context.planned
        decisions = _decide(planned, list(chain.from_iterable(queries)), paused)
        for (case, journey), query in zip(followed, queries, strict=True):
            self.followed[case.kind] += 1
            self.matched.update(_matched_rules(journey))
            allowed = list(islice(decisions, len(query)))
            written = [decision.written for decision in allowed]
            case_expected = with_raised_priority(self.context, case, journey, written)
            finding = judge(planned.plan, case_expected, journey, allowed)
            if finding:
                self.findings.append(finding)


def _decide(
    planned: PlannedDeployment, queries: list[DecisionQuery], paused: frozenset[PortAddress]
) -> Iterator[AllowedPorts]:
    """Return where the core sends packets; with paused ports, by the tables only."""
    import polars

    table = polars.DataFrame(planned.deployment.decide(queries, sorted(paused)))
    for by_table, by_routing, written in table.rows():
        yield AllowedPorts(_numbers(by_table), None if paused else _numbers(by_routing), written)


def _pause(
    daemons: Daemons,
    planned: PlannedDeployment,
    wiring: bridges.BridgeNames,
    paused: frozenset[PortAddress],
) -> None:
    """Write the pause vectors of all bridges, as an agent does."""

    def set_vector(bridge: str, switch: SwitchPlan) -> None:
        number = switch.datapath_id - 1
        ports = frozenset(port for place, port in paused if place == number)
        for rule in switch.rules:
            if switch.pause_bits and rule.purpose is Purpose.PAUSE_VECTOR:
                vector = pause_rule(switch.pause_bits, ports, rule.matched("vlan_pcp"))
                load.change(daemons, bridge, vector)

    load.at_all(planned.plan, wiring, set_vector)


def _matched_rules(journey: FramePath) -> Iterator[tuple[int, Hit]]:
    hits = ((hop.switch, hit) for hop in journey.hops for hit in hop.visit.hits)
    return ((switch, hit) for switch, hit in hits if hit.priority is not None)


@cache
def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split()))
