"""Figures beside benchmarks: points of a table, or of results of the same tests."""

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from etherweave.api.inputs import read_parquet, read_text
from etherweave.api.results import SUMMARY, Result
from etherweave.bench.campaigns.tables import SUFFIXES
from etherweave.measurements.quantities import Quantity, quantities
from etherweave.report.result_fabric import fabric

_SCHEMA = {
    "name": pl.String,
    "origin": pl.String,
    "program": pl.String,
    "metric": pl.String,
    "unit": pl.String,
    "size_bytes": pl.Int64,
    "median": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "is_simulated": pl.Boolean,
}
_TESTS = "osu_latency, osu_bw, osu_bibw or osu_collective"


def predictions(sources: Sequence[Path]) -> pl.DataFrame:
    """Read points.

    A source is a table (CSV or Parquet) with ``metric``, ``unit``, ``size_bytes`` and ``median_s``
    or ``median_bytes_per_s``, as in ``points.csv``, perhaps ``program``; or a directory of
    ``etherweave run`` or ``measure`` with OSU's tests; or a directory of such directories. Returns
    ``name`` (of the curve), ``program`` (empty: any), ``metric``, ``unit``, ``size_bytes``,
    ``median``, ``low`` and ``high`` in base units, and ``is_simulated``. Raises ``ValueError`` when
    a source is neither, or has no points; ``OSError`` when one cannot be read.
    """
    parts = [_directory(source) if source.is_dir() else _table(source) for source in sources]
    return _distinguished(pl.concat(parts))


def read(path: Path) -> pl.DataFrame:
    """Read a table, CSV or Parquet; raises ``ValueError`` when it is none."""
    try:
        if path.suffix == ".csv":
            return pl.read_csv(io.StringIO(read_text(path)))
        return pl.DataFrame(read_parquet(path))
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"{path}: {error}") from None


def plain(table: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Take each value from the column of its unit."""
    made = [
        pl.coalesce(
            *(
                pl.col(f"{name}{end}").cast(pl.Float64)
                for end in SUFFIXES.values()
                if f"{name}{end}" in table.columns
            ),
            pl.lit(None, pl.Float64),
        ).alias(name)
        for name in names
    ]
    return table.with_columns(made)


def _table(path: Path) -> pl.DataFrame:
    table = read(path)
    if missing := {"metric", "unit", "size_bytes"} - set(table.columns):
        raise ValueError(f"{path}: no column {min(missing)}; expected a table of points")
    try:
        points = plain(table, ["median", "low", "high"])
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"{path}: {error}; expected numbers") from None
    if points["median"].null_count() == points.height:
        raise ValueError(f"{path}: no medians; expected median_s or median_bytes_per_s")
    program = pl.col("program") if "program" in table.columns else pl.lit("")
    named = points.with_columns(
        name=pl.lit("simulated"),
        origin=pl.lit(path.name),
        program=program.fill_null(""),
        is_simulated=pl.lit(True),
    )
    return named.select(pl.col(name).cast(kind) for name, kind in _SCHEMA.items())


def _directory(path: Path) -> pl.DataFrame:
    homes = (
        [path]
        if (path / SUMMARY).exists()
        else sorted(file.parent for file in path.glob(f"*/{SUMMARY}"))
    )
    if not homes:
        raise ValueError(f"{path}: no result here; expected what `etherweave run -o` wrote")
    rows = [row for home in homes for row in _rows(home)]
    if not rows:
        raise ValueError(f"{path}: no job like a benchmark; expected {_TESTS}, run to its end")
    return pl.DataFrame(rows, schema=_SCHEMA)


def _rows(home: Path) -> Iterator[dict[str, Any]]:
    result = Result.load(home)
    where = fabric(result)
    words = f"{where.words}, {where.medium.rate * 8e-9:g} Gb/s"
    is_simulated = "measured" not in result.summary
    how = "simulated" if is_simulated else "same schedule, measured"
    for quantity in quantities(result):
        if quantity.size_bytes is not None and not quantity.test:
            ranks = f", {quantity.ranks} ranks" * (quantity.ranks > 2)
            yield {
                "name": f"{how}: {quantity.program}{ranks},\n{words}",
                "origin": home.name,
                "program": quantity.program,
                "metric": quantity.metric.name,
                "unit": quantity.metric.unit.value,
                "size_bytes": quantity.size_bytes,
                "median": quantity.median,
                **_extremes(quantity),
                "is_simulated": is_simulated,
            }


def _extremes(quantity: Quantity) -> dict[str, float | None]:
    if len(quantity.values) < 2:
        return {"low": None, "high": None}
    return {"low": min(quantity.values), "high": max(quantity.values)}


def _distinguished(points: pl.DataFrame) -> pl.DataFrame:
    """Add where points come from to the names of curves that would have two at a size."""
    twice = pl.len().over("name", "metric", "size_bytes") > 1
    names = points.filter(twice.alias("twice")).get_column("name").unique()
    longer = pl.format("{} ({})", "name", "origin")
    is_shared = pl.col("name").is_in(names.to_list())
    return points.with_columns(name=pl.when(is_shared).then(longer).otherwise("name"))
