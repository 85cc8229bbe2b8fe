"""Holds the ways of frames in a lab against the flow tables, and against the simulator.

For every two hosts a probe is sent and seen at each port. Compared is, at every switch, the port
that it left by with the ports that the tables allow there, for a packet of these two hosts that
came in by the same port; and the set of links that it used between switches with the set of links
that carry packets when the same two hosts alone talk in the simulator, on the same scenario.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import permutations
from typing import Any, NamedTuple, TypeAlias

import polars as pl

from etherweave._core import ScenarioError
from etherweave.control.lab.layout import End, Layout
from etherweave.control.lab.walk import Hop, Probe, Walk, Walker
from etherweave.control.plan import Planned
from etherweave.observations import observe
from etherweave.scenario import Scenario

LOAD = 0.1
"""Of the one host that sends, in the simulator: packets never wait for each other."""
_TOLD = 10
"""Differences that are told in words."""

TellCount: TypeAlias = Callable[[int, int], object]
"""Takes how many pairs are done, and of how many."""


class Pair(NamedTuple):
    """Indices of two hosts in the plan."""

    source: int
    destination: int


@dataclass(frozen=True)
class Comparison:
    """How many ways are the same."""

    pairs: int
    """Ordered pairs of hosts."""
    hops: int
    """Switches on all ways together."""
    arrived: int
    """Probes that came out at the right host, once, and were seen nowhere else."""
    as_tables: int
    """Pairs whose probe left every switch by a port that the flow table says."""
    choices: int
    """Pairs for which some switch has several ports to choose from, by a hash of its own."""
    as_simulated: int | None
    """Pairs whose probe used the same links as the simulator; none: not compared."""
    not_simulated: str | None
    """Why not; none: compared, or not asked for."""
    differences: tuple[str, ...]
    """The first that are not the same, in words."""

    def as_json(self) -> dict[str, Any]:
        """Give it as plain values."""
        return asdict(self)


def compare(
    layout: Layout,
    scenario: Scenario | None,
    pairs: Iterable[Pair] | None = None,
    tell: TellCount = lambda *_: None,
) -> Comparison:
    """Compare the ways between all hosts, or between some.

    Parameters
    ----------
    layout
        Of a lab that is up.
    scenario
        For the simulator; none: compare with the tables only.
    pairs
        All, unless given.
    tell
        Called while the simulator works.
    """
    plan = layout.plan
    hosts = range(len(plan.hosts))
    wanted = [Pair(*pair) for pair in (pairs or permutations(hosts, 2))]
    with Walker(layout) as walker:
        probes = [Probe(pair.source, plan.hosts[pair.destination].mac) for pair in wanted]
        walks = list(walker.follow(probes))
    allowed = decided(layout.planned, wanted, walks)
    links, why = None, None
    if scenario is not None:
        try:
            links = _simulated(layout, scenario, wanted, tell)
        except ScenarioError as error:
            why = str(error)
    found = _compared(layout, wanted, walks, allowed, links)
    return replace(found, not_simulated=why)


def decided(
    planned: Planned,
    pairs: Sequence[Pair],
    walks: Sequence[Walk],
    paused: Sequence[End] = (),
) -> list[list[set[int]]]:
    """Ask the tables which ports a packet may leave by, at every hop of every walk."""
    asked = [
        (hop.switch, hop.in_port, *pair)
        for pair, walk in zip(pairs, walks, strict=True)
        for hop in walk.hops
    ]
    words = pl.DataFrame(planned.deployment.decide(asked, list(paused)))["by_table"]
    answers = iter(set(map(int, word.split())) for word in words)
    return [[next(answers) for _ in walk.hops] for walk in walks]


def predict(layout: Layout, pair: Pair, paused: Sequence[End] = ()) -> tuple[Hop, ...]:
    """Follow the tables from one host to another, by the first port where there is a choice."""
    host = layout.plan.hosts[pair.source]
    place: End | str = End(layout.switches[host.switch], host.port)
    hops: list[Hop] = []
    while isinstance(place, End) and len(hops) <= 2 * len(layout.plan.switches):
        answer = layout.planned.deployment.decide([(*place, *pair)], list(paused))
        port = min(map(int, pl.DataFrame(answer)["by_table"][0].split()))
        hops.append(Hop(*place, port))
        place = layout.across[End(place.switch, port)]
    return tuple(hops)


def follows(hops: Sequence[Hop], allowed: Sequence[set[int]]) -> bool:
    """Tell whether every port taken is one of those that the tables allow."""
    return all(hop.out_port in ports for hop, ports in zip(hops, allowed, strict=True))


def links_of(layout: Layout, walk: Walk) -> set[End]:
    """Return the links between switches that a probe used, by the ports that it left by."""
    ends = (End(hop.switch, hop.out_port) for hop in walk.hops)
    return {end for end in ends if isinstance(layout.across[end], End)}


def simulate(layout: Layout, scenario: Scenario, pair: Pair) -> set[End]:
    """Return the links that carry packets while one host sends to another."""
    is_conditional = layout.planned.spec.rules == "conditional"
    settings = {
        "open_loop.routings": ["conditional_tables" if is_conditional else "minimal_tables"],
        "open_loop.patterns": [{"listed": {"pairs": [list(pair)]}}],
        "open_loop.loads": [LOAD],
        "open_loop.warm_up": "0ns",
        "open_loop.measured": "20us",
    }
    seen = pl.DataFrame(observe(scenario, settings).channels).filter(pl.col("utilisation") > 0)
    index = layout.switches
    return {End(index[name], port + 1) for name, port in seen["from", "from_port"].rows()}


def _simulated(
    layout: Layout, scenario: Scenario, pairs: Sequence[Pair], tell: TellCount
) -> list[set[End]]:
    links = []
    for pair in pairs:
        links.append(simulate(layout, scenario, pair))
        tell(len(links), len(pairs))
    return links


def _compared(
    layout: Layout,
    pairs: Sequence[Pair],
    walks: Sequence[Walk],
    allowed: Sequence[Sequence[set[int]]],
    links: Sequence[set[End]] | None,
) -> Comparison:
    hosts = [host.name for host in layout.plan.hosts]
    arrived = [
        walk.host == hosts[pair.destination] and not walk.strays
        for pair, walk in zip(pairs, walks, strict=True)
    ]
    told = [follows(walk.hops, ports) for walk, ports in zip(walks, allowed, strict=True)]
    used = [links_of(layout, walk) for walk in walks]
    same = None if links is None else [a == b for a, b in zip(used, links, strict=True)]
    differences = [
        f"{hosts[pair.source]} to {hosts[pair.destination]}: {what}"
        for number, pair in enumerate(pairs)
        for what in _differences(number, arrived, told, same)
    ]
    return Comparison(
        len(pairs),
        sum(len(walk.hops) for walk in walks),
        sum(arrived),
        sum(told),
        sum(any(len(ports) > 1 for ports in way) for way in allowed),
        None if same is None else sum(same),
        None,
        tuple(differences[:_TOLD]),
    )


def _differences(
    number: int, arrived: Sequence[bool], told: Sequence[bool], same: Sequence[bool] | None
) -> Iterator[str]:
    if not arrived[number]:
        yield "did not arrive, or was seen elsewhere as well"
    if not told[number]:
        yield "another port than the tables say"
    if same is not None and not same[number]:
        yield "other links than in the simulator"
