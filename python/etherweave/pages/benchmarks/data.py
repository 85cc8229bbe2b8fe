"""Benchmarks on a real cluster as a page sees them: tables of a run, and places of hosts.

A place is the switch of a host, and the group of that switch.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from etherweave.api.fabrics import fabric
from etherweave.api.inputs import read_json, read_toml
from etherweave.bench.campaigns.points import CENTRES
from etherweave.bench.campaigns.store import kept_switches
from etherweave.bench.campaigns.summary import FORMAT
from etherweave.bench.site.reading import read as read_site
from etherweave.measurements.files import RESULTS
from etherweave.pages.benchmarks.predictions import plain, predictions, read
from etherweave.report.bounds import Medium, medium

NEEDED = {"site", "networks", "rule", "seed", "experiments", "warnings", "is_finished", "launches"}
"""Keys of ``benchmarks.json`` without which there is no page."""
_NAMED = ("benchmark", "program", "fabric", "hosts", "ranks_per_node", "metric", "labels")


class Place(NamedTuple):
    """Where a host sits."""

    switch: str
    group: str = ""  # Group of the switch; empty where switches have none.


@dataclass(frozen=True)
class Benchmarks:
    """A run of benchmarks."""

    name: str
    facts: dict[str, Any]  # Contents of ``benchmarks.json``.
    launches: pl.DataFrame
    measurements: pl.DataFrame  # Those that count, with a column ``value`` in the base unit.
    points: pl.DataFrame
    """Points with ``median``, ``low``, ``high``… in the base unit, one statistic of each."""
    simulation: pl.DataFrame | None = None
    """Simulated figures; see :func:`etherweave.pages.benchmarks.predictions.predictions`."""
    mtus: Mapping[str, int] = field(default_factory=dict)
    """MTUs of fabrics, where the interface was seen [bytes]."""
    places: Mapping[str, Place] = field(default_factory=dict)  # Places of hosts, where known.
    directory: Path | None = None  # Holds what hosts counted during launches, if it was recorded.

    @property
    def networks(self) -> dict[str, dict[str, Any]]:
        """Assumed properties of each fabric, by name."""
        return {network["name"]: network for network in self.facts["networks"]}

    def medium(self, fabric: str) -> Medium:
        """Return what frames of a fabric carry."""
        network = self.networks[fabric]
        return medium(network["kind"], float(network["rate"]), self.mtus.get(fabric))

    def alpha(self, fabric: str) -> float | None:
        """Return how long the smallest message took at best; None where it was not measured [s]."""
        if not self.points.height:
            return None
        own = self.points.filter(metric="latency", fabric=fabric)
        own = own.filter(pl.col("size_bytes").is_not_null() & (pl.col("median") > 0))
        if not own.height:
            return None
        smallest = own.filter(pl.col("size_bytes") == pl.col("size_bytes").min())
        return float(smallest["median"].to_numpy().min())


def load_benchmarks(
    source: Path, simulation: Sequence[Path] = (), topology: Path | None = None
) -> Benchmarks:
    """Read a run of benchmarks.

    ``source`` is the directory of ``bench run``. ``simulation`` has tables of points that a
    simulation predicts, or results of it; see
    :func:`etherweave.pages.benchmarks.predictions.predictions`. ``topology`` is a site's file or a
    scenario that says where hosts sit; see :func:`etherweave.report.places.places`. Raises
    ``ValueError`` when a file is of another form and ``OSError`` when one cannot be read.
    """
    facts = read_json(source / RESULTS)
    if not isinstance(facts, dict) or facts.get("format") != FORMAT or NEEDED - set(facts):
        raise ValueError(f"{source / RESULTS}: no results of format {FORMAT}")
    tables = {name: read(source / f"{name}.parquet") for name in ("launches", "measurements")}
    measured = tables["measurements"]
    if measured.height:
        measured = plain(measured.filter(pl.col("is_valid") & ~pl.col("is_warm_up")), ["value"])
    known = of_switches(kept_switches(source))
    return Benchmarks(
        source.absolute().name,
        facts,
        tables["launches"],
        measured,
        _points(read(source / "points.parquet")),
        predictions(simulation) if simulation else None,
        _mtus(source, facts["networks"]),
        places(topology, hosts_of(facts), known) if topology else known,
        source,
    )


def hosts_of(facts: Mapping[str, Any]) -> list[str]:
    """List the hosts of all experiments, in the order of the site's file."""
    return list(dict.fromkeys(host for row in facts["experiments"] for host in row["hosts"]))


def _points(table: pl.DataFrame) -> pl.DataFrame:
    """Put values into one column each, and keep the best statistic of each point."""
    if not table.height:
        return table
    names = ["median", "low", "high", "min", "max", "p99", "reference_low", "reference_high"]
    ranks = pl.col("statistic").replace_strict(
        {name: rank for rank, name in enumerate(CENTRES)}, default=None, return_dtype=pl.Int64
    )
    ranked = plain(table, names).with_columns(rank=ranks).filter(pl.col("rank").is_not_null())
    return ranked.sort("rank", maintain_order=True).unique(
        [*_NAMED, "size_bytes"], keep="first", maintain_order=True
    )


def _mtus(source: Path, networks: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Find the largest MTU that an interface of each fabric was seen with."""
    seen = [nic for path in sorted(source.glob("environment/*.json")) for nic in _interfaces(path)]
    mtus: dict[str, int] = {}
    for network in networks:
        own = [facts.get("mtu") for name, facts in seen if name == network.get("interface")]
        if sizes := [size for size in own if isinstance(size, int)]:
            mtus[network["name"]] = max(sizes)
    return mtus


def _interfaces(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """List the interfaces of all snapshots in a file, wherever they stand in it."""
    try:
        left = [read_json(path)]
    except OSError:
        return
    while left:
        cell = left.pop()
        inner = cell.values() if isinstance(cell, dict) else cell if isinstance(cell, list) else ()
        left.extend(inner)
        own = cell.get("interfaces") if isinstance(cell, dict) else None
        if isinstance(own, dict):
            yield from ((name, facts) for name, facts in own.items() if isinstance(facts, dict))


def places(file: Path, hosts: Sequence[str], known: Mapping[str, Place]) -> dict[str, Place]:
    """Read places from a site's file or a scenario.

    ``file`` is TOML: a site (``[hosts.n1] switch = "leaf0"``), or a scenario; hosts that the
    scenario does not name are its hosts, in its order. ``hosts`` are in the order of the site;
    ``known`` places go before those of a scenario. Raises ``ValueError`` when the file is wrong, or
    the scenario's fabric has fewer hosts; ``OSError`` when it cannot be read_site.
    """
    if "hosts" in read_toml(file):
        return {**known, **of_switches({host.name: host.switch for host in read_site(file).hosts})}
    return {**_of_scenario(file, hosts), **known}


def of_switches(switches: Mapping[str, str | None]) -> dict[str, Place]:
    """Take places from the names of switches; a host without one has none."""
    return {host: Place(switch) for host, switch in switches.items() if switch}


def in_order(hosts: Sequence[str], places: Mapping[str, Place]) -> list[str]:
    """Put hosts of a group, and of a switch, beside each other, else in the order they have."""
    ranks = {place: rank for rank, place in enumerate(dict.fromkeys(map(places.get, hosts)))}
    groups = {place.group: rank for place, rank in reversed(ranks.items()) if place}
    last = len(hosts)

    def rank(host: str) -> tuple[int, int]:
        place = places.get(host)
        return (groups[place.group], ranks[place]) if place else (last, last)

    return sorted(hosts, key=rank)


def _of_scenario(file: Path, hosts: Sequence[str]) -> dict[str, Place]:
    built = fabric(file)
    switches = pl.DataFrame(built.tables["switches"])
    groups = dict.fromkeys(switches["switch"], "")
    if "group" in built.axes:
        own = switches[f"coordinate_{built.axes.index('group')}"]
        groups = {name: f"group {at}" for name, at in zip(switches["switch"], own, strict=True)}
    ends = dict(pl.DataFrame(built.tables["hosts"]).select("host", "switch").iter_rows())
    if not set(hosts) <= set(ends):
        if len(hosts) > len(ends):
            raise ValueError(
                f"{file}: a fabric of {len(ends)} hosts; expected at least {len(hosts)}"
            )
        ends = dict(zip(hosts, ends.values(), strict=False))
    return {host: Place(ends[host], groups[ends[host]]) for host in hosts}
