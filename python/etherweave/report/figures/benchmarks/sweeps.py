"""Curves of benchmarks against message size, simulated ones and limits beside them."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from etherweave.report.benchmarks import Benchmarks
from etherweave.report.bounds import Floats, Medium
from etherweave.report.figures.sizes import Bound, Curve, Marks, Panel, draw

CAPTION = (
    "Medians of launches; the band is the 95 % interval of the median, hollow points are unstable, "
    "diamonds with bars are published figures of the same program, size and kind of fabric, "
    "crosses are simulated. "
)
_NAMES = ["program", "fabric", "hosts", "ranks_per_node", "labels"]
_HOSTS_MOST = 6
"""Placements of a test that are curves with names of their own; more are one name's."""


class Setting(NamedTuple):
    """Where curves of one fabric come from."""

    fabric: str
    medium: Medium
    rows: pl.DataFrame
    """Points of the panel on this fabric."""
    alpha: float | None
    """Of the smallest message on this fabric, where it was measured [s]."""


Bounds = Callable[[Setting, Floats], Iterator[Bound]]
"""Tells limits at these sizes [bytes]."""


class Sweep(NamedTuple):
    """How one kind of curve is drawn."""

    unit: str
    scale: float
    """From base units to those of the axis."""
    label: str
    """Of the axis."""
    bounds: Bounds


def sweeps(found: Benchmarks, sweep: Sweep) -> Figure | None:
    """Draw a panel for each metric of the unit; ``None`` if there is none."""
    if not found.points.height:
        return None
    rows = found.points.filter(
        (pl.col("unit") == sweep.unit) & pl.col("size_bytes").is_not_null()
    ).with_columns(panel=_panel_of(pl.col("metric"), pl.col("program")))
    panels = [
        _panel(found, str(name), own, sweep)
        for (name,), own in rows.group_by("panel", maintain_order=True)
    ]
    return draw(panels, sweep.scale, sweep.label) if panels else None


def _panel_of(metric: pl.Expr, program: pl.Expr) -> pl.Expr:
    """Keep calls of different collectives apart; they say nothing about each other."""
    together = metric.str.replace_all("_", " ")
    return pl.when(metric == "call_time").then(together + ": " + program).otherwise(together)


def _panel(found: Benchmarks, title: str, rows: pl.DataFrame, sweep: Sweep) -> Panel:
    parts = list(_curves(rows))
    curves = [_curve(name, part) for name, part in parts]
    marks = [_marks(part) for _, part in parts]
    return Panel(
        title,
        [*curves, *_simulated(found, rows, sweep)],
        list(_bounds(found, rows, sweep)),
        marks,
    )


def _curves(rows: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Part points into curves, named by what tells these curves apart; many pairs in one name."""
    told = [name for name in _NAMES if rows[name].n_unique() > 1] or ["program"]
    for _, test in rows.group_by([name for name in _NAMES if name != "hosts"], maintain_order=True):
        pairs = test["hosts"].n_unique()
        is_crowd = pairs > _HOSTS_MOST
        for (hosts,), curve in test.group_by("hosts", maintain_order=True):
            words = dict(zip(_NAMES, curve.select(_NAMES).row(0), strict=True))
            words["hosts"] = f"{pairs} pairs" if is_crowd else hosts
            yield " ".join(str(words[name]) for name in told), curve.sort("size_bytes")


def _curve(name: str, rows: pl.DataFrame, is_simulated: bool = False) -> Curve:
    is_stable = rows["is_stable"].to_list() if "is_stable" in rows.columns else ()
    sizes, medians = _floats(rows, "size_bytes"), _floats(rows, "median")
    low, high = _floats(rows, "low"), _floats(rows, "high")
    return Curve(name, sizes, medians, low, high, is_stable, is_simulated)


def _floats(rows: pl.DataFrame, column: str) -> Floats:
    return rows[column].cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _marks(rows: pl.DataFrame) -> Marks:
    known = rows.filter(pl.col("reference_low").is_not_null())
    columns = ("size_bytes", "reference_low", "reference_high", "reference_ratio")
    return Marks(*(_floats(known, column) for column in columns))


def _simulated(found: Benchmarks, rows: pl.DataFrame, sweep: Sweep) -> Iterator[Curve]:
    if found.simulation is None:
        return
    own = found.simulation.filter(
        (pl.col("metric") == rows["metric"][0])
        & (pl.col("unit") == sweep.unit)
        & pl.col("size_bytes").is_not_null()
    )
    if rows["metric"][0] == "call_time":
        own = own.filter(pl.col("program").is_in(["", *rows["program"].unique()]))
    for (name,), part in own.group_by("name", maintain_order=True):
        is_simulated = bool(part["is_simulated"].all())
        yield _curve(str(name), part.sort("size_bytes"), is_simulated)


def _bounds(found: Benchmarks, rows: pl.DataFrame, sweep: Sweep) -> Iterator[Bound]:
    """Tell the limits of every fabric, each once."""
    sizes = np.unique(_floats(rows, "size_bytes"))
    told = set()
    for (fabric,), own in rows.group_by("fabric", maintain_order=True):
        name = str(fabric)
        setting = Setting(name, found.medium(name), own, found.alpha(name))
        for bound in sweep.bounds(setting, sizes):
            if bound.name not in told:
                told.add(bound.name)
                yield bound
