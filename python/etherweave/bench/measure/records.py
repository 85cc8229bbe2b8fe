"""Records of the executor as tables of a result."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from etherweave.bench.measure.errors import MeasureLaunchError
from etherweave.bench.measure.jobs import ScenarioJob

ROW = np.dtype(
    [
        ("job", "<u4"),
        ("rank", "<u4"),
        ("iteration", "<u4"),
        ("zero", "<u4"),
        ("start_ns", "<i8"),
        ("duration_ns", "<i8"),
    ]
)
"""Row of ``iterations.bin``."""
COUNTS = ("sent_messages", "sent_bytes", "received_messages", "received_bytes")
CLOCKS = ("clock_ahead_ns", "clock_error_ns", "clock_ahead_after_ns", "clock_error_after_ns")
RANKS = ("job", "rank", "host", *CLOCKS, "start_missed_ns", "duration_ns")
MESSAGES = ("job", "rank", "peer", *COUNTS)
STREAMS = ("job", "source", "rank", "stream", "messages", "bytes", "start_ns", "end_ns")


def tables(directory: Path, jobs: Sequence[ScenarioJob], launch: int) -> dict[str, pl.DataFrame]:
    """Read the records of a launch.

    ``jobs`` are in the order of the schedules; launches count from 0. Raises ``MeasureLaunchError``
    when a file is missing or truncated.
    """
    try:
        ranks = _csv(directory / "ranks.csv", RANKS)
        iterations = _iterations(directory / "iterations.bin")
        messages = _csv(directory / "messages.csv", MESSAGES)
        streams = _csv(directory / "streams.csv", STREAMS)
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise MeasureLaunchError(f"the executor's records cannot be read: {error}") from None
    hosts = ranks.select("job", "rank", "host")
    made = {
        "iterations": _named_iterations(iterations, hosts),
        "streams": _named_streams(streams, hosts),
        "messages": messages.cast(pl.UInt64),
        "ranks": ranks.with_columns(
            pl.col("rank").cast(pl.UInt64), scenario_host=_scenario_hosts(ranks, jobs)
        ),
    }
    return {name: _labelled(table, jobs, launch) for name, table in made.items()}


def _csv(path: Path, columns: Sequence[str]) -> pl.DataFrame:
    types = {name: pl.String if name == "host" else pl.Int64 for name in columns}
    table = pl.read_csv(path, schema_overrides=types)
    if table.columns != list(columns):
        raise ValueError(f"{path}: columns {table.columns}; expected {list(columns)}")
    return table


def _iterations(path: Path) -> pl.DataFrame:
    size = path.stat().st_size
    if size % ROW.itemsize:
        raise ValueError(f"{path}: {size} bytes; expected rows of {ROW.itemsize}")
    rows = np.fromfile(path, ROW)
    return pl.DataFrame({name: rows[name] for name in ROW.names or () if name != "zero"})


def _scenario_hosts(ranks: pl.DataFrame, jobs: Sequence[ScenarioJob]) -> pl.Series:
    places = zip(ranks["job"], ranks["rank"], strict=True)
    return pl.Series([jobs[job].hosts[rank] for job, rank in places], dtype=pl.String)


def _named_iterations(rows: pl.DataFrame, hosts: pl.DataFrame) -> pl.DataFrame:
    keyed = rows.with_columns(pl.col("job", "rank").cast(pl.Int64))
    named = keyed.join(hosts, on=["job", "rank"], how="left", maintain_order="left")
    return named.select(
        "job",
        pl.col("rank").cast(pl.UInt64),
        "host",
        pl.col("iteration").cast(pl.UInt64),
        pl.col("start_ns", "duration_ns").cast(pl.Float64),
    )


def _named_streams(rows: pl.DataFrame, hosts: pl.DataFrame) -> pl.DataFrame:
    for rank, name in (("source", "source_host"), ("rank", "destination_host")):
        named = hosts.rename({"rank": rank, "host": name})
        rows = rows.join(named, on=["job", rank], how="left", maintain_order="left")
    span_ns = pl.col("end_ns") - pl.col("start_ns")
    goodput = pl.when(span_ns > 0).then(pl.col("bytes") * 8 / span_ns).otherwise(0.0)
    return rows.select(
        "job",
        "source_host",
        "destination_host",
        pl.col("stream", "messages", "bytes").cast(pl.UInt64),
        pl.col("start_ns", "end_ns").cast(pl.Float64),
        goodput_gbps=goodput.cast(pl.Float64),
    )


def _labelled(table: pl.DataFrame, jobs: Sequence[ScenarioJob], launch: int) -> pl.DataFrame:
    """Replace numbers of jobs by names, and add the number of the launch."""
    names = [job.name for job in jobs]
    job = pl.col("job").replace_strict(range(len(names)), names, return_dtype=pl.String)
    return table.with_columns(job, launch=pl.lit(launch, dtype=pl.UInt64))
