"""The reliability diagram: how often central intervals have published figures, at every level."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etherweave.report.style import INK, SERIES, write_figure
from etherweave.uncertainty import CheckInterval
from etherweave.uncertainty.check_rows import KINDS
from etherweave.uncertainty.coverage import Predicted

LEVELS = [at / 20 for at in range(1, 20)]
ROWS_MIN = 5  # Least rows of a kind that has a line of its own.


def draw(rows: Sequence[CheckInterval], path: Path) -> Path:
    """Draw coverage against the level of intervals, by kind; returns the path.

    Checks without a known error of the model are left out, and those that repeat another.
    """
    shown = [row for row in rows if row.kind in KINDS and not row.check.is_repeat]
    return write_figure(partial(_figure, shown), path)


def _figure(rows: Sequence[CheckInterval]) -> Figure:
    figure, panels = plt.subplots(1, 2, figsize=(6.6, 3.1), sharey=True)
    _panel(panels[0], "by parameters", rows, lambda row: row.parameters)
    _panel(panels[1], "with the model's error", rows, lambda row: row.together)
    panels[0].set_ylabel("published figures inside [%]")
    panels[1].legend(loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0)
    return figure


def _panel(
    axes: Axes, title: str, rows: Sequence[CheckInterval], of: Callable[[CheckInterval], Predicted]
) -> None:
    nominal = [100 * level for level in LEVELS]
    axes.plot([0, 100], [0, 100], color=INK, linewidth=0.8, linestyle="--")
    places = {kind: [of(row).place for row in rows if row.kind == kind] for kind in KINDS}
    shown = {kind: own for kind, own in places.items() if len(own) >= ROWS_MIN}
    for (kind, own), colour in zip(shown.items(), SERIES, strict=False):
        label = f"{kind} ({len(own)})"
        axes.plot(nominal, _observed(own), color=colour, linewidth=1.2, label=label)
    every = _observed([of(row).place for row in rows])
    axes.plot(nominal, every, color=INK, linewidth=2, label=f"all ({len(rows)})")
    axes.set(title=title, xlabel="level of the interval [%]", xlim=(0, 100), ylim=(0, 100))


def _observed(places: Sequence[float]) -> list[float]:
    """Return which part of figures lies in the central interval of each level [%]."""
    reach = np.abs(2 * np.asarray(places) - 1)
    return [100 * float((reach <= level).mean()) for level in LEVELS]
