"""Bars: simulated values, each with its published one marked across it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from etherweave.report.published import Published
from etherweave.report.section import Table
from etherweave.report.style import key, mark, tell

HEAD = ("", "simulated", "published", "difference", "source")


@dataclass(frozen=True)
class Bar:
    """A simulated value, and what was published."""

    label: str
    """Below the bar."""
    colour: str
    """Of the bar."""
    value: float
    """As simulated; not a number when there is none."""
    published: Published | None = None
    """To be marked."""


def draw(axes: Axes, bars: Sequence[Bar], label: str) -> None:
    """Draw bars side by side, from nothing up to room for the legend.

    Parameters
    ----------
    axes
        To draw into.
    bars
        From left to right.
    label
        Of their axis, with the unit.
    """
    places = range(len(bars))
    drawn = axes.bar(places, [bar.value for bar in bars], color=[bar.colour for bar in bars])
    for place, bar in enumerate(bars):
        if bar.published is not None:
            mark(axes, place, bar.published)
    tell(axes, drawn)
    axes.set_xticks(places, [bar.label for bar in bars])
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.6, len(bars) - 0.4)
    axes.set_ylim(0, axes.dataLim.y1 * 1.08)
    axes.set_ylabel(label)
    axes.grid(visible=False, axis="x")
    marked = [bar.published for bar in bars if bar.published is not None]
    axes.legend(handles=key(marked), loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0)


def table(bars: Sequence[Bar], unit: str) -> Table:
    """List simulated beside published values, with the words of the publication."""
    head = (HEAD[0], *(f"{name} [{unit}]" for name in HEAD[1:3]), *HEAD[3:])
    return Table(head, [_row(bar) for bar in bars])


def _row(bar: Bar) -> list[str]:
    value = f"{bar.value:.4g}" if math.isfinite(bar.value) else "–"
    if bar.published is None:
        return [bar.label, value, "–", "–", ""]
    return [bar.label, value, bar.published.text, _difference(bar), bar.published.words]


def _difference(bar: Bar) -> str:
    """Compare with a published value; with bounds, tell only on which side of them it is."""
    assert bar.published is not None, "there is something to compare with"
    low, high = bar.published.low, bar.published.high
    if not math.isfinite(bar.value):
        return "–"
    if low is not None and low == high:
        return f"{100 * (bar.value / low - 1):+.1f} %".replace("-", "−")
    if low is not None and bar.value < low:
        return "below"
    return "above" if high is not None and bar.value > high else "within"
