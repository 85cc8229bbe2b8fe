"""Every point as a row."""

import polars as pl

from etherweave.report.benchmarks import Benchmarks
from etherweave.report.section import FOLDED_FROM, Section, Table

_SCALES = {"s": (1e6, "us"), "B/s": (8e-9, "Gb/s"), "1/s": (1.0, "1/s"), "B": (1.0, "B")}
_COUNT = (1.0, "")
_MOST = 500
"""Rows that are shown; the tables beside the page have all."""
_VALUES = ("median", "low", "high", "min", "max", "p99", "reference_low", "reference_high")
_WORDS = ("program", "fabric", "hosts", "metric", "labels")


def section(found: Benchmarks) -> Section | None:
    """Show medians with their intervals, and published figures beside them."""
    if not found.points.height:
        return None
    tables = [
        _table(str(unit), own)
        for (unit,), own in found.points.group_by("unit", maintain_order=True)
    ]
    caption = (
        "Medians of launches with their 95 % interval (empty: too few launches), the smallest and "
        "the largest of all values, the 99th percentile (the first of rates) where there are 299 "
        "values or more, and published figures. All numbers are in points.csv."
    )
    return Section("points", "All points", caption, tables=[*tables, *_sources(found)])


def _sources(found: Benchmarks) -> list[Table]:
    """List where the published figures are from, and of which points."""
    programs: dict[str, set[str]] = {}
    for point in found.facts.get("points", []):
        for source in (point.get("reference") or {}).get("sources", []):
            programs.setdefault(source, set()).add(f"{point['program']} on {point['fabric']}")
    rows = [(source, ", ".join(sorted(own))) for source, own in programs.items()]
    caption = "Where the published figures are from"
    return [Table(("source", "shown beside"), rows, caption)] if rows else []


def _table(unit: str, rows: pl.DataFrame) -> Table:
    scale, name = _SCALES.get(unit, _COUNT)
    brackets = f" [{name}]" if name else ""
    head = (
        *("", "size [bytes]", "n", f"median{brackets}", "from", "to", "min", "max", "p99"),
        *("published", "ratio", ""),
    )
    shown = [_row(row, scale) for row in rows.head(_MOST).iter_rows(named=True)]
    told = f"{rows.height} points{brackets}, the first {_MOST} shown" * (rows.height > _MOST)
    caption = told or f"{rows.height} points{brackets}"
    return Table(head, shown, caption, is_folded=len(shown) > FOLDED_FROM)


def _row(row: dict[str, object], scale: float) -> list[str]:
    words = " ".join(str(row[name]) for name in _WORDS if row[name])
    size = row["size_bytes"]
    values = [_number(row[name], scale) for name in _VALUES]
    published = " … ".join(dict.fromkeys(value for value in values[6:] if value))
    state = "" if row["is_stable"] else "unstable"
    sized = "" if size is None else f"{size:,}"
    ratio = _number(row["reference_ratio"], 1.0)
    return [words, sized, str(row["n"]), *values[:6], published, ratio, state]


def _number(value: object, scale: float) -> str:
    return f"{value * scale:.4g}" if isinstance(value, int | float) else ""
