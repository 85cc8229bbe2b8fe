"""Sections of the report that no chart of ``study.toml`` draws: figures 8 and 11.

Traffic is in ``report_traffic.py``.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etherweave.report.run.rank_detail import detail
from etherweave.report.run.timeline import timelines
from etherweave.report.section import Section, Table
from etherweave.report.style import INK
from etherweave.study import StudyResult

from .experiments import FABRICS
from .report_traffic import (
    figure_12,
    figure_12_pauses,
    fogsim,
    traffic_butterfly,
    traffic_butterfly_2d,
    traffic_clos,
    traffic_exascale,
)
from .study import ORGANISATIONS, organisation

__all__ = [
    "figure_08",
    "figure_11",
    "figure_12",
    "figure_12_pauses",
    "fogsim",
    "traffic_butterfly",
    "traffic_butterfly_2d",
    "traffic_clos",
    "traffic_exascale",
]

FIGURE_08_CAPTION = (
    " As the publication draws them, four iterations of CG on 64 ranks, which it reads off as "
    "6.48 ms; here they are inner iterations of class B at 1 Gflop/s a process and 10 Gb/s."
)


def figure_08(study: StudyResult) -> Section | None:
    """Show what the ranks of CG do in some iterations."""
    (timeline,) = timelines(study.result("table_2.kernel.cg"))
    section = detail(timeline)
    if section is None:
        return None
    title = "Figure 8: visualization of CG using 64 MPI processes"
    caption, checks = section.caption + FIGURE_08_CAPTION, ["table_2.kernel.cg"]
    return replace(section, name="figure_08", title=title, caption=caption, checks=checks)


FIGURE_11_CAPTION = (
    "Power of the whole fabric at the worst case: 64 B packets at full rate on every port in use. "
    "The scale is broken: flat TCAMs draw as much as everything else many times over. Dashed: what "
    "the publication's savings leave of the reference, CAM-flat folded Clos. The saving of 17.0 % "
    "is the one figure that a constant, the CAM's energy, is fitted to; the others follow."
)
COMPONENTS = {
    "fixed_w": ("CPU and logic", "#999999"),
    "ports_w": ("ports", "#56b4e9"),
    "buffers_w": ("packet buffers", "#0072b2"),
    "tables_w": ("forwarding tables", "#d55e00"),
}
ORGANISATION_NAMES = {
    "cam_flat": "CAM\nflat",
    "flat": "flat",
    "per_switch": "per\nswitch",
    "per_group": "per\ngroup",
    "compact": "com-\npact",
}
"""Labels of the organisations; all but the first are TCAMs."""
FABRIC_NAMES = dict(zip(FABRICS, ("folded Clos", "flattened butterfly", "dragonfly"), strict=True))
GAP = 0.9  # Between the bars of two fabrics.
LOW, HIGH = (0.0, 5.9), (13.0, 34.5)  # Limits of the two parts of the scale [MW].
FIGURE_11_HEAD = (
    "topology",
    "tables",
    "entries",
    *(f"{name} [MW]" for name, _ in COMPONENTS.values()),
)


def figure_11(study: StudyResult) -> Section:
    """Show every fabric with every organisation of its tables."""
    figure = Figure(figsize=(9.6, 5.6))
    high, low = figure.subplots(2, 1, sharex=True, height_ratios=(1, 2.6))
    bars = [
        (
            bar_place(FABRICS.index(fabric), number),
            organisation(study.results[f"figure_11.{fabric}"], name),
        )
        for fabric, (number, name) in product(FABRICS, enumerate(ORGANISATIONS))
    ]
    for axes in (high, low):
        _draw_components(axes, bars)
    _break_scale(high, low)
    _name_bars(low)
    _write_heights(high, low, bars)
    _draw_savings(low, study, bars[0][1]["fabric"]["total_w"] / 1e6)
    handles, labels = low.get_legend_handles_labels()
    figure.legend(handles, labels, ncols=4, loc="outside lower center")
    figure.supylabel("power of the fabric [MW]", fontsize=9)
    title = "Figure 11: power by component and organisation of tables"
    table = Table((*FIGURE_11_HEAD, "in all [MW]", "per switch [W]"), _power_rows(study))
    return Section(
        "figure_11", title, FIGURE_11_CAPTION, figure, [table], ["counts.*", "figure_11.*"]
    )


def bar_place(fabric: int, number: int) -> float:
    """Where a bar stands."""
    return fabric * (len(ORGANISATIONS) + GAP) + number


def _draw_components(axes: Axes, bars: Sequence[tuple[float, Any]]) -> None:
    places = [across for across, _ in bars]
    foot = [0.0] * len(bars)
    for component, (label, colour) in COMPONENTS.items():
        heights = [limits["fabric"][component] / 1e6 for _, limits in bars]
        axes.bar(places, heights, 0.82, bottom=foot, color=colour, label=label)
        foot = [low + height for low, height in zip(foot, heights, strict=True)]
    axes.grid(visible=False, axis="x")


def _break_scale(high: Axes, low: Axes) -> None:
    """Leave out what lies between both parts of the scale, and show that it is left out."""
    high.set_ylim(*HIGH)
    low.set_ylim(*LOW)
    high.spines.bottom.set_visible(False)
    high.tick_params(axis="x", length=0)
    marks: dict[str, Any] = {"marker": [(-1, -0.6), (1, 0.6)], "markersize": 9, "color": "#666666"}
    for axes, edge in ((high, 0), (low, 1)):
        axes.plot([0], [edge], transform=axes.transAxes, clip_on=False, linestyle="", **marks)


def _name_bars(axes: Axes) -> None:
    ticks = [
        bar_place(fabric, number)
        for fabric in range(3)
        for number in range(len(ORGANISATION_NAMES))
    ]
    axes.set_xticks(ticks, [*ORGANISATION_NAMES.values()] * 3, fontsize=7.5)
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.7, bar_place(2, len(ORGANISATION_NAMES) - 1) + 0.7)
    for fabric, name in enumerate(FABRIC_NAMES.values()):
        middle = bar_place(fabric, 2)
        words = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
        axes.annotate(
            name,
            (middle, 0),
            (0, -30),
            ha="center",
            va="top",
            weight="bold",
            **words,  # type: ignore[arg-type]
        )


def _write_heights(high: Axes, low: Axes, bars: Sequence[tuple[float, Any]]) -> None:
    for across, bar in bars:
        height = bar["fabric"]["total_w"] / 1e6
        axes = high if height > HIGH[0] else low
        axes.annotate(
            f"{height:.1f}" if height > HIGH[0] else f"{height:.2f}",
            (across, height),
            (0, 2),
            textcoords="offset points",
            ha="center",
            fontsize=7.5,
            color=INK,
        )


def _draw_savings(axes: Axes, study: StudyResult, reference: float) -> None:
    """Draw what the published savings leave of the reference [MW], each named in a gap."""
    savings = study.matching(["figure_11.saving.compaction", "figure_11.saving.both"])
    for gap, check in enumerate(savings):
        assert check.expected is not None, "savings were published as numbers"
        left = reference * (1 - check.expected / 100)
        axes.axhline(left, color=INK, linewidth=1.1, linestyle="--", zorder=0.5)
        middle = (bar_place(gap, len(ORGANISATIONS) - 1) + bar_place(gap + 1, 0)) / 2
        label = f"published\n−{check.expected:.1f} %"
        words = {"textcoords": "offset points", "ha": "center", "va": "bottom", "fontsize": 7.5}
        axes.annotate(label, (middle, left), (0, 3), color=INK, **words)  # type: ignore[arg-type]


def _power_rows(study: StudyResult) -> list[list[str]]:
    rows = []
    for fabric, name in product(FABRICS, ORGANISATIONS):
        own = organisation(study.results[f"figure_11.{fabric}"], name)
        watts = own["fabric"]
        parts = [f"{watts[component] / 1e6:.3f}" for component in (*COMPONENTS, "total_w")]
        label = ORGANISATION_NAMES[name].replace("-\n", "").replace("\n", " ")
        each = f"{own['switch']['total_w']:.1f}"
        rows.append([FABRIC_NAMES[fabric], label, f"{own['entries']:,}", *parts, each])
    return rows
