"""Platforms of SimGrid (simgrid.org, XML reference): clusters, and zones with routes of a hop.

A cluster becomes its switches: FLAT a switch, FAT_TREE, TORUS and DRAGONFLY by ``topo_parameters``.
Routes of a single link are cables: between routers and hosts, and between clusters, where a link
that several pairs share is a switch. Longer routes are paths, and are left out.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations, product

from etherweave.formats.network import Network, subject
from etherweave.formats.texts import Element, Source, number, only, xml

HOSTS_MAX = 2**18  # Most hosts of a cluster.
_DECIMAL = {prefix: 1000**power for power, prefix in enumerate(("", "K", "M", "G", "T", "P", "E"))}
_BINARY = {f"{prefix}i": 1024**power for power, prefix in enumerate(("K", "M", "G", "T"), 1)}


def recognises(file: Source) -> bool:
    """Return whether the root is a platform."""
    return bool(re.search(r"<platform[\s>]", file.head))


def read(files: Sequence[Source], _servers: int) -> Network:
    """Read every cluster, and nodes and routes of zones."""
    file = only(files)
    root = xml(file)
    network = Network(str(file.path))
    links = {link.of.get("id", ""): link for link in root.walk() if link.tag == "link"}
    clusters: dict[str, str] = {}
    for element in root.walk():
        if element.tag in ("cluster", "link"):
            network.pass_over_latency(element.of)
        if element.tag == "cluster":
            clusters[element.of.get("id", "")] = _Cluster(file, network, element).build()
        elif element.tag in ("host", "router"):
            name = element.of.get("id", "")
            network.new_node(name, "host" if element.tag == "host" else "switch", element.where)
    for zone in (element for element in root.walk() if element.tag in ("zone", "AS")):
        _routes(file, network, zone, links)
        _zone_routes(file, network, zone, links, clusters)
    if all(node.kind == "host" for node in network.nodes.values()):
        expected = "clusters, or routers in zones with Floyd or Dijkstra routing"
        raise network.mistake("", f"hosts and paths between them alone; expected {expected}")
    return network


def _zone_routes(
    file: Source,
    network: Network,
    zone: Element,
    links: dict[str, Element],
    clusters: dict[str, str],
) -> None:
    """Join clusters by the links between them; a link of several pairs is a switch."""
    pairs: dict[str, dict[frozenset[str], None]] = {}
    for route in (child for child in zone.children if child.tag in ("zoneRoute", "ASroute")):
        ends = [route.of.get(end, "") for end in ("src", "dst")]
        path = [step.of.get("id", "") for step in route.named("link_ctn")]
        if len(path) != 1 or ends[0] == ends[1] or not set(ends) <= set(clusters):
            network.notes.append(f"{route.where}: a route between zones is left out")
            continue
        if path[0] not in links:
            reason = f"the link {path[0][:40]} is not listed; expected the id of a link"
            raise file.mistake(route.where, reason)
        pairs.setdefault(path[0], {})[frozenset(ends)] = None
    for name, joined in pairs.items():
        rate = _rate(file, links[name].where, links[name].of.get("bandwidth", ""))
        zones = dict.fromkeys(end for pair in joined for end in sorted(pair))
        if len(joined) == 1:
            first, second = zones
            network.join(clusters[first], clusters[second], rate=rate)
            continue
        network.new_node(name, "switch", links[name].where)
        for end in zones:
            network.join(clusters[end], name, rate=rate)


def _routes(file: Source, network: Network, zone: Element, links: dict[str, Element]) -> None:
    taken: set[frozenset[str]] = set()
    longer = 0
    for route in zone.named("route"):
        ends = [route.of.get(end, "") for end in ("src", "dst")]
        path = [step.of.get("id", "") for step in route.named("link_ctn")]
        if len(path) != 1:
            longer += 1
            continue
        if frozenset(ends) in taken or ends[0] == ends[1]:
            continue
        taken.add(frozenset(ends))
        if path[0] not in links:
            reason = f"the link {path[0][:40]} is not listed; expected the id of a link"
            raise file.mistake(route.where, reason)
        for name in ends:
            network.known(name, route.where)
        bandwidth = links[path[0]].of.get("bandwidth", "")
        rate = _rate(file, links[path[0]].where, bandwidth)
        network.join(ends[0], ends[1], where=route.where, rate=rate)
    if longer:
        what = subject(longer, "route", f"of the zone {zone.of.get('id')} over several links")
        network.notes.append(f"{what} left out: a path is no cable")


class _Cluster:
    """A cluster of equal hosts."""

    def __init__(self, file: Source, network: Network, element: Element) -> None:
        self._file, self._network, self._of = file, network, element.of
        self._where, self._name = element.where, element.of.get("id", "cluster")
        self._rate = _rate(file, element.where, element.of.get("bw", ""))
        prefix, suffix = element.of.get("prefix", ""), element.of.get("suffix", "")
        numbers = self._radical(element.of.get("radical", ""))
        self._hosts = [f"{prefix}{at}{suffix}" for at in numbers]
        for name in self._hosts:
            network.new_node(name, "host", element.where)

    def _radical(self, text: str) -> list[int]:
        numbers: list[int] = []
        for part in re.split("[;,]", text):
            first, dash, last = part.partition("-")
            low = number(self._file, first, self._where)
            high = number(self._file, last, self._where) if dash else low
            if high - low + len(numbers) >= HOSTS_MAX:
                reason = f"more than {HOSTS_MAX:,} hosts; expected fewer"
                raise self._file.mistake(self._where, reason)
            numbers += range(low, high + 1)
        return numbers

    def build(self) -> str:
        """Join hosts and switches; returns the first switch, which stands for its router."""
        kind = self._of.get("topology", "FLAT").upper()
        builders = {"FLAT": self._flat, "FAT_TREE": self._tree, "TORUS": self._torus}
        builders["DRAGONFLY"] = self._dragonfly
        if kind not in builders:
            reason = f"the topology {kind[:20]}; expected {', '.join(builders)}"
            raise self._file.mistake(self._where, reason)
        builders[kind]()
        return next(link.ends[1] for link in self._network.links if link.ends[0] == self._hosts[0])

    def _groups(self) -> list[list[int]]:
        return [
            [number(self._file, count, self._where, 1, 2**16) for count in part.split(",")]
            for part in self._of.get("topo_parameters", "").split(";")
        ]

    def _check_hosts(self, expected: int) -> None:
        if len(self._hosts) != expected:
            reason = f"{len(self._hosts)} hosts in radical; expected {expected}"
            raise self._file.mistake(self._where, reason)

    def _switch(self, *place: int) -> str:
        name = "-".join((f"{self._name}-switch", *map(str, place)))
        self._network.node(name, "switch", self._where)
        return name

    def _join(self, first: str, second: str, links: int = 1, link_class: str = "") -> None:
        of = {"rate": self._rate, "link_class": link_class}
        self._network.join(first, second, of, links=links, where=self._where)

    def _flat(self) -> None:
        for host in self._hosts:
            self._join(host, self._switch())
        if self._of.get("bb_bw"):
            note = f"the backbone of {self._name} ({self._of['bb_bw']}) is a switch without limit"
            self._network.notes.append(note)

    def _tree(self) -> None:
        """Build a parallel-ports generalised fat tree (Zahavi, CCIT 776, 2010)."""
        groups = self._groups()
        if len(groups) != 4 or any(len(group) != groups[0][0] for group in groups[1:]):
            reason = "expected topo_parameters LEVELS;DOWN,…;UP,…;PARALLEL,…"
            raise self._file.mistake(self._where, reason)
        (levels,), down, up, parallel = groups
        size = 1
        for count in down:
            size *= count
        self._check_hosts(size)
        below = {tuple(place): self._hosts[at] for at, place in enumerate(_places(down[::-1]))}
        for level in range(1, levels + 1):
            # A node of a level is named by its digits: those of levels above it count children,
            # those up to it count parents.
            digits = [*down[level:][::-1], *up[:level][::-1]]
            nodes = {tuple(place): self._switch(level, *place) for place in _places(digits)}
            for place, name in below.items():
                above = levels - level
                for parent in range(up[level - 1]):
                    target = (*place[:above], parent, *place[above + 1 :])
                    self._join(name, nodes[target], parallel[level - 1])
            below = nodes

    def _torus(self) -> None:
        sizes = [size for group in self._groups() for size in group]
        places = list(_places(sizes))
        self._check_hosts(len(places))
        for host, place in zip(self._hosts, places, strict=True):
            self._join(host, self._switch(*place))
            for axis, size in enumerate(sizes):
                after = (*place[:axis], (place[axis] + 1) % size, *place[axis + 1 :])
                if size > 2 or after > place:
                    self._join(self._switch(*place), self._switch(*after))

    def _dragonfly(self) -> None:
        """Build a Cascade dragonfly: rows of routers in chassis, columns across them."""
        groups = self._groups()
        if [len(group) for group in groups] != [2, 2, 2, 1]:
            reason = "expected topo_parameters GROUPS,LINKS;CHASSIS,LINKS;ROUTERS,LINKS;NODES"
            raise self._file.mistake(self._where, reason)
        (count, blue), (chassis, black), (routers, green), (nodes,) = groups
        self._check_hosts(count * chassis * routers * nodes)
        places = list(product(range(count), range(chassis), range(routers)))
        for at, host in enumerate(self._hosts):
            self._join(host, self._switch(*places[at // nodes]))
        for group in range(count):
            for row in range(chassis):
                for low, high in combinations(range(routers), 2):
                    self._join(self._switch(group, row, low), self._switch(group, row, high), green)
            for column in range(routers):
                for low, high in combinations(range(chassis), 2):
                    ends = [self._switch(group, row, column) for row in (low, high)]
                    self._join(ends[0], ends[1], black)
        for low, high in combinations(range(count), 2):
            # As SimGrid's DragonflyZone: router j of group i leads to group j, and back.
            pairs = ((low, high), (high, low))
            names = [
                self._switch(of, *divmod(to % (chassis * routers), routers)) for of, to in pairs
            ]
            self._join(names[0], names[1], blue, "global")


def _places(sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    return product(*(range(size) for size in sizes))


def _rate(file: Source, where: str, text: str) -> str:
    """Read a bandwidth: ``bps`` bits, ``Bps`` bytes, powers of 1000 or with i of 1024."""
    match = re.fullmatch(r"\s*([\d.eE+-]+)\s*([kKMGTPE]?i?)([bB])ps\s*", text)
    if not match:
        expected = "a bandwidth with its unit, such as 1250MBps"
        raise file.mistake(where, f"{text[:20]!r}; expected {expected}")
    try:
        value = float(match[1])
    except ValueError:
        raise file.mistake(where, f"{text[:20]!r}; expected a number") from None
    prefix = match[2].replace("k", "K")
    bits = value * (_DECIMAL | _BINARY)[prefix] * (8 if match[3] == "B" else 1)
    if not 0 < bits < 1e15:
        raise file.mistake(where, f"{text[:20]!r}; expected a rate above zero")
    return f"{round(bits)}b/s"
