"""Compares the paths of frames in a lab with the flow tables and with the simulator.

A probe between every two hosts is captured at every port. At every switch, its output port is
compared with those that the tables allow for these two hosts and this port of entry; the links
between switches are compared with those that carry packets when only the same two hosts send in
the simulator, in the same scenario.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from etherweave._core import ScenarioError
from etherweave.api.observations import observe
from etherweave.api.scenario import ScenarioSource
from etherweave.control.lab.layout import LabPort, Layout
from etherweave.control.lab.probes import PathHop, ProbeFrame, ProbePath, ProbeSender
from etherweave.control.plan import PlannedDeployment

LOAD = 0.1  # Load of the one host that sends in the simulator, at which packets never wait.
_LISTED_MAX = 10  # Number of differences that are listed.

CountProgress: TypeAlias = Callable[[int, int], object]
"""Called with the number of pairs done, and of all."""


class HostPair(NamedTuple):
    """Indices of two hosts in the plan."""

    source: int
    destination: int


@dataclass(frozen=True)
class PathComparison:
    """How many paths are as expected."""

    pairs: int  # Ordered pairs of hosts.
    hops: int  # Switches on all paths together.
    arrived: int  # Probes that arrived at their host once, and at no other port.
    as_tables: int  # Pairs whose probe left every switch by a port that the flow table allows.
    choices: int  # Pairs for which a switch selects among several ports by hash.
    as_simulated: int | None
    """Pairs whose probe used the same links as in the simulator; None: not compared."""
    not_simulated: str | None  # Why not; None: compared, or not requested.
    differences: tuple[str, ...]  # The first differences, one sentence each.


def compare(
    layout: Layout,
    scenario: ScenarioSource | None,
    pairs: Iterable[HostPair] | None = None,
    progress: CountProgress = lambda *_: None,
) -> PathComparison:
    """Compare the paths between all hosts, or between some; of several planes, within each.

    ``layout`` is of a running lab. Without a ``scenario`` for the simulator, tables alone are
    compared; ``pairs`` are all unless given. ``progress`` is called while the simulator works.
    """
    plan = layout.plan
    wanted = [HostPair(*pair) for pair in (pairs or layout.pairs)]
    with ProbeSender(layout) as walker:
        probes = [ProbeFrame(pair.source, plan.hosts[pair.destination].mac) for pair in wanted]
        walks = list(walker.follow(probes))
    allowed = allowed_ports(layout.planned, wanted, walks)
    links, why = None, None
    if scenario is not None:
        try:
            links = _simulated(layout, scenario, wanted, progress)
        except ScenarioError as error:
            why = str(error)
    comparison = _compared(layout, wanted, walks, allowed, links)
    return replace(comparison, not_simulated=why)


def allowed_ports(
    planned: PlannedDeployment,
    pairs: Sequence[HostPair],
    walks: Sequence[ProbePath],
    paused: Sequence[LabPort] = (),
) -> list[list[set[int]]]:
    """Return the ports that the tables allow, at every hop of every path."""
    import polars as pl

    queries = [
        (hop.switch, hop.in_port, *pair)
        for pair, walk in zip(pairs, walks, strict=True)
        for hop in walk.hops
    ]
    words = pl.DataFrame(planned.deployment.decide(queries, list(paused)))["by_table"]
    answers = iter(set(map(int, word.split())) for word in words)
    return [[next(answers) for _ in walk.hops] for walk in walks]


def predict(layout: Layout, pair: HostPair, paused: Sequence[LabPort] = ()) -> tuple[PathHop, ...]:
    """Return the path by the tables from one host to another, by the first of several ports."""
    import polars as pl

    host = layout.plan.hosts[pair.source]
    place: LabPort | str = LabPort(layout.switches[host.switch], host.port)
    hops: list[PathHop] = []
    while isinstance(place, LabPort) and len(hops) <= 2 * len(layout.plan.switches):
        answer = layout.planned.deployment.decide([(*place, *pair)], list(paused))
        port = min(map(int, pl.DataFrame(answer)["by_table"][0].split()))
        hops.append(PathHop(*place, port))
        place = layout.across[LabPort(place.switch, port)]
    return tuple(hops)


def follows(hops: Sequence[PathHop], allowed: Sequence[set[int]]) -> bool:
    """Return whether every output port is one of those that the tables allow."""
    return all(hop.out_port in ports for hop, ports in zip(hops, allowed, strict=True))


def links_of(layout: Layout, walk: ProbePath) -> set[LabPort]:
    """Return the links between switches that a probe used, by their output ports."""
    ends = (LabPort(hop.switch, hop.out_port) for hop in walk.hops)
    return {end for end in ends if isinstance(layout.across[end], LabPort)}


def simulate(layout: Layout, scenario: ScenarioSource, pair: HostPair) -> set[LabPort]:
    """Return the links that carry packets while one host sends to another."""
    import polars as pl

    is_conditional = layout.planned.spec.rules == "conditional"
    ports = [layout.plan.hosts[host] for host in pair]
    plane = f"plane{ports[0].plane}." if layout.planned.deployment.planes > 1 else ""
    settings = {
        "open_loop.routings": ["conditional_tables" if is_conditional else "minimal_tables"],
        "open_loop.patterns": [{"listed": {"pairs": [[port.source for port in ports]]}}],
        "open_loop.loads": [LOAD],
        "open_loop.warm_up": "0ns",
        "open_loop.measured": "20us",
        # Switches decide nothing here: keys that only runs have would be refused.
        "switch": {},
        "flow_control": {"credits": {}},
    }
    channels = pl.DataFrame(observe(scenario, settings).channels).filter(pl.col("utilisation") > 0)
    index = layout.switches
    rows = channels["from", "from_port"].rows()
    return {LabPort(index[f"{plane}{name}"], port + 1) for name, port in rows}


def _simulated(
    layout: Layout, scenario: ScenarioSource, pairs: Sequence[HostPair], progress: CountProgress
) -> list[set[LabPort]]:
    links = []
    for pair in pairs:
        links.append(simulate(layout, scenario, pair))
        progress(len(links), len(pairs))
    return links


def _compared(
    layout: Layout,
    pairs: Sequence[HostPair],
    walks: Sequence[ProbePath],
    allowed: Sequence[Sequence[set[int]]],
    links: Sequence[set[LabPort]] | None,
) -> PathComparison:
    hosts = [host.name for host in layout.plan.hosts]
    arrived = [
        walk.host == hosts[pair.destination] and not walk.strays
        for pair, walk in zip(pairs, walks, strict=True)
    ]
    by_table = [follows(walk.hops, ports) for walk, ports in zip(walks, allowed, strict=True)]
    used = [links_of(layout, walk) for walk in walks]
    same = None if links is None else [a == b for a, b in zip(used, links, strict=True)]
    differences = [
        f"{hosts[pair.source]} to {hosts[pair.destination]}: {what}"
        for number, pair in enumerate(pairs)
        for what in _differences(number, arrived, by_table, same)
    ]
    return PathComparison(
        len(pairs),
        sum(len(walk.hops) for walk in walks),
        sum(arrived),
        sum(by_table),
        sum(any(len(ports) > 1 for ports in ports_by_hop) for ports_by_hop in allowed),
        None if same is None else sum(same),
        None,
        tuple(differences[:_LISTED_MAX]),
    )


def _differences(
    number: int, arrived: Sequence[bool], by_table: Sequence[bool], same: Sequence[bool] | None
) -> Iterator[str]:
    if not arrived[number]:
        yield "did not arrive, or was captured at other ports as well"
    if not by_table[number]:
        yield "left by another port than the tables allow"
    if same is not None and not same[number]:
        yield "other links than in the simulator"
