"""The report of benchmarks on a real cluster, from the tables that a run left."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from etherweave.bench.points import CENTRES
from etherweave.bench.store import kept_switches
from etherweave.bench.summary import FORMAT
from etherweave.bench.tables import RESULTS
from etherweave.report.bounds import Medium, medium
from etherweave.report.foretold import foretold, plain, read
from etherweave.report.page import Front, Page
from etherweave.report.places import Place, of_switches, places

NEEDED = {"site", "networks", "rule", "seed", "experiments", "warnings", "is_finished", "launches"}
"""Keys of ``benchmarks.json`` without which there is no page."""
_NAMED = ("benchmark", "program", "fabric", "hosts", "ranks_per_node", "metric", "labels")


@dataclass(frozen=True)
class Benchmarks:
    """A run of benchmarks."""

    name: str
    facts: dict[str, Any]
    """Of ``benchmarks.json``."""
    launches: pl.DataFrame
    measurements: pl.DataFrame
    """With a column ``value`` in the base unit; only those that count."""
    points: pl.DataFrame
    """With ``median``, ``low``, ``high``… in the base unit, one statistic of each."""
    simulation: pl.DataFrame | None = None
    """What was simulated; see :func:`etherweave.report.foretold.foretold`."""
    mtus: Mapping[str, int] = field(default_factory=dict)
    """Of fabrics, where the interface was seen [bytes]."""
    places: Mapping[str, Place] = field(default_factory=dict)
    """Of hosts, where they are known."""
    directory: Path | None = None
    """Holds what hosts counted during launches, if it was recorded."""

    @property
    def networks(self) -> dict[str, dict[str, Any]]:
        """What is believed of each fabric, by name."""
        return {one["name"]: one for one in self.facts["networks"]}

    def medium(self, fabric: str) -> Medium:
        """Tell what frames of a fabric carry."""
        network = self.networks[fabric]
        return medium(network["kind"], float(network["rate"]), self.mtus.get(fabric))

    def alpha(self, fabric: str) -> float | None:
        """Tell how long the smallest message took at best; None where it was not measured [s]."""
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

    Parameters
    ----------
    source
        Directory of ``bench run``.
    simulation
        Tables of points that a simulation foretold, or results of it; see
        :func:`etherweave.report.foretold.foretold`.
    topology
        A site's file or a scenario that tells where hosts sit; see
        :func:`etherweave.report.places.places`.

    Raises
    ------
    ValueError
        When a file is of another form.
    OSError
        When one cannot be read.
    """
    facts = json.loads((source / RESULTS).read_text(encoding="utf-8"))
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
        foretold(simulation) if simulation else None,
        _mtus(source, facts["networks"]),
        places(topology, hosts_of(facts), known) if topology else known,
        source,
    )


def hosts_of(facts: Mapping[str, Any]) -> list[str]:
    """List the hosts of all experiments, in the order of the site's file."""
    return list(dict.fromkeys(host for one in facts["experiments"] for host in one["hosts"]))


def write_benchmarks(found: Benchmarks, out: Path) -> Path:
    """Write the page of a run of benchmarks into a directory; returns the page's path."""
    from etherweave.report.figures.benchmarks import BENCHMARKS, bandwidth, pairs, telemetry

    page = Page(out)
    page.show(BENCHMARKS, found)
    page.show(telemetry.builders(found), found)
    findings = [*bandwidth.findings(found), *pairs.findings(found)]
    return page.write(
        _front(found, findings),
        [("What was asked for", json.dumps(_asked(found), indent=2))],
    )


def _front(found: Benchmarks, findings: Sequence[str]) -> Front:
    facts = found.facts
    own = [one for one in facts["experiments"] if one["counted"]]
    lead = (
        f"{len(own)} of {len(facts['experiments'])} experiments on {facts['site']} gave numbers, "
        f"in {facts['launches']:,} launches."
    )
    trouble = "" if facts["is_finished"] else "The run was interrupted: launches are missing."
    warnings = [*findings, *facts["warnings"]]
    return Front(found.name, lead, _facts(facts), warnings, trouble)


def _facts(facts: dict[str, Any]) -> list[tuple[str, str]]:
    rule = facts["rule"]
    precision = (
        f"until the median's {rule['confidence']:.0%} interval reaches "
        f"{rule['half_width']:.0%} or less"
    )
    networks = [
        f"{one['name']}: {one['rate'] * 8 / 1e9:g} Gb/s, {one['latency'] * 1e6:g} us"
        for one in facts["networks"]
    ]
    return [
        ("cluster", facts["site"]),
        ("measured", f"{_moment(facts['start_ns'])} to {_moment(facts['end_ns'])} (UTC)"),
        ("fabrics, as believed", "; ".join(networks)),
        ("launches", f"{rule['launches_min']} to {rule['launches_max']} each, {precision}"),
        ("order", f"shuffled in rounds, seed {facts['seed']}; the first round is warm-up"),
        ("Etherweave", facts["version"]),
        ("identity", facts["identity"]),
    ]


def _asked(found: Benchmarks) -> dict[str, Any]:
    return {name: found.facts[name] for name in ("site", "networks", "rule", "seed", "experiments")}


def _moment(ns: int | None) -> str:
    return "–" if ns is None else f"{datetime.fromtimestamp(ns / 1e9, UTC):%Y-%m-%d %H:%M:%S}"


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
    seen = [one for path in sorted(source.glob("environment/*.json")) for one in _interfaces(path)]
    found: dict[str, int] = {}
    for network in networks:
        own = [facts.get("mtu") for name, facts in seen if name == network.get("interface")]
        if sizes := [size for size in own if isinstance(size, int)]:
            found[network["name"]] = max(sizes)
    return found


def _interfaces(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """List the interfaces of all snapshots in a file, wherever they stand in it."""
    try:
        left = [json.loads(path.read_bytes())]
    except (ValueError, RecursionError):
        return
    while left:
        value = left.pop()
        inner = (
            value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        )
        left.extend(inner)
        own = value.get("interfaces") if isinstance(value, dict) else None
        if isinstance(own, dict):
            yield from ((name, facts) for name, facts in own.items() if isinstance(facts, dict))
