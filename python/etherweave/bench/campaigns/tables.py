"""A campaign as tables: Parquet and CSV, with units in the names of columns.

A value is in the column of its unit: ``value_s`` for times, ``value_bytes_per_s`` for rates.
"""

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars

from etherweave.api.outputs import below, quoted_table
from etherweave.bench.campaigns.points import JudgedLaunch, point_of
from etherweave.bench.campaigns.store import Store, write_atomically, write_json
from etherweave.bench.campaigns.summary import CampaignSummary, PointSummary
from etherweave.measurements.files import RESULTS

SUFFIXES = {"s": "_s", "B/s": "_bytes_per_s", "1/s": "_per_s", "B": "_bytes", "1": ""}
"""Suffixes of columns, by base units."""
_STATISTICS = ("median", "low", "high", "min", "max", "p99", "reference_low", "reference_high")


def save(store: Store, campaign_summary: CampaignSummary) -> Path:
    """Write all tables and the summary into a store; returns the summary's path.

    The tables are ``launches``, ``measurements`` (each number of each launch, the warm-up too) and
    ``points`` (statistics).
    """
    for name, table in tables(campaign_summary).items():
        _write(below(store.directory, f"{name}.parquet"), table)
        _write(below(store.directory, f"{name}.csv"), table)
    path = store.directory / RESULTS
    write_json(path, campaign_summary.facts())
    return path


def tables(campaign_summary: CampaignSummary) -> dict[str, polars.DataFrame]:
    """Make the tables, by name."""
    return {
        "launches": _table([_launch(launch) for launch in campaign_summary.launches]),
        "measurements": _table(
            [row for launch in campaign_summary.launches for row in _measurements(launch)]
        ),
        "points": _table([_point(point) for point in campaign_summary.points]),
    }


def _launch(judged_launch: JudgedLaunch) -> dict[str, Any]:
    record = judged_launch.record
    return {
        "launch": record.name,
        "experiment": record.experiment,
        "round": record.round,
        "is_warm_up": record.is_warm_up,
        "is_valid": judged_launch.verdict.is_valid,
        "problems": "; ".join(judged_launch.verdict.problems),
        "ending": record.ending,
        "start_ns": record.start_ns,
        "end_ns": record.end_ns,
        "session": record.session,
        "launcher": record.launcher,
        "version": record.version,
        "words": json.dumps(record.words),
    }


def _measurements(judged_launch: JudgedLaunch) -> list[dict[str, Any]]:
    return [
        {
            "launch": judged_launch.record.name,
            "round": judged_launch.record.round,
            "is_warm_up": judged_launch.record.is_warm_up,
            "is_valid": judged_launch.verdict.is_valid,
            **vars(point_of(judged_launch.experiment, measured)),
            **_in_columns(measured.metric.unit, {"value": measured.value}),
            "printed": measured.printed,
        }
        for measured in judged_launch.verdict.measurements
    ]


def _point(point_summary: PointSummary) -> dict[str, Any]:
    facts = point_summary.facts()
    band = point_summary.band
    facts["reference_low"] = band.low if band else None
    facts["reference_high"] = band.high if band else None
    values = {name: facts[name] for name in _STATISTICS}
    return {
        **vars(point_summary.point),
        "n": facts["n"],
        **_in_columns(point_summary.point.unit, values),
        "reference_ratio": band.ratio if band else None,
        "outliers": facts["outliers"],
        "is_stable": facts["is_stable"],
        "doubts": "; ".join(facts["doubts"]),
    }


def _in_columns(unit: str, values: dict[str, float | None]) -> dict[str, float | None]:
    return {f"{name}{SUFFIXES[unit]}": value for name, value in values.items()}


def _table(rows: Sequence[dict[str, Any]]) -> polars.DataFrame:
    """Put rows together; a column that one of them lacks is null there."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: [row.get(name) for row in rows] for name in names}
    return polars.DataFrame(columns, strict=False)


def _write(path: Path, table: polars.DataFrame) -> None:
    octets = io.BytesIO()
    if path.suffix == ".parquet":
        table.write_parquet(octets)
    else:
        quoted_table(table).write_csv(octets)
    write_atomically(path, octets.getvalue())
