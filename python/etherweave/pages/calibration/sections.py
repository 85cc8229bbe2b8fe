"""The page of a calibration: workloads and constants, measured, predicted and inferred."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etherweave.api.units import Unit, amount
from etherweave.bench.calibration import CalibratedConstant, CalibrationError, ComparedWorkload
from etherweave.bench.calibration.calibration import SHARES
from etherweave.bench.calibration.micro_benchmarks import reported_share
from etherweave.pages.calibration.data import Calibrated
from etherweave.report.page import Front, Page
from etherweave.report.section import FOLDED_FROM, Builder, Section, Table
from etherweave.report.sizes import SizeCurve, SizePanel, draw
from etherweave.report.style import ASIDE, DASHES, INK, SERIES, literal, name_decades

ROWS_MAX = 40  # Workloads that are drawn.
ERRORS_CAPTION = (
    "Times of an iteration (of streams: of all together; of osu_latency: one way), as shares of "
    "the measured median. Dots are launches, the bar is the interval of their median, the cross is "
    "what was predicted, with its interval of 90 %: by the posterior, and by what the model misses "
    "of micro-benchmarks. "
    "Nothing was inferred from held-out workloads, which stand on top. "
    "The first error is of means (of micro-benchmarks: of the middle half), the second of medians."
)
ERRORS_HEAD = (
    "",
    "launches",
    "measured [us]",
    "from",
    "to",
    "predicted [us]",
    "from",
    "to",
    "error",
)


def errors(calibrated: Calibrated) -> Section | None:
    """Show each workload as a row."""
    rows = calibrated.compared
    if not rows:
        return None
    calibration = calibrated.calibration
    parts = [("held out", calibration.held_out), ("inferred from", calibration.micro_benchmarks)]
    tables = [_errors_table(name, part) for name, part in parts if part]
    shown = rows[:ROWS_MAX]
    note = f" The first {len(shown)} of {len(rows)} are drawn." if len(shown) < len(rows) else ""
    figure = _errors_figure(shown)
    return Section("errors", "Measured and predicted", ERRORS_CAPTION + note, figure, tables)


def _errors_figure(rows: Sequence[ComparedWorkload]) -> Figure:
    figure = Figure(figsize=(9, 0.9 + 0.3 * len(rows)))
    axes = figure.subplots()
    for place, row in enumerate(rows):
        _draw_workload(axes, place, row, is_named=place == 0)
    axes.axvline(1, color=INK, linewidth=0.8, zorder=1)
    axes.set_yticks(range(len(rows)), [literal(row.name[:40]) for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel("share of the measured median")
    border = sum(row.is_held_out for row in rows) - 0.5
    axes.axhline(border, color=INK, linewidth=0.8, linestyle=":")
    axes.legend(**ASIDE)
    return figure


def _draw_workload(axes: Axes, place: int, workload: ComparedWorkload, *, is_named: bool) -> None:
    names = ("launch", "measured", "predicted") if is_named else (None, None, None)
    base = workload.measured_s
    shares = [time / base for time in workload.launches_s]
    axes.plot(
        shares, [place] * len(shares), "o", color=SERIES[0], alpha=0.5, mew=0, ms=5, label=names[0]
    )
    bar = (workload.measured_low_s / base, workload.measured_high_s / base)
    axes.plot(bar, (place, place), color=SERIES[0], linewidth=4, alpha=0.3, label=names[1])
    axes.plot(
        (workload.predicted_low_s / base, workload.predicted_high_s / base),
        (place + 0.2, place + 0.2),
        color=SERIES[1],
        linewidth=1.2,
    )
    axes.plot(workload.predicted_s / base, place + 0.2, "x", color=SERIES[1], ms=6, label=names[2])


def _errors_table(name: str, rows: Sequence[ComparedWorkload]) -> Table:
    cells = [
        (
            row.name,
            str(row.launches),
            *(_us(reported_share(row.test) * time) for time in (*measured(row), *predicted(row))),
            f"{row.error:+.1%}",
            f"{row.error_of_median:+.1%}",
        )
        for row in rows
    ]
    head = (*ERRORS_HEAD, "of median")
    return Table(head, cells, name.capitalize(), is_folded=len(rows) > FOLDED_FROM)


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:,.2f}" if seconds < 1e-3 else f"{seconds * 1e6:,.0f}"


WORKLOADS_MAX = 8  # That are drawn.
LAUNCHES_MAX = 12  # That are drawn one by one.
_POINTS = np.linspace(0, 1, 201)
ITERATIONS_CAPTION = (
    "Share of the iterations up to each time, over all ranks: of all launches together "
    "(thick), of each launch (thin), and as they were predicted (dashed, in steps of 5 %)."
)


def iterations(calibrated: Calibrated) -> Section | None:
    """Show a panel for each held-out workload whose launches are kept or whose iterations were."""
    measured = calibrated.iterations
    known = [
        prediction
        for prediction in calibrated.calibration.held_out
        if prediction.name in measured or prediction.predicted_iterations_s
    ]
    shown = known[:WORKLOADS_MAX]
    if not shown:
        return None
    figure = Figure(figsize=(9, 2.8 * len(shown)))
    panels = figure.subplots(len(shown), 1, squeeze=False)[:, 0]
    for axes, panel in zip(panels, shown, strict=True):
        _draw_iterations(axes, panel, measured.get(panel.name, []))
    note = f" The first {len(shown)} of {len(known)} workloads." if len(shown) < len(known) else ""
    return Section(
        "iterations", "Iterations of held-out workloads", ITERATIONS_CAPTION + note, figure
    )


def _draw_iterations(axes: Axes, workload: ComparedWorkload, runs: list[pl.Series]) -> None:
    for own in runs[:LAUNCHES_MAX]:
        _draw_shares(axes, own, linewidth=0.7, alpha=0.5)
    if runs:
        _draw_shares(axes, pl.concat(runs), linewidth=1.8, label=f"measured, {len(runs)} launches")
    if len(workload.predicted_iterations_s) == len(SHARES):
        times = np.array(workload.predicted_iterations_s) * 1e6
        axes.plot(times, SHARES, color=SERIES[1], linestyle=DASHES[0], label="predicted")
    axes.set_xscale("log")
    name_decades(axes.xaxis)
    axes.set_ylim(0, 1)
    axes.set_title(literal(workload.name[:60]))
    axes.set_xlabel("iteration time [us]")
    axes.set_ylabel("share of iterations")
    axes.legend(**ASIDE)


def _draw_shares(axes: Axes, times: pl.Series, **look: object) -> None:
    values = np.quantile(times.to_numpy() * 1e6, _POINTS)
    axes.plot(values, _POINTS, color=SERIES[0], **look)  # type: ignore[arg-type]


CONSTANTS_CAPTION = (
    "What the scenario said before (diamonds), what its profile or a range leaves open (grey), and "
    "what is left of that by the measurements (coloured, with the middle as a dot): intervals of "
    "90 %. The width is the part of the prior between the ends of the posterior: 100 % where the "
    "measurements say nothing. What they only know together with others is not distinguished."
)
CONSTANTS_HEAD = (
    "constant",
    "from",
    "before",
    "prior",
    "posterior",
    "width",
    "not distinguished from",
)


def constants(calibrated: Calibrated) -> Section | None:
    """Show each constant as a row."""
    rows = calibrated.calibration.constants
    if not rows:
        return None
    table = Table(CONSTANTS_HEAD, [_constant_cells(row) for row in rows])
    figure = _constants_figure([row for row in rows if row.unit == Unit.SECONDS])
    return Section("constants", "Constants", CONSTANTS_CAPTION, figure, [table])


def _constants_figure(rows: Sequence[CalibratedConstant]) -> Figure | None:
    """Draw times [ns]."""
    if not rows:
        return None
    figure = Figure(figsize=(9, 0.9 + 0.32 * len(rows)))
    axes = figure.subplots()
    for place, row in enumerate(rows):
        prior = (row.prior_low * 1e9, row.prior_high * 1e9)
        axes.plot(prior, (place, place), color=INK, alpha=0.2, lw=6, label=_once(axes, "prior"))
        reach = (row.low * 1e9, row.high * 1e9)
        axes.plot(reach, (place, place), color=SERIES[0], lw=2.5, label=_once(axes, "posterior"))
        if row.is_inferred:
            axes.plot(row.value * 1e9, place, "o", color=SERIES[0], ms=5)
        if row.before:
            before = row.before * 1e9
            axes.plot(before, place, "D", color=INK, ms=5, mfc="white", label=_once(axes, "before"))
    axes.set_xscale("log")
    name_decades(axes.xaxis)
    axes.set_xlabel("[ns]")
    axes.set_yticks(range(len(rows)), [literal(row.key) for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.legend(**ASIDE)
    return figure


def _once(axes: Axes, name: str) -> str:
    """Name what is drawn the first time."""
    return f"_{name}" if name in axes.get_legend_handles_labels()[1] else name


def _constant_cells(constant: CalibratedConstant) -> tuple[str, ...]:
    unit = constant.unit or Unit.COUNT
    before = "–" if constant.before is None else amount(constant.before, unit)
    ends = [(constant.prior_low, constant.prior_high), (constant.low, constant.high)]
    ranges = [f"{amount(low, unit)} to {amount(high, unit)}" for low, high in ends]
    return (
        constant.key,
        constant.meaning,
        before,
        *ranges,
        f"{constant.width:.0%}",
        ", ".join(constant.together_with),
    )


SIZES_CAPTION = (
    "Medians of launches with their interval as a band, all launches as dots, and predictions with "
    "the middle of the posterior, with the band of their interval. "
)


_Times = tuple[float, float, float]


class _MicroBenchmark(NamedTuple):
    """A micro-benchmark by size."""

    program: str
    title: str
    number: Callable[[ComparedWorkload, float], float]
    """Number of a workload, from it and the time of an iteration [s]."""
    scale: float
    label: str


LATENCY = _MicroBenchmark("osu_latency", "latency", lambda row, time: time / 2, 1e6, "time [us]")
BANDWIDTH = _MicroBenchmark(
    "osu_bw",
    "bandwidth",
    lambda row, time: row.window * (row.size_bytes or 0) / time,
    8e-9,
    "rate [Gb/s]",
)


def latencies(calibrated: Calibrated) -> Section | None:
    """Show half of the round trip."""
    return _section(calibrated, LATENCY, "Half of the round trip of osu_latency.")


def bandwidths(calibrated: Calibrated) -> Section | None:
    """Show the bytes of a window over its time."""
    return _section(calibrated, BANDWIDTH, "The bytes of a window of osu_bw over its time.")


def _section(calibrated: Calibrated, test: _MicroBenchmark, words: str) -> Section | None:
    own = [row for row in calibrated.compared if row.test == test.program and row.size_bytes]
    if not own:
        return None
    title = f"{test.title.capitalize()} against size"
    return Section(test.title, title, SIZES_CAPTION + words, figure(own, test))


def figure(rows: Sequence[ComparedWorkload], test: _MicroBenchmark) -> Figure:
    """Draw one test."""
    ordered = sorted(rows, key=lambda row: row.size_bytes or 0)
    curves = [
        curve("measured", ordered, measured, test),
        replace(curve("predicted", ordered, predicted, test), is_simulated=True),
    ]
    drawn = draw([SizePanel(test.title, curves)], test.scale, test.label)
    dots = [(row, time) for row in ordered for time in row.launches_s]
    places = [point.size_bytes or 0 for point, _ in dots]
    values = [test.number(point, time) * test.scale for point, time in dots]
    drawn.axes[0].plot(places, values, "o", color=SERIES[0], alpha=0.35, mew=0, ms=5, zorder=3)
    return drawn


def measured(compared_workload: ComparedWorkload) -> _Times:
    """Give the middle and the ends of what was measured [s]."""
    return (
        compared_workload.measured_s,
        compared_workload.measured_low_s,
        compared_workload.measured_high_s,
    )


def predicted(compared_workload: ComparedWorkload) -> _Times:
    """Give the middle and the ends of what was predicted [s]."""
    return (
        compared_workload.predicted_s,
        compared_workload.predicted_low_s,
        compared_workload.predicted_high_s,
    )


def curve(
    name: str,
    rows: Sequence[ComparedWorkload],
    times: Callable[[ComparedWorkload], _Times],
    test: _MicroBenchmark,
) -> SizeCurve:
    """Make a curve with a band; the longest time is the least rate."""
    sizes = np.array([float(row.size_bytes or 0) for row in rows])
    numbers = np.array([[test.number(row, time) for time in times(row)] for row in rows])
    ends = np.sort(numbers[:, 1:], axis=1)
    return SizeCurve(name, sizes, numbers[:, 0], ends[:, 0], ends[:, 1])


SECTIONS: list[Builder[Calibrated]] = [errors, iterations, latencies, bandwidths, constants]
"""Sections in the order of the page; those without anything to show return nothing."""


def write_calibration(calibrated: Calibrated, out: Path) -> Path:
    """Write the page of a calibration into a directory; returns the page's path."""
    page = Page(out)
    try:
        page.show(SECTIONS, calibrated)
    except CalibrationError as error:
        raise ValueError(error) from None
    return page.write(_front(calibrated), [])


def _front(calibrated: Calibrated) -> Front:
    calibration = calibrated.calibration
    known = sum(constant.is_determined for constant in calibration.constants)
    shared = sum(bool(constant.together_with) for constant in calibration.constants)
    name = calibrated.directory.absolute().name
    lead = (
        f"{known} of {len(calibration.constants)} constants are known from "
        f"{len(calibration.micro_benchmarks)} micro-benchmarks, {shared} more only together."
    )
    answers = [f"Held-out workloads: {len(calibration.held_out)}."]
    if calibration.held_out:
        mean, median = (
            _percent(calibration.typical_error_of_mean),
            _percent(calibration.typical_error),
        )
        lead += f" Held-out mean iterations are predicted within {mean}"
        lead += f", median iterations within {median} (median of workloads)."
        answers.append(f"Inside intervals of 90 %: {calibration.covered}.")
        answers.append(f"Largest error: {_percent(calibration.worst_error)}.")
    return Front(f"Calibration: {name}", lead, answers)


def _percent(error: float | None) -> str:
    return "–" if error is None else f"{error:.1%}"
