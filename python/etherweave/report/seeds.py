"""Means over seeds, with their intervals by Student's t, as tables and as bands of figures."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from matplotlib.axes import Axes

CONFIDENCE = 0.95  # Confidence of the interval of a mean.
LOW, HIGH = "_low", "_high"  # Ends of names of columns with both ends of an interval.
CAPTION = (
    " Lines and bars are means over seeds, with intervals of 95 % of these means by Student's t."
)


def half_widths(deviations: pl.Series, counts: pl.Series) -> npt.NDArray[np.float64]:
    """Compute half widths of intervals of means from deviations; not a number for a count of 1."""
    from scipy.stats import t

    count = counts.to_numpy()
    quantile = t.ppf((1 + CONFIDENCE) / 2, np.maximum(count - 1, 1))
    half: npt.NDArray[np.float64] = quantile * deviations.to_numpy() / np.sqrt(count)
    return half


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
    )
    for name in measures:
        half = pl.Series(half_widths(means[f"{name}{LOW}"], means["seeds"]), nan_to_null=True)
        ends = {f"{name}{LOW}": means[name] - half, f"{name}{HIGH}": means[name] + half}
        means = means.with_columns(**ends)
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
