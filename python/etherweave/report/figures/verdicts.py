"""All checks at a glance, and one by one."""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

from etherweave.report import checks
from etherweave.report.section import MissingError, Section, Table
from etherweave.report.source import Study
from etherweave.report.style import COLOURS, INK
from etherweave.study import Check

CAPTION = (
    "Values of ours divided by published ones, where a number was published; the bars reach over "
    "the bounds within which a figure counts as reproduced. All checks are in the table."
)
LIMITS = (0.1, 20.0)
"""Of the figure; what lies beyond stands at its edge as a triangle."""
HOLDS, FAILS = COLOURS["ets"], COLOURS["tcp"]


def section(study: Study) -> Section:
    """Show our values against published ones, and the verdicts."""
    if not study.checks:
        raise MissingError("check at all")
    shown = [check for check in study.checks if check.expected]
    figure = Figure(figsize=(9.6, 0.9 + 0.2 * len(shown)))
    axes = figure.subplots()
    for place, check in enumerate(shown):
        _draw(axes, place, check)
    found = study.plan.found
    _name(axes, shown, found)
    title = f"{found.capitalize()} against published"
    tables = [checks.table(study.checks, found), _tried(study.checks)]
    return Section("verdicts", title, CAPTION, figure, tables)


def _tried(every: Sequence[Check]) -> Table:
    """Say of figures that do not hold what was tried."""
    rows = [(check.id, check.tried) for check in every if not check.holds and check.tried]
    return Table(("does not hold", "what was tried"), rows)


def _draw(axes: Axes, place: int, check: Check) -> None:
    """Draw the bounds of a check and its value, as multiples of what was published."""
    assert check.expected, "there is something to divide by"
    low, high = (None if bound is None else bound / check.expected for bound in check.tolerance)
    ends = [LIMITS[0] if low is None else low, LIMITS[1] if high is None else high]
    axes.plot(ends, [place] * 2, color="#bbbbbb", linewidth=6, solid_capstyle="butt")
    ratio = check.value / check.expected
    if not math.isfinite(ratio):
        return
    inside = min(max(ratio, LIMITS[0]), LIMITS[1])
    symbol = "o" if inside == ratio else "<" if ratio < inside else ">"
    look = {"color": HOLDS if check.holds else FAILS, "mec": "white", "markersize": 7}
    axes.plot(inside, place, symbol, clip_on=False, zorder=5, **look)  # type: ignore[arg-type]


def _name(axes: Axes, shown: Sequence[Check], found: str) -> None:
    axes.axvline(1, color=INK, linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xlim(*LIMITS)
    axes.xaxis.set_major_locator(FixedLocator([0.1, 0.2, 0.5, 1, 2, 5, 10, 20]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_yticks(range(len(shown)), [check.id for check in shown], fontsize=8)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlabel(f"{found} / published")
    look = {"linestyle": "", "marker": "o", "mec": "white", "markersize": 7}
    marks = {"holds": HOLDS, "fails": FAILS}
    handles = [Line2D([], [], color=colour, label=name, **look) for name, colour in marks.items()]  # type: ignore[arg-type]
    axes.legend(handles=handles, ncols=2, loc="lower right", bbox_to_anchor=(1, 1))
