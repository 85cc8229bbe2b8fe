"""Points of benchmarks: rates without a message size, and every point as a row."""

from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etherweave.pages.benchmarks.data import Benchmarks
from etherweave.report.section import FOLDED_FROM, Section, Table
from etherweave.report.style import GIGABITS, INK, SERIES, finish_rows, mark_link

RATES_CAPTION = (
    "Medians of launches with their 95 % interval, hollow where unstable; dashed is the rate of a "
    "host's link"
)
_FULL_FRAMES = ", dotted the payload of full frames where the kind of fabric is known"
_RATES_MAX = 30  # Rows that are shown; the table of points has all.
_LINK = "bandwidth"  # The metric of one pair in one direction, which its link bounds.
_NAMES = ("program", "hosts", "ranks_per_node", "labels")


def rates(benchmarks: Benchmarks) -> Section | None:
    """Show what streams carried between two hosts, and what their link could."""
    if not benchmarks.points.height:
        return None
    rows = benchmarks.points.filter(pl.col("size_bytes").is_null(), metric=_LINK)
    if not rows.height:
        return None
    parts = {str(fabric): part for (fabric,), part in rows.group_by("fabric", maintain_order=True)}
    counts = [min(part.height, _RATES_MAX) for part in parts.values()]
    figure = Figure(figsize=(9, sum(1.1 + 0.24 * count for count in counts)))
    panels = figure.subplots(
        len(parts), 1, squeeze=False, height_ratios=[4 + count for count in counts]
    )
    distinct = [name for name in _NAMES if rows[name].n_unique() > 1] or ["program"]
    for number, (axes, (fabric, part)) in enumerate(zip(panels[:, 0], parts.items(), strict=True)):
        colour = SERIES[number % len(SERIES)]
        for place, row in enumerate(part.head(_RATES_MAX).iter_rows(named=True)):
            _draw_rate(axes, place, row, colour)
            mark_link(axes, place, benchmarks.medium(fabric))
        names = part.head(_RATES_MAX).select(distinct).iter_rows()
        finish_rows(axes, [" ".join(map(str, name)) for name in names], "payload [Gb/s]")
        axes.set_title(fabric)
    rest = f" Of a fabric the first {_RATES_MAX} rows." * any(
        part.height > _RATES_MAX for part in parts.values()
    )
    published = " Black lines are published figures." * rows["reference_low"].is_not_null().any()
    dotted = _FULL_FRAMES * any(benchmarks.medium(fabric).wire is not None for fabric in parts)
    caption = f"{RATES_CAPTION}{dotted}.{published}{rest}"
    return Section("rates", "Bandwidth of streams", caption, figure)


def _draw_rate(axes: Axes, place: int, row: dict[str, Any], colour: str) -> None:
    median, low, high = (row[name] for name in ("median", "low", "high"))
    if low is not None and high is not None:
        axes.hlines(place, low * GIGABITS, high * GIGABITS, color=colour, linewidth=5, alpha=0.3)
    face = colour if row["is_stable"] else "white"
    axes.plot(median * GIGABITS, place, "o", color=colour, mfc=face, label="measured")
    if row["reference_low"] is not None:
        ends = [row[name] * GIGABITS for name in ("reference_low", "reference_high")]
        name = f"published; measured is {row['reference_ratio']:.3g} of it"
        axes.plot(ends, [place + 0.3] * 2, "-D", color=INK, markersize=3, label=name)


_SCALES = {"s": (1e6, "us"), "B/s": (8e-9, "Gb/s"), "1/s": (1.0, "1/s"), "B": (1.0, "B")}
_COUNT = (1.0, "")
_MAX = 500  # Rows that are shown; the tables beside the page have all.
_VALUES = ("median", "low", "high", "min", "max", "p99", "reference_low", "reference_high")
_WORDS = ("program", "fabric", "hosts", "metric", "labels")


def points(benchmarks: Benchmarks) -> Section | None:
    """Show medians with their intervals, and published figures beside them."""
    if not benchmarks.points.height:
        return None
    tables = [
        _table(str(unit), own)
        for (unit,), own in benchmarks.points.group_by("unit", maintain_order=True)
    ]
    caption = (
        "Medians of launches with their 95 % interval (empty: too few launches), the smallest and "
        "the largest of all values, the 99th percentile (the first of rates) where there are 299 "
        "values or more, and published figures. All numbers are in points.csv."
    )
    return Section("points", "All points", caption, tables=[*tables, *_sources(benchmarks)])


def _sources(benchmarks: Benchmarks) -> list[Table]:
    """List where the published figures are from, and of which points."""
    programs: dict[str, set[str]] = {}
    for point in benchmarks.facts.get("points", []):
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
    shown = [_row(row, scale) for row in rows.head(_MAX).iter_rows(named=True)]
    cut = f"{rows.height} points{brackets}, the first {_MAX} shown" * (rows.height > _MAX)
    caption = cut or f"{rows.height} points{brackets}"
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
