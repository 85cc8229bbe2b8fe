"""Pairs of bars on a logarithmic scale: counters that may be zero or in the millions."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from etherweave.report.style import SERIES, tell

WIDTH = 0.4


@dataclass(frozen=True)
class Pair:
    """Two counters of the same kind."""

    label: str
    """Below both."""
    first: float
    """Left bar; not a number when there is none."""
    second: float
    """Right bar."""


def draw(axes: Axes, pairs: Sequence[Pair], names: tuple[str, str]) -> None:
    """Draw pairs of bars, with their values at their feet.

    Parameters
    ----------
    axes
        To draw into.
    pairs
        From left to right.
    names
        Of the left and the right bars, for a legend.
    """
    columns = ([pair.first for pair in pairs], [pair.second for pair in pairs])
    sides = zip(columns, names, (-WIDTH / 2, WIDTH / 2), SERIES, strict=False)
    axes.set_yscale("symlog", linthresh=1)
    for values, name, shift, colour in sides:
        places = [place + shift for place in range(len(pairs))]
        drawn = axes.bar(places, values, WIDTH * 0.95, color=colour, label=name)
        tell(axes, drawn, size=7)
    axes.set_xticks(range(len(pairs)), [pair.label for pair in pairs])
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.6, len(pairs) - 0.4)
    axes.set_ylim(0, max(axes.dataLim.y1 * 3, 10))
    axes.grid(visible=False, axis="x")
