"""The page of a sweep: its figures over its axes, the best point of each, and a row for each point.

Figures are drawn by :mod:`etherweave.report.sweep`, as ``sweep plot`` draws them.
"""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import polars as pl

from etherweave.measurements.benchmark_lines import main_columns
from etherweave.report import sweep
from etherweave.report.page import Front, Page
from etherweave.report.replicated import sentences
from etherweave.report.run.flow_figures import FIGURES as FLOW_FIGURES
from etherweave.report.run.flow_figures import Labelled
from etherweave.report.samples_page import write_samples
from etherweave.report.section import FOLDED_FROM, Section, Table
from etherweave.uncertainty.together import CONDITIONS, SAMPLE, SEED

FIGURES_MAX = 6  # Figures that are drawn; ``runs`` of the sweep has all.
TIMES = (".mean_us", ".call_us")  # Ends of names of times of jobs.
OTHERS = ("goodput_gbps", "pauses.frames", "packets_dropped")
"""Names of other figures that are drawn."""
RESULT = "result"  # Column with the name of replications that are compared.
OTHER_COLUMNS = "`etherweave sweep plot` draws other columns."


def write_sweep(
    tables: Mapping[str, pl.DataFrame],
    axes: Sequence[str],
    title: str,
    progress: str,
    flows: Labelled,
    out: Path,
) -> Path:
    """Write the page of a sweep into a directory; returns the page's path.

    ``tables`` has the runs of the sweep and, by name, of those beside it, with which sentences
    compare replications. ``progress`` says how far it is; ``flows`` are kept results, whose flows
    are drawn.
    """
    table = next(iter(tables.values()))
    if [*axes[:1]] == [SAMPLE]:  # Samples of one scenario.
        return write_samples(table, axes, title, progress, out)
    rows = points = table
    if SAMPLE in table.columns:  # Keys that samples draw are those of one point.
        number = pl.col(SAMPLE)
        rows, points = table.filter(number >= 0), table.filter(number == number.min())
    varied = [name for name in axes if is_key(name) and points[name].n_unique() > 1]
    figures = _figures(rows)
    page = Page(out)
    if len(flows) <= sweep.LINES_MAX and SAMPLE not in table.columns:
        page.show(FLOW_FIGURES, flows)
    if any(name.startswith("flows.") for name in rows.columns) and not page.sections:
        kept = f"{len(flows)} points with results" if flows else "no results"
        expected = f"`etherweave sweep --tables`, and at most {sweep.LINES_MAX} points"
        page.missing.append(f"flows by size: {kept}; expected {expected}")
    for name in figures[:FIGURES_MAX]:
        page.show([partial(_drawn, varied=varied, name=name)], rows)
    means = _means(rows, varied, figures)
    middle = "Medians of the samples" if SAMPLE in table.columns else "Means of the runs"
    beside = len(tables) > 1 and not varied
    listed = _side_by_side(tables, figures) if beside else means
    columns = [RESULT] if beside else varied
    page.show([partial(_points, varied=columns, figures=figures, middle=middle)], listed)
    best = _sentences(means, varied, figures[:FIGURES_MAX]) if varied else []
    first, *others = [*(best or sentences(tables)), progress]
    return page.write(Front(title, first, others), [])


def is_key(axis: str) -> bool:
    """Say whether an axis is a key of the scenario, and no seed and no note of samples."""
    return axis not in (SEED, SAMPLE) and not axis.startswith(CONDITIONS)


def _figures(rows: pl.DataFrame) -> list[str]:
    """Name the figures that differ between runs: those of benchmarks first, then times of jobs."""
    names = main_columns(rows.columns)
    names += [column for column in rows.columns if column.endswith(TIMES)]
    names += [other for other in OTHERS if other in rows.columns]
    return [name for name in names if rows[name].drop_nulls().n_unique() > 1]


def _drawn(rows: pl.DataFrame, varied: Sequence[str], name: str) -> Section | None:
    """Draw a figure over the first axis of amounts, lines for the next, panels for the others."""
    if not varied:
        return None
    x, *others = sorted(varied, key=lambda axis: not sweep.is_amount(rows[axis]))
    by, panels = next(iter(others), None), others[1:]
    if math.prod(rows[panel].n_unique() for panel in panels) > sweep.PANEL_MAX:
        return None
    figure = sweep.plot(rows, x, name, by, panels)
    return Section(name.replace(".", "_"), sweep.with_unit(name), _caption(rows), figure)


def _caption(rows: pl.DataFrame) -> str:
    """Say what lines and bands are."""
    if SAMPLE in rows.columns:
        return f"{sweep.BANDS}; {sweep.WITH_MODEL}. {OTHER_COLUMNS}"
    if rows[SEED].n_unique() > 1:
        return f"Means over seeds with intervals of 95 %. {OTHER_COLUMNS}"
    return OTHER_COLUMNS


def _means(rows: pl.DataFrame, varied: Sequence[str], figures: Sequence[str]) -> pl.DataFrame:
    middles = pl.col(figures).median() if SAMPLE in rows.columns else pl.col(figures).mean()
    columns = [pl.len().alias("runs"), middles]
    if not varied:
        return rows.select(columns)
    return rows.group_by(varied, maintain_order=True).agg(columns)


def _side_by_side(tables: Mapping[str, pl.DataFrame], figures: Sequence[str]) -> pl.DataFrame:
    """Give the means of replications and of those beside them, a row for each."""
    rows = []
    for name, table in tables.items():
        means = _means(table, [], [figure for figure in figures if figure in table.columns])
        rows.append(means.insert_column(0, pl.Series(RESULT, [name])))
    return pl.concat(rows, how="diagonal")


def _points(
    means: pl.DataFrame, varied: Sequence[str], figures: Sequence[str], middle: str
) -> Section:
    head = [*varied, "runs", *map(sweep.with_unit, figures)]
    cells = [[_text(value) for value in row] for row in means.rows()]
    caption = f"{middle} of each point."
    table = Table(head, cells, caption, is_folded=len(cells) >= FOLDED_FROM)
    return Section("points", "Points", tables=[table])


def _text(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:,.5g}" if isinstance(value, float) else f"{value}"


def _sentences(means: pl.DataFrame, axes: Sequence[str], figures: Sequence[str]) -> list[str]:
    """Say where each figure is smallest and largest, by names that are as short as they can be."""
    names = [*axes, *figures]
    short = {name: _short(name, names, 1 if name in axes else 2) for name in names}
    table = means.select(names).rename(short)
    return [_best(table, [short[axis] for axis in axes], short[figure]) for figure in figures]


def _short(name: str, names: Sequence[str], parts: int) -> str:
    """Return the end of a name, of at least so many parts, that no other name has."""
    words = name.split(".")
    counts = (count for count in range(parts, len(words)) if not words[-count].isdecimal())
    ends = (".".join(words[-count:]) for count in counts)
    alone = (end for end in ends if sum(f".{own}".endswith(f".{end}") for own in names) == 1)
    return next(alone, name)


def _best(means: pl.DataFrame, varied: Sequence[str], name: str) -> str:
    """Say where a figure is smallest and largest."""
    ordered = means.drop_nulls(name).sort(name)
    ends = [ordered.row(at, named=True) for at in (0, -1)]
    places = [", ".join(f"{axis} = {row[axis]}" for axis in varied) for row in ends]
    texts = [f"{_text(row[name])} at {at}" for row, at in zip(ends, places, strict=True)]
    return f"{sweep.with_unit(name)}: from {texts[0]} to {texts[1]}.{_by_axis(means, varied, name)}"


def _by_axis(means: pl.DataFrame, varied: Sequence[str], name: str) -> str:
    """Say by what factor a figure changes over each of several axes, the largest first.

    Nothing where a combination has no figure: means over the others would differ by their points.
    """
    combinations = math.prod(means[axis].n_unique() for axis in varied)
    if len(varied) < 2 or means[name].drop_nulls().len() < combinations:
        return ""
    ratios = []
    for axis in varied:
        middles = means.group_by(axis).agg(pl.col(name).mean())[name].sort()
        if middles[0] <= 0:
            return ""
        ratios.append((middles[-1] / middles[0], axis))
    factors = [f"{ratio:.3g} over {axis}" for ratio, axis in sorted(ratios, reverse=True)]
    return f" Its means differ by a factor of {', of '.join(factors)}."
