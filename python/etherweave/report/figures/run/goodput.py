"""What the streams of the same jobs delivered, simulated and measured, side by side."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etherweave.bench.references import Reference
from etherweave.report.against import published
from etherweave.report.figures.levels import GIGABITS, finish, mark_link
from etherweave.report.figures.run.beside import Beside, in_several, ratio
from etherweave.report.quantities import Fabric, fabric, quantities
from etherweave.report.section import Section, Table
from etherweave.report.style import INK, SERIES

CAPTION = (
    "Sum over the streams of a job, the mean over launches. At an incast all streams share the "
    "link of one host: dashed is its rate, dotted what full frames leave of it, diamonds are "
    "published."
)
_HEAD = ("job", "result", "goodput [Gb/s]", "ratio")


class _Bar(NamedTuple):
    job: str
    label: str
    """Of the result."""
    rate: float
    """[Gb/s]."""
    ratio: str
    """To the first result."""
    fabric: Fabric | None
    """Of an incast, whose streams share a link."""
    figures: Sequence[Reference]


def section(beside: Beside) -> Section | None:
    """Show what the streams of each job delivered in all results."""
    bars = list(_bars(beside))
    if not bars:
        return None
    rows = [(bar.job, bar.label, f"{bar.rate:,.4g}", bar.ratio) for bar in bars]
    figure = Figure(figsize=(9, 1.1 + 0.3 * len(bars)))
    _draw(figure.subplots(), bars)
    title = "Goodput, simulated and measured"
    return Section("goodput_beside", title, CAPTION, figure, [Table(_HEAD, rows)])


def _bars(beside: Beside) -> Iterator[_Bar]:
    tables = [result.to_polars("streams") for result in beside.results]
    incasts = [
        {one.job: one for one in quantities(result) if one.test == "incast"}
        for result in beside.results
    ]
    for job in in_several(tables):
        rates = [_rate(table.filter(pl.col("job") == job)) for table in tables]
        for result, label, rate, known in zip(
            beside.results, beside.labels, rates, incasts, strict=True
        ):
            where = fabric(result) if job in known else None
            figures = published(known[job], where) if where else []
            yield _Bar(job, label, rate, ratio(rate, rates[0]), where, figures)


def _rate(rows: pl.DataFrame) -> float:
    launches = rows["launch"].n_unique() if "launch" in rows.columns else 1
    return float(rows["goodput_gbps"].sum()) / max(launches, 1)


def _draw(axes: Axes, bars: Sequence[_Bar]) -> None:
    labels = list(dict.fromkeys(bar.label for bar in bars))
    for place, bar in enumerate(bars):
        colour = SERIES[labels.index(bar.label) % len(SERIES)]
        axes.barh(place, bar.rate, 0.7, color=colour, label=bar.label)
        for figure in bar.figures:
            look: dict[str, Any] = {"color": INK, "markersize": 6, "mec": "white"}
            axes.plot(figure.value * GIGABITS, place, "D", label="published", **look)
        if bar.fabric:
            mark_link(axes, place, bar.fabric.medium)
    finish(axes, [bar.job for bar in bars], "goodput [Gb/s]")
