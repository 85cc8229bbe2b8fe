"""A fabric as a file of another program lists it: nodes, cables, and what the file leaves open.

Names and texts are those of the file. The core checks them when it builds the fabric.
"""

import itertools
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Literal, TypeAlias

from etherweave.api.inputs import InputError
from etherweave.api.units import counted

LINKS_MAX = 2**20  # Most cables of a file.
PARALLEL_MAX = 1024
"""Most cables between two nodes that an entry stands for, as in ``topology.custom``."""

NAMES_MAX = 4  # Most names of a sentence.

LATENCY_KEYS = ("latency", "delay", "lat", "latency_ns", "delay_ns")
"""Names of the attributes by which a link has a latency, in small letters."""

Kind: TypeAlias = Literal["host", "switch"]


@dataclass
class Node:
    """A host or a switch."""

    name: str
    kind: Kind | None = None  # None where the file does not say it.
    is_assumed: bool = False  # Whether the reader, not the file, says the kind.


@dataclass
class Link:
    """A cable."""

    ends: tuple[str, str]  # Names of its nodes.
    ports: tuple[str, str] = ("", "")  # Names of its ports, empty where the file does not say them.
    rate: str = ""
    length: str = ""
    medium: str = ""
    link_class: str = ""
    where: str = ""  # Place in the file: ``line 3``.
    file: str = ""  # The file, where a fabric has several.


@dataclass
class Network:
    """Nodes and cables in the order of the file."""

    path: str  # File, for messages.
    form: str = ""  # Name of the format, as people call it.
    nodes: dict[str, Node] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)  # Assumptions of the reader, a sentence each.
    notes: list[str] = field(default_factory=list)
    """Omissions and oddities that the reader met, a sentence each."""
    file: str = ""  # File that is being read, for messages; the first where it is empty.

    def mistake(self, where: str, reason: str) -> InputError:
        """Make the error of a place in the file that is being read."""
        return InputError(self.file or self.path, f"{where}: {reason}" if where else reason)

    def node(self, name: str, kind: Kind | None = None, where: str = "") -> Node:
        """Find a node or add it; a kind that is known later is filled in."""
        if not name.strip():
            raise self.mistake(where, "a node without a name; expected a name")
        node = self.nodes.setdefault(name, Node(name, kind))
        if kind and node.kind and node.kind != kind:
            reason = f"{name} is a {kind}, and a {node.kind} before; expected the same"
            raise self.mistake(where, reason)
        node.kind = node.kind or kind
        return node

    def new_node(self, name: str, kind: Kind | None = None, where: str = "") -> Node:
        """Add a node that must not be there."""
        if name in self.nodes:
            reason = f"{name} is listed twice; expected different names"
            raise self.mistake(where, reason)
        return self.node(name, kind, where)

    def known(self, name: str, where: str) -> Node:
        """Find a node that must be there."""
        if name not in self.nodes:
            raise self.mistake(where, f"{name} is not known; expected the name of a listed node")
        return self.nodes[name]

    def join(
        self,
        first: str,
        second: str,
        of: Mapping[str, str] | None = None,
        *,
        rate: str = "",
        links: int = 1,
        where: str = "",
    ) -> None:
        """Add parallel cables between two nodes, which are added where they are missing.

        ``of`` has ``first_port``, ``second_port`` and the fields of :class:`Link`; ``rate`` stands
        in place of its rate. ``where`` is the place in the file, for messages.
        """
        if first == second:
            raise self.mistake(where, f"{first} is joined to itself; expected two nodes")
        if not 1 <= links <= PARALLEL_MAX:
            raise self.mistake(where, f"{links} parallel cables; expected 1 to {PARALLEL_MAX:,}")
        for name in (first, second):
            self.node(name, where=where)
        fields = dict(of or {})
        fields |= {"rate": rate} if rate else {}
        ports = (fields.pop("first_port", ""), fields.pop("second_port", ""))
        for number in range(links):
            suffix = f"/{number + 1}" if links > 1 else ""
            named = tuple(port and port + suffix for port in ports)
            place = {"where": where, "file": self.file}
            self.links.append(Link((first, second), (named[0], named[1]), **fields, **place))
        if len(self.links) > LINKS_MAX:
            raise self.mistake(where, f"more than {LINKS_MAX:,} cables; expected a smaller fabric")

    def pass_over_latency(self, of: Iterable[str]) -> None:
        """Note that latencies are left out, if an attribute of a link is one."""
        sentence = "latencies of links are left out: they hold more than the cable (--length)"
        if any(key.lower() in LATENCY_KEYS for key in of) and sentence not in self.notes:
            self.notes.append(sentence)

    def degrees(self) -> dict[str, int]:
        """Count the cables of every node."""
        counts = dict.fromkeys(self.nodes, 0)
        for end in (end for link in self.links for end in link.ends):
            counts[end] += 1
        return counts

    def is_joined(self, without: Collection[str] = ()) -> bool:
        """Whether cables join all nodes, apart from some, to each other."""
        left = self.nodes.keys() - set(without)
        reached = set(itertools.islice(left, 1))
        while reached:
            left -= reached
            links = (link.ends for link in self.links if not reached.isdisjoint(link.ends))
            reached = left.intersection(itertools.chain.from_iterable(links))
        return not left


def listed_names(names: Sequence[str]) -> str:
    """List the first names of a sentence about nodes."""
    return ", ".join(names[:NAMES_MAX]) + (", …" if len(names) > NAMES_MAX else "")


def subject(count: int, noun: str, which: str = "") -> str:
    """Begin a sentence about a number of things.

    >>> subject(1, "cable", "of power"), subject(2, "port")
    ('1 cable of power is', '2 ports are')
    """
    return " ".join(filter(None, (counted(count, noun), which, "is" if count == 1 else "are")))


def place_of(text: str) -> tuple[tuple[int, int | str], ...]:
    """Make the key by which names with numbers are ordered: port2 before port10."""
    parts = re.split(r"(\d{1,18})", text)
    return tuple((0, int(part)) if part.isdigit() else (1, part) for part in parts if part)


def in_port_order(links: list[Link]) -> list[Link]:
    """Order cables so that the ports of every node ascend, as far as they can together.

    The core numbers the ports of a node in the order of its cables. Where the ports of some nodes
    contradict those of others, the order of the file stays.
    """
    ports: dict[str, list[tuple[tuple[tuple[int, int | str], ...], int]]] = {}
    for number, link in enumerate(links):
        for end, port in zip(link.ends, link.ports, strict=True):
            if port:
                ports.setdefault(end, []).append((place_of(port), number))
    order: TopologicalSorter[int] = TopologicalSorter(dict.fromkeys(range(len(links)), ()))
    for named in ports.values():
        numbers = [number for _, number in sorted(named)]
        for before, after in itertools.pairwise(numbers):
            order.add(after, before)
    try:
        return [links[number] for number in order.static_order()] if ports else links
    except CycleError:
        return links
