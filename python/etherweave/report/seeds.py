"""Means over seeds, with their intervals by Student's t, as tables and as bands of figures."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from matplotlib.axes import Axes

from etherweave.uncertainty.means import bounded, half_widths

LOW, HIGH = "_low", "_high"  # Ends of names of columns with both ends of an interval.
CAPTION = (
    " Lines and bars are means over seeds, with intervals of 95 % of these means by Student's t."
)


def over_seeds(rows: pl.DataFrame, keys: Sequence[str], measures: Sequence[str]) -> pl.DataFrame:
    """Average rows with equal keys, one of each seed; measures get columns of their intervals.

    Rows of which each has keys of its own stay. A measure that a seed lacks has no mean.
    """
    groups = rows.group_by(keys, maintain_order=True)
    if groups.len()["len"].max() == 1:
        return rows
    others = [name for name in rows.columns if name not in (*keys, *measures)]
    means = groups.agg(
        pl.len().alias("seeds"),
        pl.col(others).mean(),
        *(pl.when(pl.col(name).null_count() == 0).then(pl.col(name).mean()) for name in measures),
        *(pl.col(name).std().alias(f"{name}{LOW}") for name in measures),
        *(pl.col(name).min().alias(f"{name}{HIGH}") for name in measures),
    )
    for name in measures:
        columns = f"{name}{LOW}", f"{name}{HIGH}"
        deviations, least = (means[column].to_numpy() for column in columns)
        half, middle = half_widths(deviations, means["seeds"].to_numpy()), means[name].to_numpy()
        ends = bounded(name, least, middle - half, middle + half)
        series = (pl.Series(end, nan_to_null=True) for end in ends)
        means = means.with_columns(**dict(zip(columns, series, strict=True)))
    return means


def caption(text: str, results: Mapping[str, Sequence[object]]) -> str:
    """Say below a figure that it has means, where a label has results of several seeds."""
    return text + CAPTION * any(len(seeds) > 1 for seeds in results.values())


def band(axes: Axes, line: pl.DataFrame, along: str, name: str, colour: Any) -> None:
    """Draw the interval of a line, if it has one; beside the line where that is of shares."""
    if f"{name}{LOW}" in line.columns:
        fill = axes.fill_betweenx if along == "share" else axes.fill_between
        fill(
            line[along], line[f"{name}{LOW}"], line[f"{name}{HIGH}"], color=colour, alpha=0.2, lw=0
        )
