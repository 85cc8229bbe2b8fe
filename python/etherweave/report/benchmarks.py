"""The report of benchmarks on a real cluster, from the tables that a run left."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from etherweave.report.page import Front, Page

RESULTS = "benchmarks.json"
FORMAT = 1
NEEDED = {"site", "networks", "rule", "seed", "experiments", "warnings", "is_finished", "launches"}
"""Keys of ``benchmarks.json`` without which there is no page."""
UNITS = {"s": "_s", "B/s": "_bytes_per_s", "1/s": "_per_s", "B": "_bytes", "1": ""}
"""Ends of columns' names, by base units."""
CENTRES = ("p50", "mean", "sum")
"""Statistics that stand for a point, the best first."""
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
    """``metric``, ``size_bytes`` and ``median``, if given."""

    @property
    def networks(self) -> dict[str, dict[str, Any]]:
        """What is believed of each fabric, by name."""
        return {one["name"]: one for one in self.facts["networks"]}


def load_benchmarks(source: Path, simulation: Path | None = None) -> Benchmarks:
    """Read a run of benchmarks.

    Parameters
    ----------
    source
        Directory of ``bench run``.
    simulation
        A table of points (CSV or Parquet) that a simulation foretold: ``metric``, ``unit``,
        ``size_bytes`` and ``median_s`` or ``median_bytes_per_s``, as in ``points.csv``.

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
    tables = {name: _table(source / f"{name}.parquet") for name in ("launches", "measurements")}
    measured = tables["measurements"]
    if measured.height:
        measured = _plain(measured.filter(pl.col("is_valid") & ~pl.col("is_warm_up")), ["value"])
    points = _points(_table(source / "points.parquet"))
    foretold = _simulated(simulation) if simulation else None
    name = source.absolute().name
    return Benchmarks(name, facts, tables["launches"], measured, points, foretold)


def write_benchmarks(found: Benchmarks, out: Path) -> Path:
    """Write the page of a run of benchmarks into a directory; returns the page's path."""
    from etherweave.report.figures.benchmarks import BENCHMARKS

    page = Page(out)
    page.show(BENCHMARKS, found)
    return page.write(_front(found), [("What was asked for", json.dumps(_asked(found), indent=2))])


def _front(found: Benchmarks) -> Front:
    facts = found.facts
    own = [one for one in facts["experiments"] if one["counted"]]
    lead = (
        f"{len(own)} of {len(facts['experiments'])} experiments on {facts['site']} gave numbers, "
        f"in {facts['launches']:,} launches."
    )
    trouble = "" if facts["is_finished"] else "The run was interrupted: launches are missing."
    return Front(found.name, lead, _facts(facts), facts["warnings"], trouble)


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


def _table(path: Path) -> pl.DataFrame:
    try:
        return pl.read_csv(path) if path.suffix == ".csv" else pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise ValueError(f"{path}: {error}") from None


def _points(table: pl.DataFrame) -> pl.DataFrame:
    """Put values into one column each, and keep the best statistic of each point."""
    if not table.height:
        return table
    names = ["median", "low", "high", "min", "max", "p99", "reference_low", "reference_high"]
    ranks = pl.col("statistic").replace_strict(
        {name: rank for rank, name in enumerate(CENTRES)}, default=None, return_dtype=pl.Int64
    )
    ranked = _plain(table, names).with_columns(rank=ranks).filter(pl.col("rank").is_not_null())
    return ranked.sort("rank", maintain_order=True).unique(
        [*_NAMED, "size_bytes"], keep="first", maintain_order=True
    )


def _plain(table: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Take each value from the column of its unit."""
    made = [
        pl.coalesce(
            *(
                pl.col(f"{name}{end}").cast(pl.Float64)
                for end in UNITS.values()
                if f"{name}{end}" in table.columns
            ),
            pl.lit(None, pl.Float64),
        ).alias(name)
        for name in names
    ]
    return table.with_columns(made)


def _simulated(path: Path) -> pl.DataFrame:
    table = _table(path)
    if missing := {"metric", "unit", "size_bytes"} - set(table.columns):
        raise ValueError(f"{path}: no column {min(missing)}; expected a table of points")
    found = _plain(table, ["median"])
    if found["median"].null_count() == found.height:
        raise ValueError(f"{path}: no medians; expected median_s or median_bytes_per_s")
    return found
