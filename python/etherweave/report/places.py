"""Where hosts sit: the switch of each, and the group of that switch."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from etherweave.bench.site.reading import read
from etherweave.fabrics import fabric


class Place(NamedTuple):
    """Where a host sits."""

    switch: str
    group: str = ""
    """Of the switch; empty where switches have none."""


def places(file: Path, hosts: Sequence[str], known: Mapping[str, Place]) -> dict[str, Place]:
    """Read places from a site's file or a scenario.

    Parameters
    ----------
    file
        TOML: a site (``[hosts.n1] switch = "leaf0"``), or a scenario. Hosts that the scenario does
        not name are its hosts, in its order.
    hosts
        Whose places are asked for, in the order of the site.
    known
        Places that are known already; they go before those of a scenario.

    Raises
    ------
    ValueError
        When the file is wrong, or the scenario's fabric has fewer hosts.
    OSError
        When it cannot be read.
    """
    if _is_site(file):
        return {**known, **of_switches({one.name: one.switch for one in read(file).hosts})}
    return {**_of_scenario(file, hosts), **known}


def of_switches(switches: Mapping[str, str | None]) -> dict[str, Place]:
    """Take places from the names of switches; a host without one has none."""
    return {host: Place(switch) for host, switch in switches.items() if switch}


def in_order(hosts: Sequence[str], found: Mapping[str, Place]) -> list[str]:
    """Put hosts of a group, and of a switch, beside each other, else in the order they have."""
    ranks = {place: rank for rank, place in enumerate(dict.fromkeys(map(found.get, hosts)))}
    groups = {place.group: rank for place, rank in reversed(ranks.items()) if place}
    last = len(hosts)

    def rank(host: str) -> tuple[int, int]:
        place = found.get(host)
        return (groups[place.group], ranks[place]) if place else (last, last)

    return sorted(hosts, key=rank)


def _is_site(file: Path) -> bool:
    try:
        return "hosts" in tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{file}: {error}; expected a site or a scenario, TOML") from None


def _of_scenario(file: Path, hosts: Sequence[str]) -> dict[str, Place]:
    built = fabric(file)
    switches = pl.DataFrame(built.tables["switches"])
    groups = dict.fromkeys(switches["switch"], "")
    if "group" in built.axes:
        own = switches[f"coordinate_{built.axes.index('group')}"]
        groups = {
            one: f"group {number}" for one, number in zip(switches["switch"], own, strict=True)
        }
    ends = dict(pl.DataFrame(built.tables["hosts"]).select("host", "switch").iter_rows())
    if not set(hosts) <= set(ends):
        if len(hosts) > len(ends):
            raise ValueError(
                f"{file}: a fabric of {len(ends)} hosts; expected at least {len(hosts)}"
            )
        ends = dict(zip(hosts, ends.values(), strict=False))
    return {host: Place(ends[host], groups[ends[host]]) for host in hosts}
