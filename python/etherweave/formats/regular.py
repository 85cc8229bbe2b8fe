"""Description of a fabric: counts, levels, and where it departs from a regular one.

Figures are those of the core's tables of switches and links. Regular is what most switches of a
level have: a number of cables of each rate to each level, and of hosts.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations, pairwise

from etherweave import _core
from etherweave.formats.network import listed_names

LISTED_MAX = 10  # Most sentences of a kind that are printed.
COMPLETE_MIN = 0.75  # Share of joined pairs from which on a stage is one that joins all pairs.
PAIRS_MAX = 4_000_000  # Most pairs of switches that are compared.


@dataclass(frozen=True)
class Cables:
    """Equal cables."""

    link_class: str
    rate_gbps: float
    medium: str
    length_m: float
    count: int


@dataclass(frozen=True)
class Taper:
    """Capacity of a level of switches."""

    level: int
    down_gbps: float
    up_gbps: float

    @property
    def ratio(self) -> float:
        """Capacity towards hosts for each unit upwards; above 1 the level is oversubscribed."""
        return self.down_gbps / self.up_gbps


@dataclass(frozen=True)
class Description:
    """A fabric in figures."""

    hosts: int
    host_ports: int  # Number of ports that hosts have together.
    levels: dict[int, int]  # Number of switches of each level.
    cables: tuple[Cables, ...]
    tapers: tuple[Taper, ...]
    resembles: str
    """The regular fabric that it is like, as keys of a scenario; empty where none is."""
    odd: tuple[str, ...]  # Switches that differ from most of their level, a sentence each.
    missing: tuple[tuple[str, str], ...]
    """Cables that the regular fabric would have: names of both switches."""


@dataclass(frozen=True)
class _Joined:
    """Switches and the cables between them."""

    level: dict[str, int]
    hosts: dict[str, int]
    pairs: Counter[tuple[str, str]]  # Cables of two switches, in the order of the fabric.
    neighbours: dict[str, Counter[tuple[int, float]]]
    """Cables of a switch by the level of the neighbour, -1 of hosts, and the rate [Gb/s]."""


def describe(fabric: _core.Fabric) -> Description:
    """Describe a fabric."""
    switches, links = fabric.tables["switches"], fabric.tables["links"]
    columns = [switches.values(name) for name in ("switch", "level", "hosts")]
    level = dict(zip(columns[0], columns[1], strict=True))
    joined = _Joined(
        level,
        dict(zip(columns[0], columns[2], strict=True)),
        Counter(),
        {switch: Counter() for switch in level},
    )
    names = ("from", "to", "class", "rate_gbps", "medium", "length_m")
    rows = list(zip(*(links.values(name) for name in names), strict=True))
    capacity: dict[int, list[float]] = {}
    for first, second, _, rate, *_ in rows:
        _count(joined, capacity, first, second, rate)
    cables = Counter((row[2], row[3], row[4], row[5]) for row in rows)
    ports = fabric.tables["hosts"].values("host")
    word = "hosts" if len(set(ports)) == len(ports) else "ports of hosts"
    missing = _missing(joined)
    return Description(
        hosts=len(set(ports)),
        host_ports=len(ports),
        levels=dict(sorted(Counter(level.values()).items())),
        cables=tuple(Cables(*kind, count) for kind, count in sorted(cables.items())),
        tapers=tuple(Taper(at, *both) for at, both in sorted(capacity.items()) if both[1]),
        resembles=_resembles(joined, missing, word),
        odd=tuple(_odd(joined, word)),
        missing=tuple(missing),
    )


def _count(
    joined: _Joined, capacity: dict[int, list[float]], first: str, second: str, rate: float
) -> None:
    """Count a link at both of its ends; hosts are below level 0."""
    levels = [joined.level.get(name, -1) for name in (first, second)]
    for at, (name, other) in enumerate(((first, levels[1]), (second, levels[0]))):
        if name in joined.level:
            joined.neighbours[name][other, rate] += 1
        if name in joined.level and levels[at] != other:
            capacity.setdefault(levels[at], [0.0, 0.0])[other > levels[at]] += rate
    if min(levels) >= 0:
        joined.pairs[(first, second) if (first, second) < (second, first) else (second, first)] += 1


def _by_level(joined: _Joined) -> dict[int, list[str]]:
    members: dict[int, list[str]] = {}
    for switch, level in joined.level.items():
        members.setdefault(level, []).append(switch)
    return members


def _usual(values: Iterable[int]) -> int:
    """Return the most frequent value, the largest of equally frequent ones."""
    counts = Counter(values)
    return max(counts, key=lambda value: (counts[value], value))


def _odd(joined: _Joined, word: str) -> Iterable[str]:
    """Name switches that differ from most of their level; the word is what they have of hosts."""
    for level, members in sorted(_by_level(joined).items()):
        hosts = {name: joined.hosts[name] for name in members}
        if len(members) < 3:  # Two switches have no usual cables.
            yield from _departures(hosts, word, level)
            continue
        kinds = sorted({kind for member in members for kind in joined.neighbours[member]})
        for other, rate in kinds:
            counts = {member: joined.neighbours[member][other, rate] for member in members}
            if other < 0 and _usual(counts.values()):
                continue  # Number of hosts shows it at the usual rate.
            what = f"cables of {rate:g} Gb/s to {f'level {other}' if other >= 0 else word}"
            yield from _departures(counts, what, level)
        yield from _departures(hosts, word, level)


def _departures(counts: dict[str, int], what: str, level: int) -> Iterable[str]:
    """Name the switches of each unusual count together."""
    usual = _usual(counts.values())
    alike = sum(count == usual for count in counts.values())
    others = "most" if 2 * alike > len(counts) else f"{alike:,}"
    verb = "has" if alike == 1 else "have"
    for count in sorted(set(counts.values()) - {usual}):
        names = [name for name, other in counts.items() if other == count]
        named = listed_names(names)
        who = f"{named} has" if len(names) == 1 else f"{len(names)} switches ({named}) have"
        yield f"{what}: {who} {count}, {others} of level {level} {verb} {usual}"


def _missing(joined: _Joined) -> list[tuple[str, str]]:
    """List cables between levels, or within the only one, that most pairs or switches have."""
    members = _by_level(joined)
    levels = sorted(members)
    missing: list[tuple[str, str]] = []
    for low, high in [*pairwise(levels), *((at, at) for at in levels)]:
        pairs = _pairs(members[low], members[high], low == high)
        if len(pairs) > PAIRS_MAX or not pairs:
            continue
        counts = [joined.pairs[pair if pair in joined.pairs else pair[::-1]] for pair in pairs]
        usual = _usual(counts)
        joined_share = sum(count > 0 for count in counts) / len(counts)
        if joined_share >= COMPLETE_MIN and len(pairs) >= 3:
            for pair, count in zip(pairs, counts, strict=True):
                missing += [pair] * max(usual - count, 0)
        elif low != high:
            missing += _deficits(joined, members, low, high)
    return missing


def _pairs(first: list[str], second: list[str], is_same: bool) -> list[tuple[str, str]]:
    if len(first) * len(second) > PAIRS_MAX:
        return []
    if is_same:
        return list(combinations(first, 2))
    return [(low, high) for low in first for high in second]


def _deficits(
    joined: _Joined, members: dict[int, list[str]], low: int, high: int
) -> list[tuple[str, str]]:
    """Pair switches of two levels that both have fewer cables to the other than is usual."""

    def lacking(level: int, other: int) -> list[str]:
        counts = {
            part: sum(links for (at, _), links in joined.neighbours[part].items() if at == other)
            for part in members[level]
        }
        usual = _usual(counts.values())
        return [name for name, count in counts.items() for _ in range(max(usual - count, 0))]

    lower, upper = lacking(low, high), lacking(high, low)
    # Several switches that lack cables could be joined in several orders: their names say no more.
    return list(zip(lower, upper, strict=True)) if len(lower) == len(upper) <= 1 else []


def _resembles(joined: _Joined, missing: list[tuple[str, str]], word: str) -> str:
    """Name the family of the regular fabric, with its keys."""
    family = _family(joined, missing)
    return f"{family}, where hosts are {word}" if family and word != "hosts" else family


def _family(joined: _Joined, missing: list[tuple[str, str]]) -> str:
    members = _by_level(joined)
    hosts = _usual(joined.hosts[switch] for switch in members.get(0, [])) if members else 0
    if len(joined.level) == 1:
        return f"single_switch: hosts = {hosts}"
    pairs = joined.pairs + Counter(missing)
    counts = {pairs[pair] + pairs[pair[::-1]] for pair in pairs}
    is_even = len(counts) == 1
    if len(members) == 2 and is_even:
        leaves, cores = len(members[0]), len(members[1])
        if len({frozenset(pair) for pair in pairs}) == leaves * cores:
            keys = f"leaves = {leaves}, hosts_per_leaf = {hosts}, cores = {cores}"
            return f"fat_tree: {keys}, links_per_core = {counts.pop()}"
    count = len(joined.level)
    if (
        len(members) == 1
        and is_even
        and len({frozenset(pair) for pair in pairs}) * 2 == count * (count - 1)
    ):
        return f"flattened_butterfly: hosts_per_switch = {hosts}, sizes = [{count}]"
    return ""
