"""Figures of a few benchmarks in a sentence each, for the head of their page."""

from typing import Any

import polars as pl

from etherweave.api.units import Unit, amount, size_text
from etherweave.pages.benchmarks.data import Benchmarks
from etherweave.pages.benchmarks.sweeps import LINKS

ANSWERS_MAX = 6  # Most tests whose figures stand in the head of the page.
_TEST = ["program", "fabric", "hosts", "labels", "metric", "unit"]


def figures(benchmarks: Benchmarks) -> list[str]:
    """Give the largest rate or the time of the smallest message of each test, if they are few."""
    points = benchmarks.points
    if not points.height:
        return []
    tests = points.filter(pl.col("unit").is_in([Unit.SECONDS, Unit.BYTES_PER_SECOND]))
    rows = [_row(own) for _, own in tests.group_by(_TEST, maintain_order=True)]
    return [_figure(benchmarks, row) for row in rows] if len(rows) <= ANSWERS_MAX else []


def _row(test: pl.DataFrame) -> dict[str, Any]:
    """Return the point with the largest rate, or that of the smallest message."""
    is_rate = test["unit"][0] == Unit.BYTES_PER_SECOND
    ordered = test.sort("median", descending=True) if is_rate else test.sort("size_bytes")
    return ordered.row(0, named=True)


def _figure(benchmarks: Benchmarks, row: dict[str, Any]) -> str:
    rate = LINKS.get(row["metric"], 0) * benchmarks.medium(row["fabric"]).rate
    share = f", {row['median'] / rate:.0%} of {rate * 8e-9:g} Gb/s" if rate else ""
    size = f" at {size_text(row['size_bytes'])}" if row["size_bytes"] is not None else ""
    value = f"{amount(row['median'], row['unit'])}{size}{share}"
    labels = f" {row['labels']}" if row["labels"] else ""
    return f"{row['program']}{labels} on {row['fabric']}: {value}"
