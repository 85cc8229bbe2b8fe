"""Checks of a study: those that fail, all at a glance, and as tables with passes folded."""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

from etherweave.report.section import Section, Table
from etherweave.report.style import COLOURS, INK
from etherweave.study import StudyCheck, StudyResult

CAPTION = (
    "Values divided by published ones, where a number was published; the bars reach over the "
    "bounds within which a figure counts as reproduced."
)
TICKS = ((0.5, 0.8, 1, 1.25, 2), (0.2, 0.5, 1, 2, 5), (0.1, 0.2, 0.5, 1, 2, 5, 10, 20))
"""Ticks of the figure from one limit to the other, of which the narrowest that hold all are taken;
values beyond the widest stand at its edge as triangles."""
PASS, FAIL = COLOURS["ets"], COLOURS["tcp"]


def failures(study: StudyResult) -> Section | None:
    """List the checks that fail, and what was tried."""
    failed = study.failed
    if not failed:
        return None
    table = checks_table(failed, study.study.declared.value_name)
    tried: dict[str, list[str]] = {}
    for check in failed:
        if check.tried:
            tried.setdefault(check.tried, []).append(check.id)
    rows = [(", ".join(names), text) for text, names in tried.items()]
    tables = [table, Table(("fails", "what was tried"), rows)] if rows else [table]
    title = f"{len(failed)} of {len(study.checks)} checks fail"
    return Section("failures", title, tables=tables)


def overview(study: StudyResult) -> Section | None:
    """Show computed values against published ones; the checks that pass are folded."""
    if not study.checks:
        return None
    shown = [check for check in study.checks if check.published]
    name = study.study.declared.value_name
    title = f"{name.capitalize()} against published"
    tables = [_passes(study.passed, name)] if study.passed else []
    if not shown:
        return Section("overview", title, tables=tables)
    figure = Figure(figsize=(9.6, 0.9 + 0.2 * len(shown)))
    axes = figure.subplots()
    ticks = _ticks(shown)
    for place, check in enumerate(shown):
        _draw(axes, place, check, (ticks[0], ticks[-1]))
    _name(axes, shown, name, ticks)
    return Section("overview", title, CAPTION, figure, tables)


def check_tables(study: StudyResult, checks: Sequence[StudyCheck]) -> list[Table]:
    """List the checks of a section: failures, then passes on demand."""
    name = study.study.declared.value_name
    failed = [check for check in checks if not check.is_passed]
    passed = [check for check in checks if check.is_passed]
    tables = [checks_table(failed, name)] if failed else []
    return [*tables, *([_passes(passed, name)] if passed else [])]


def checks_table(checks: Sequence[StudyCheck], value_name: str) -> Table:
    """List checks, a row each; ``value_name`` heads the column of computed figures."""
    head = ("check", "", value_name, "published", "bounds", "unit", "source")
    if not any(check.basis for check in checks):
        return Table(head, [_row(check) for check in checks])
    return Table((*head, "basis"), [[*_row(check), check.reference] for check in checks])


def _passes(checks: Sequence[StudyCheck], value_name: str) -> Table:
    table = checks_table(checks, value_name)
    caption = f"{len(checks)} checks that pass" if len(checks) > 1 else "1 check that passes"
    return Table(table.head, table.rows, caption, is_folded=True)


def _row(check: StudyCheck) -> list[str]:
    published = "–" if check.published is None else f"{check.published:g}"
    verdict = "pass" if check.is_passed else "FAIL"
    return [check.id, verdict, check.text, published, bounds(check), check.unit, check.source]


def bounds(check: StudyCheck) -> str:
    """Write the bounds within which a figure passes."""
    low, high = check.tolerance
    if low is None or high is None:
        return f"≥ {low:g}" if low is not None else f"≤ {high:g}" if high is not None else "–"
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _ticks(shown: Sequence[StudyCheck]) -> Sequence[float]:
    """Choose the axis that holds values and bounds, as multiples of what was published."""
    values = [
        value / check.expected
        for check in shown
        for value in (check.value, *check.tolerance)
        if check.expected and value is not None and math.isfinite(value)
    ]
    low, high = min(values, default=0.0), max(values, default=0.0)
    return next((ticks for ticks in TICKS if ticks[0] < low and high < ticks[-1]), TICKS[-1])


def _draw(axes: Axes, place: int, check: StudyCheck, limits: tuple[float, float]) -> None:
    """Draw the bounds of a check and its value, as multiples of what was published."""
    assert check.expected, "there is something to divide by"
    low, high = (None if bound is None else bound / check.expected for bound in check.tolerance)
    ends = [limits[0] if low is None else low, limits[1] if high is None else high]
    axes.plot(ends, [place] * 2, color="#bbbbbb", linewidth=6, solid_capstyle="butt")
    ratio = check.value / check.expected
    if not math.isfinite(ratio):
        return
    inside = min(max(ratio, limits[0]), limits[1])
    symbol = "o" if inside == ratio else "<" if ratio < inside else ">"
    look = {"color": PASS if check.is_passed else FAIL, "mec": "white", "markersize": 7}
    axes.plot(inside, place, symbol, clip_on=False, zorder=5, **look)  # type: ignore[arg-type]


def _name(axes: Axes, shown: Sequence[StudyCheck], value_name: str, ticks: Sequence[float]) -> None:
    axes.axvline(1, color=INK, linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xlim(ticks[0], ticks[-1])
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_yticks(range(len(shown)), [check.id for check in shown], fontsize=8)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlabel(f"{value_name} / published")
    look = {"linestyle": "", "marker": "o", "mec": "white", "markersize": 7}
    marks = {"pass": PASS, "fail": FAIL}
    handles = [Line2D([], [], color=colour, label=name, **look) for name, colour in marks.items()]  # type: ignore[arg-type]
    axes.legend(handles=handles, ncols=2, loc="lower right", bbox_to_anchor=(1, 1))
