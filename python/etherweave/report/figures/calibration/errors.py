"""Workloads, measured and foretold: all launches, and how far off what was foretold is."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etherweave.bench.calibration import ComparedWorkload
from etherweave.report.calibration import Calibrated
from etherweave.report.section import FOLDED_FROM, Section, Table
from etherweave.report.style import ASIDE, INK, SERIES, literal

ROWS_MOST = 40
"""Workloads that are drawn."""
CAPTION = (
    "Times of an iteration (of streams: of all together), as shares of the measured median. Dots "
    "are launches, the bar is the interval of their median, the cross is what was foretold, with "
    "the interval of the constants. Nothing was fitted to held-out workloads, which stand on top. "
    "The first error is of means (of micro-benchmarks: of the middle half), the second of medians."
)
HEAD = ("", "launches", "measured [us]", "from", "to", "foretold [us]", "from", "to", "error")


def section(calibrated: Calibrated) -> Section | None:
    """Show each workload as a row."""
    rows = calibrated.compared
    if not rows:
        return None
    found = calibrated.found
    parts = [("held out", found.held_out), ("fitted to", found.micro_benchmarks)]
    tables = [_table(name, part) for name, part in parts if part]
    shown = rows[:ROWS_MOST]
    told = f" The first {len(shown)} of {len(rows)} are drawn." if len(shown) < len(rows) else ""
    figure = _figure(shown)
    return Section("errors", "Measured and foretold", CAPTION + told, figure, tables)


def _figure(rows: Sequence[ComparedWorkload]) -> Figure:
    figure = Figure(figsize=(9, 0.9 + 0.3 * len(rows)))
    axes = figure.subplots()
    for place, one in enumerate(rows):
        _row(axes, place, one, is_named=place == 0)
    axes.axvline(1, color=INK, linewidth=0.8, zorder=1)
    axes.set_yticks(range(len(rows)), [literal(one.name[:40]) for one in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel("share of the measured median")
    border = sum(one.is_held_out for one in rows) - 0.5
    axes.axhline(border, color=INK, linewidth=0.8, linestyle=":")
    axes.legend(**ASIDE)
    return figure


def _row(axes: Axes, place: int, one: ComparedWorkload, *, is_named: bool) -> None:
    names = ("launch", "measured", "foretold") if is_named else (None, None, None)
    base = one.measured_s
    shares = [time / base for time in one.launches_s]
    axes.plot(
        shares, [place] * len(shares), "o", color=SERIES[0], alpha=0.5, mew=0, ms=5, label=names[0]
    )
    bar = (one.measured_low_s / base, one.measured_high_s / base)
    axes.plot(bar, (place, place), color=SERIES[0], linewidth=4, alpha=0.3, label=names[1])
    axes.plot(
        (one.predicted_low_s / base, one.predicted_high_s / base),
        (place + 0.2, place + 0.2),
        color=SERIES[1],
        linewidth=1.2,
    )
    axes.plot(one.predicted_s / base, place + 0.2, "x", color=SERIES[1], ms=6, label=names[2])


def _table(name: str, rows: Sequence[ComparedWorkload]) -> Table:
    cells = [
        (
            one.name,
            str(one.launches),
            *map(_us, (one.measured_s, one.measured_low_s, one.measured_high_s)),
            *map(_us, (one.predicted_s, one.predicted_low_s, one.predicted_high_s)),
            f"{one.error:+.1%}",
            f"{one.error_of_median:+.1%}",
        )
        for one in rows
    ]
    head = (*HEAD, "of median")
    return Table(head, cells, name.capitalize(), is_folded=len(rows) > FOLDED_FROM)


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:,.2f}" if seconds < 1e-3 else f"{seconds * 1e6:,.0f}"
