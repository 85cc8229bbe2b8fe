"""Figures of BMWG's report tables."""

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from etherweave.bmwg.model import Plot, ReportTable, text_of
from etherweave.report.style import ASIDE, SERIES, name_decades

DECADE = 10  # Ratio of the ends of an axis from which it is logarithmic.
LINES_MAX = 12  # Most lines of a figure; of more, the table has the values.


def draw_table(table: ReportTable, plot: Plot) -> Figure | None:
    """Draw a column over another, lines or bars for each value of others; not too many."""
    lines: dict[str, list[tuple[Any, float]]] = {}
    for row in table.rows:
        value = row[plot.y]
        if isinstance(value, int | float) and math.isfinite(value):
            label = ", ".join(text_of(row[at]) for at in plot.by)
            lines.setdefault(label, []).append((row[plot.x], value))
    if not lines or len(lines) > LINES_MAX:
        return None
    figure = Figure(figsize=(8, 3.2))
    axes = figure.subplots()
    places = list(dict.fromkeys(place for line in lines.values() for place, _ in line))
    is_bars = plot.is_bars or any(isinstance(place, str) for place in places)
    for number, (label, line) in enumerate(lines.items()):
        colour = SERIES[number % len(SERIES)]
        values = [value for _, value in line]
        if is_bars:
            width = 0.8 / len(lines)
            at = [places.index(place) + number * width for place, _ in line]
            axes.bar(at, values, width, label=label, color=colour)
        else:
            style = "-" if number < len(SERIES) else "--"
            along = [place for place, _ in line]
            axes.plot(along, values, style, marker="o", label=label, color=colour)
    if is_bars:
        axes.set_xticks(range(len(places)), [text_of(place) for place in places])
    elif _is_wide([place for place in places if isinstance(place, int | float)]):
        axes.set_xscale("log")
        name_decades(axes.xaxis)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(table.columns[plot.x].title)
    axes.set_ylabel(table.columns[plot.y].title)
    if len(lines) > 1:
        axes.legend(**ASIDE)
    return figure


def _is_wide(places: Sequence[float]) -> bool:
    least = min(places)
    return least > 0 and max(places) / least >= DECADE
