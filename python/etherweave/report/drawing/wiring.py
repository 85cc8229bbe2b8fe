"""A fabric as drawings need it: its tables, and its links gathered by what is drawn."""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import polars

from etherweave._core import Fabric

Loads: TypeAlias = Mapping[tuple[str, str], float]
"""Share of its rate that each link sends, by sender and receiver."""


class TooLargeError(ValueError):
    """A fabric that no drawing of its family can show; its text names the limit."""


@dataclass(frozen=True)
class Switch:
    """A switch."""

    name: str  # Unique in its fabric.
    level: int  # How far it is above the hosts' switches.
    hosts: int  # How many hang on it.
    coordinates: tuple[int, ...]  # One for each axis of the fabric.


@dataclass(frozen=True)
class Bundle:
    """All links of a class between two drawn things."""

    ends: tuple[str, str]  # Their keys.
    link_class: str  # Host, local or global.
    medium: str  # Copper, optical, or mixed.
    rate_gbps: float  # Rate of one link, the slowest where they differ [Gb/s].
    count: int  # How many links.
    load: float | None = None
    """Share of its rate that the busiest of them sends in its busier direction; None without a
    run."""


@dataclass(frozen=True)
class Wiring:
    """Nodes and the links between them."""

    name: str  # Name of the fabric.
    family: str  # Name of the family in a scenario.
    shape: str  # The order in which its switches are joined.
    parameters: Mapping[str, object]  # Parameters of the family, as in the resolved scenario.
    axes: tuple[str, ...]  # Names of the coordinates.
    switches: tuple[Switch, ...]  # Switches in the order of ids.
    hosts: polars.DataFrame  # Columns ``host``, ``switch``, in the order of ids.
    links: polars.DataFrame
    """Columns ``from``, ``to``, ``class``, ``rate_gbps``, ``medium``, ``load`` and others."""

    @classmethod
    def of(cls, fabric: Fabric, loads: Loads | None = None) -> "Wiring":
        """Read a fabric's tables, and perhaps the loads of its links."""
        family, parameters = _family(fabric)
        tables = {name: polars.DataFrame(table) for name, table in fabric.tables.items()}
        axes = tuple(fabric.axes)
        columns = ["switch", "level", "hosts"] + [f"coordinate_{n}" for n in range(len(axes))]
        rows = tables["switches"].select(columns).iter_rows()
        switches = tuple(Switch(row[0], row[1], row[2], row[3:]) for row in rows)
        hosts, links = tables["hosts"], _loaded(tables["links"], loads)
        return cls(fabric.name, family, fabric.shape, parameters, axes, switches, hosts, links)

    @cached_property
    def hosts_of(self) -> Mapping[str, list[str]]:
        """Names of the hosts on each switch that has any."""
        gathered = self.hosts.group_by("switch", maintain_order=True).agg("host")
        return dict(gathered.iter_rows())

    def bundles(self, ends_of: Callable[[str, str], tuple[str, str]]) -> tuple[list[Bundle], int]:
        """Gather the links between switches by the things that stand for their ends.

        ``ends_of`` gives the keys of the drawn things that stand for the two switches of a link.
        Returns bundles in the order of their first links, and the number of links within one thing.
        """
        between = self.links.filter(polars.col("class") != "host").select(_COLUMNS)
        ends = [ends_of(start, end) for start, end in between.select(_ENDS).iter_rows()]
        outside = _named(between, [(min(pair), max(pair)) for pair in ends]).filter(_IS_OUTSIDE)
        return list(_gather(outside)), between.height - outside.height

    def host_bundles(self, key_of: Mapping[str, str]) -> list[Bundle]:
        """Gather the links of hosts by what stands for the host, then the switch.

        ``key_of`` is the key of the drawn thing that stands for each host and each switch with
        hosts.
        """
        links = self.links.filter(polars.col("class") == "host").select(_COLUMNS)
        names = set(self.hosts["host"])
        pairs = links.select(_ENDS).iter_rows()
        upward = [(a, b) if a in names else (b, a) for a, b in pairs]
        return list(_gather(_named(links, [(key_of[a], key_of[b]) for a, b in upward])))


_ENDS = ("from", "to")
_COLUMNS = (*_ENDS, "class", "medium", "rate_gbps", "load")
_IS_OUTSIDE = polars.col("from") != polars.col("to")


def _family(fabric: Fabric) -> tuple[str, Mapping[str, object]]:
    topology = tomllib.loads(fabric.resolved)["topology"]
    ((family, parameters),) = topology.items()
    return family, parameters


def _loaded(links: polars.DataFrame, loads: Loads | None) -> polars.DataFrame:
    """Put the load of the busier direction beside each link."""
    ends = links.select(_ENDS).iter_rows()
    shares = [
        None if loads is None else max(loads.get((a, b), 0.0), loads.get((b, a), 0.0))
        for a, b in ends
    ]
    return links.with_columns(load=polars.Series(shares, dtype=polars.Float64))


def _named(links: polars.DataFrame, ends: Sequence[tuple[str, str]]) -> polars.DataFrame:
    columns = [
        polars.Series(end, [pair[n] for pair in ends], polars.String) for n, end in enumerate(_ENDS)
    ]
    return links.with_columns(columns)


def _gather(links: polars.DataFrame) -> Iterator[Bundle]:
    groups = links.group_by("from", "to", "class", maintain_order=True).agg(
        polars.col("medium").unique(maintain_order=True),
        polars.col("rate_gbps").min(),
        polars.len().alias("count"),
        polars.col("load").max(),
    )
    for start, end, link_class, media, rate, count, load in groups.iter_rows():
        medium = media[0] if len(media) == 1 else "mixed"
        yield Bundle((start, end), link_class, medium, rate, count, load)
