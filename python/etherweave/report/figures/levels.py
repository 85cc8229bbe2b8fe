"""Rates a row each, beside what the link allows."""

from matplotlib.axes import Axes

from etherweave.report.bounds import Medium
from etherweave.report.style import ASIDE, DASHES, INK

GIGABITS = 8e-9
"""From bytes per second."""


def mark_link(axes: Axes, place: float, medium: Medium) -> None:
    """Draw across a row the rate of a link, and what full frames leave of it."""
    levels = {f"line rate, {medium.rate * GIGABITS:g} Gb/s": medium.rate}
    if medium.wire:
        levels[f"full frames\n({medium.note})"] = medium.goodput
    for (name, rate), dash in zip(levels.items(), DASHES, strict=False):
        ends = ([rate * GIGABITS] * 2, [place - 0.5, place + 0.5])
        axes.plot(*ends, color=INK, linewidth=1, linestyle=dash, label=name)


def finish(axes: Axes, names: list[str], label: str) -> None:
    """Name the rows from top to bottom, and what is drawn, each thing once."""
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.set_xlim(left=0)
    axes.set_xlabel(label)
    handles, labels = axes.get_legend_handles_labels()
    known = dict(zip(labels, handles, strict=True))
    axes.legend(list(known.values()), list(known), **ASIDE)
