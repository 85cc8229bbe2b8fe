"""Sentences on replications: the mean of each figure with its interval, and that of those beside.

Replications of equal seeds are compared seed by seed: they have the same flows and placements, so
that their difference varies less than each of them.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from etherweave.measurements.benchmark_lines import main_columns
from etherweave.report.sweep import with_unit
from etherweave.uncertainty.means import mean_interval
from etherweave.uncertainty.together import SEED

ENDS = (".slowdown_p99", ".slowdown_mean", ".mean_us", ".call_us")
"""Ends of names of figures that have a sentence, in this order, after those of benchmarks."""
FIGURES_MAX = 6  # Largest number of figures with a sentence.


def sentences(tables: Mapping[str, pl.DataFrame]) -> list[str]:
    """Say what the first replications take, and how those beside differ from them."""
    first = next(iter(tables.values()))
    return [_sentence(name, tables) for name in _figures(first)[:FIGURES_MAX]]


def _figures(rows: pl.DataFrame) -> list[str]:
    """Name the figures of jobs that differ between seeds; of flows not those of their streams."""
    flows = {name.split(".")[1] for name in rows.columns if name.startswith("flows.")}
    names = [
        name for end in ENDS for name in rows.columns if name.endswith(end) and name.count(".") == 2
    ]
    own = [name for name in names if not (name[:8] == "streams." and name.split(".")[1] in flows)]
    known = [*main_columns(rows.columns), *own]
    return [name for name in known if rows[name].drop_nulls().n_unique() > 1]


def _sentence(name: str, tables: Mapping[str, pl.DataFrame]) -> str:
    (label, first), *others = [
        (label, table) for label, table in tables.items() if name in table.columns
    ]
    known = [_mean(name, first) + (f" with {label}" if others else "")]
    known += [
        f"{_mean(name, other)} with {beside}, {_difference(name, first, other)}"
        for beside, other in others
    ]
    return f"{with_unit(name)}: {'; '.join(known)}."


def _mean(name: str, rows: pl.DataFrame) -> str:
    values = _values(name, rows)
    interval = mean_interval(values, name=name)
    if len(values) < 2:
        return f"{interval.mean:,.4g}"
    low, high = interval.ends
    return f"{interval.mean:,.4g} (95 %: {low:,.4g} to {high:,.4g})"


def _difference(name: str, first: pl.DataFrame, other: pl.DataFrame) -> str:
    """Write a mean over that of the first replications, and whether chance explains it."""
    means = [sum(values) / len(values) for values in (_values(name, first), _values(name, other))]
    ratio = f"{means[1] / means[0]:.3g} times as much" if means[0] else "which has no ratio"
    pairs = first.select(SEED, name).join(other.select(SEED, name), on=SEED).drop_nulls()
    if not len(first) == len(other) == len(pairs) > 1:
        return ratio
    low, high = mean_interval((pairs[f"{name}_right"] - pairs[name]).to_list()).ends
    # Ends of differences that are all positive stop at 0.
    return ratio if low > 0 or high < 0 else f"{ratio}, within chance"


def _values(name: str, rows: pl.DataFrame) -> Sequence[float]:
    values: list[float] = rows[name].drop_nulls().to_list()
    return values
