"""Constants of hosts: before, fitted, and how surely."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etherweave.bench.calibration import FittedConstant
from etherweave.report.calibration import Calibrated
from etherweave.report.section import Section, Table
from etherweave.report.style import ASIDE, INK, SERIES, literal, name_decades

CAPTION = (
    "What the scenario said before (diamonds), and what was fitted (dots) with its 95 % interval. "
    "Where micro-benchmarks do not tell a constant within a factor of two it stays what it was: "
    "only the diamond is drawn."
)
HEAD = ("constant", "", "before [ns]", "fitted [ns]", "from", "to")


def section(calibrated: Calibrated) -> Section | None:
    """Show each constant as a row."""
    rows = calibrated.found.constants
    if not rows:
        return None
    table = Table(HEAD, [_cells(one) for one in rows])
    return Section("constants", "Constants", CAPTION, _figure(rows), [table])


def _figure(rows: Sequence[FittedConstant]) -> Figure:
    figure = Figure(figsize=(9, 0.9 + 0.32 * len(rows)))
    axes = figure.subplots()
    for place, one in enumerate(rows):
        if one.before_ns > 0:
            axes.plot(
                one.before_ns, place, "D", color=INK, ms=5, mfc="white", label=_once(axes, "before")
            )
        if one.is_determined:
            reach = ([max(0.0, one.value_ns - one.low_ns)], [max(0.0, one.high_ns - one.value_ns)])
            axes.errorbar(
                [one.value_ns], [place], xerr=reach, fmt="o", color=SERIES[0], capsize=3, ms=5,
                label=_once(axes, "fitted"),
            )  # fmt: skip
    axes.set_xscale("log")
    name_decades(axes.xaxis)
    axes.set_xlabel("[ns]")
    axes.set_yticks(range(len(rows)), [literal(one.key) for one in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.legend(**ASIDE)
    return figure


def _once(axes: Axes, name: str) -> str:
    """Name what is drawn the first time."""
    return f"_{name}" if name in axes.get_legend_handles_labels()[1] else name


def _cells(one: FittedConstant) -> tuple[str, ...]:
    fitted = (one.value_ns, one.low_ns, one.high_ns)
    told = [f"{value:,.0f}" for value in fitted] if one.is_determined else ["as before", "–", "–"]
    return one.key, one.meaning, f"{one.before_ns:,.0f}", *told
