"""Iterations of held-out workloads: how their times are distributed, measured and foretold."""

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etherweave.bench.calibration import ComparedWorkload
from etherweave.bench.calibration.calibration import SHARES
from etherweave.report.calibration import Calibrated
from etherweave.report.section import Section
from etherweave.report.style import ASIDE, DASHES, SERIES, literal, name_decades

WORKLOADS_MOST = 8
"""That are drawn."""
LAUNCHES_MOST = 12
"""That are drawn one by one."""
_POINTS = np.linspace(0, 1, 201)
CAPTION = (
    "Share of the iterations that took at most so long, over all ranks: of all launches together "
    "(thick), of each launch (thin), and as they were foretold (dashed, in steps of 5 %)."
)


def section(calibrated: Calibrated) -> Section | None:
    """Show a panel for each held-out workload whose launches are kept or whose iterations were."""
    measured = calibrated.iterations
    known = [
        one
        for one in calibrated.found.held_out
        if one.name in measured or one.predicted_iterations_s
    ]
    shown = known[:WORKLOADS_MOST]
    if not shown:
        return None
    figure = Figure(figsize=(9, 2.8 * len(shown)))
    panels = figure.subplots(len(shown), 1, squeeze=False)[:, 0]
    for axes, one in zip(panels, shown, strict=True):
        _panel(axes, one, measured.get(one.name, []))
    told = f" The first {len(shown)} of {len(known)} workloads." if len(shown) < len(known) else ""
    return Section("iterations", "Iterations of held-out workloads", CAPTION + told, figure)


def _panel(axes: Axes, one: ComparedWorkload, launches: list[pl.Series]) -> None:
    for own in launches[:LAUNCHES_MOST]:
        _curve(axes, own, linewidth=0.7, alpha=0.5)
    if launches:
        _curve(
            axes, pl.concat(launches), linewidth=1.8, label=f"measured, {len(launches)} launches"
        )
    if len(one.predicted_iterations_s) == len(SHARES):
        times = np.array(one.predicted_iterations_s) * 1e6
        axes.plot(times, SHARES, color=SERIES[1], linestyle=DASHES[0], label="foretold")
    axes.set_xscale("log")
    name_decades(axes.xaxis)
    axes.set_ylim(0, 1)
    axes.set_title(literal(one.name[:60]))
    axes.set_xlabel("iteration time [us]")
    axes.set_ylabel("share of iterations")
    axes.legend(**ASIDE)


def _curve(axes: Axes, times: pl.Series, **look: object) -> None:
    values = np.quantile(times.to_numpy() * 1e6, _POINTS)
    axes.plot(values, _POINTS, color=SERIES[0], **look)  # type: ignore[arg-type]
