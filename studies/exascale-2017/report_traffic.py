"""Sections of the report: fabrics under traffic, and figures of FOGSim beside them."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etherweave.report.curves import scale_latency
from etherweave.report.section import Section, Table
from etherweave.report.style import INK, SERIES
from etherweave.study import MissingResultError, StudyCheck, StudyResult

from .experiments import (
    FLOW_CONTROLS,
    FRAMES,
    FRAMES_NEAR,
    NOTIFIED,
    OTHERS,
    PATTERNS,
    ROUTINGS,
    TABLES,
    TRIGGERED_LOADS,
)

TrafficCurves: TypeAlias = Mapping[tuple[str, str], pl.DataFrame]  # Points by pattern and routing.

LABELS = {
    "minimal": "MIN",
    "dimension_order": "MIN (dimension order)",
    "valiant_group": "VAL",
    "valiant": "VAL",
    "piggyback": "PB",
    "conditional": "conditional rules",
    "conditional_tables": "conditional rules, by tables",
    "conditional_frames": "conditional rules, by pause frames alone",
    "conditional_near": "conditional rules, by pause frames alone, XON next to XOFF",
    "conditional_notified": "conditional rules, by congestion notifications",
    "ugal_local": "UGAL-L",
    "dimension_adaptive": "DAL",
    "ecmp": "ECMP",
    "spray": "random per packet",
    "adaptive_up": "up by the shortest queue",
}
"""Labels of routings, as published where they are."""

TRIGGERED_LABELS = {
    FRAMES: "conditional_frames",
    FRAMES_NEAR: "conditional_near",
    NOTIFIED: "conditional_notified",
}
"""Keys of labels, by experiment."""

PANELS = {"uniform": "(a) UN", "adversarial": "(b) ADV"}  # Titles as in the publication.

KEPT_UP = 0.95
"""Share of what is offered that is accepted where latencies count; beyond, marks are open."""

MARKERS = "osD^vP"
CURVES_HEAD = (
    "",
    "routing",
    "offered",
    "accepted",
    "at most",
    "mean [ns]",
    "±",
    "p99 [ns]",
    "misrouted",
)
CURVES_COLUMNS = (
    ("load", ".3g"),
    ("load_accepted", ".4f"),
    ("load_bound", ".4f"),
    ("latency_ns_mean", ",.0f"),
    ("latency_ns_half_width", ",.0f"),
    ("latency_ns_p99", ",.0f"),
    ("misrouted_share", ".3f"),
)
"""Columns of the table after pattern and routing; a dash stands where there is no figure."""
CURVES_CAPTION = (
    "±: half of the 95 % confidence interval. At most: from expected loads of all channels."
)


def of_fabric(study: StudyResult, fabric: str, routings: Sequence[str]) -> TrafficCurves:
    """Look up a fabric's curves."""
    return {
        (pattern, routing): study.results[f"{fabric}.{pattern}.{routing}"].points.sort("load")
        for pattern in PATTERNS
        for routing in routings
    }


def draw(curves: TrafficCurves) -> Figure:
    """Draw latencies and accepted loads; a line for each routing."""
    figure = Figure(figsize=(9.6, 6.4))
    panels = figure.subplots(2, len(PATTERNS), sharex=True, squeeze=False)
    for pattern, (latency, accepted) in zip(PATTERNS, panels.T, strict=True):
        latency.set_title(PANELS[pattern])
        scale_latency(latency)
        accepted.plot((0, 1), (0, 1), color=INK, linewidth=0.8, linestyle=":")
        accepted.set_xlabel("offered load")
        for routing, look in _looks(curves).items():
            points = curves[pattern, routing]
            _line(latency, points, points["latency_ns_mean"] / 1e3, look)
            _line(accepted, points, points["load_accepted"], look)
    panels[0, 0].set_ylabel("mean latency [us]")
    panels[1, 0].set_ylabel("accepted load")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), ncols=4, loc="outside lower center")
    return figure


def curves_table(curves: TrafficCurves) -> Table:
    """List all points."""
    rows = [
        [
            PANELS[pattern][4:],
            LABELS[routing],
            *(_figure_text(row[key], form) for key, form in CURVES_COLUMNS),
        ]
        for (pattern, routing), points in curves.items()
        for row in points.iter_rows(named=True)
    ]
    return Table(CURVES_HEAD, rows, CURVES_CAPTION, is_folded=True)


def _looks(curves: TrafficCurves) -> dict[str, dict[str, Any]]:
    routings = sorted({routing for _, routing in curves}, key=list(LABELS).index)
    return {
        routing: {"marker": marker, "color": colour, "label": LABELS[routing]}
        for routing, marker, colour in zip(routings, MARKERS, SERIES, strict=False)
    }


def _line(axes: Axes, points: pl.DataFrame, values: pl.Series, look: dict[str, Any]) -> None:
    axes.plot(points["load"], values, linewidth=1.2, markersize=5, **look)
    late = points["load_accepted"] < KEPT_UP * points["load"]
    face = {**look, "label": "_", "markerfacecolor": "white", "linestyle": ""}
    axes.plot(points["load"].filter(late), values.filter(late), markersize=5, **face)


def _figure_text(value: float, form: str) -> str:
    return format(value, form) if value == value else "–"


FIGURE_12_CAPTION = (
    "The dragonfly of Table III: 129 groups of 16 switches with 8 hosts, outputs that serve "
    "transit before injection as those of the publication's simulator do. Above, as published; "
    "below, what is accepted, which the publication does not show. Open marks: less than 95 % of "
    "what is offered is accepted; latencies there show how long queues have become, not how long "
    "they will stay. Warm-up and length of every point are detected by one rule, 200 us at most."
)
FLOW_CONTROL_CAPTIONS = {
    "figure_12": (
        "With credits, as the publication's simulator has it: a port takes no packet while the far "
        "end has no room or its own queue is full."
    ),
    "figure_12_pauses": (
        "With pauses, as Ethernet has them: a port takes no packet while the far end pauses it or "
        "its own queue is full, and sends the later priority first."
    ),
}
"""Condition that deactivates conditional rules, by fabric."""


def figure_12(study: StudyResult) -> Section:
    """Show latency and accepted load with credits."""
    return _figure_12("figure_12", study, {})


def figure_12_pauses(study: StudyResult) -> Section:
    """Show latency and accepted load with pauses, and what rules with other triggers do."""
    beside = {
        (pattern, TRIGGERED_LABELS[name]): study.results[f"{name}.{pattern}.{TABLES}"].points
        for name, pattern in TRIGGERED_LOADS
    }
    return _figure_12("figure_12_pauses", study, beside)


def _figure_12(fabric: str, study: StudyResult, beside: TrafficCurves) -> Section:
    """Show a figure 12; `beside` has curves that stand in the table alone."""
    curves = of_fabric(study, fabric, ROUTINGS)
    control = FLOW_CONTROLS[fabric]
    title = f"Figure 12, {control}: average latency under uniform (a) and adversarial (b) traffic"
    caption = f"{FLOW_CONTROL_CAPTIONS[fabric]} {FIGURE_12_CAPTION}"
    checks = [f"{fabric}.*", *([f"{name}.*" for name in TRIGGERED_LABELS] if beside else [])]
    return Section(
        fabric, title, caption, draw(curves), [curves_table({**curves, **beside})], checks
    )


TRAFFIC_TITLES = {
    "exascale": "The dragonfly of 300,024 hosts under traffic",
    "butterfly": "A flattened butterfly of 15,972 hosts under traffic",
    "butterfly_2d": "A flattened butterfly as in figure 10b under traffic",
    "clos": "A folded Clos of 16,000 hosts under traffic",
}
"""Fabrics that the publication does not show under traffic."""
TRAFFIC_CAPTIONS = {
    "exascale": "The dragonfly of figure 11, with its spare ports, at two loads.",
    "butterfly": "11 · 11 · 12 switches with 11 hosts. ADV: from each switch to the next one.",
    "butterfly_2d": "8 · 8 switches with 8 hosts. ADV: from each switch to the next one.",
    "clos": "Three levels of switches of 40 ports. ADV: from each leaf to the next one.",
}


def traffic_butterfly(study: StudyResult) -> Section | None:
    """Show the flattened butterfly under traffic, where it ran."""
    return _traffic("butterfly", study)


def traffic_butterfly_2d(study: StudyResult) -> Section | None:
    """Show the flattened butterfly of figure 10b under traffic."""
    return _traffic("butterfly_2d", study)


def traffic_clos(study: StudyResult) -> Section | None:
    """Show the folded Clos under traffic, where it ran."""
    return _traffic("clos", study)


def traffic_exascale(study: StudyResult) -> Section | None:
    """Show the dragonfly of figure 11 under traffic, where it ran."""
    return _traffic("exascale", study)


def _traffic(fabric: str, study: StudyResult) -> Section | None:
    """Show a fabric as figure 12 is shown; nothing when it did not run."""
    try:
        curves = of_fabric(study, fabric, OTHERS[fabric].routings)
    except MissingResultError:
        return None
    words = (TRAFFIC_TITLES[fabric], TRAFFIC_CAPTIONS[fabric])
    tables, checks = [curves_table(curves)], [f"{fabric}.*"]
    return Section(f"traffic_{fabric}", *words, draw(curves), tables, checks)


FOGSIM_CAPTION = (
    "A dragonfly of 33 groups of 8 switches with 4 hosts, which the publication does not show: "
    "FOGSim was run on it, in public version 5. Left: latencies below saturation, within 10 %. "
    "Right: accepted loads, within 0.03; with outputs that serve transit before injection "
    "(fogsim_transit) or both alike. Bands reach over these bounds, marks are simulated; filled "
    "ones pass."
)


def fogsim(study: StudyResult) -> Section:
    """Show how far simulated figures deviate, check by check."""
    figure = Figure(figsize=(9.6, 3.6))
    latency, accepted = figure.subplots(1, 2)
    _draw_bounds(latency, study.matching(["fogsim.*.latency"]))
    _draw_bounds(accepted, study.matching(["fogsim*.accepted"]))
    latency.set_xlabel("latency [ns]")
    accepted.set_xlabel("accepted load")
    title = "FOGSim on 1,056 hosts"
    return Section("fogsim", title, FOGSIM_CAPTION, figure, checks=["fogsim*"])


def _draw_bounds(axes: Axes, checks: list[StudyCheck]) -> None:
    for place, check in enumerate(checks):
        low, high = check.tolerance
        assert low is not None, "figures of FOGSim are bounded on both sides"
        assert high is not None, "figures of FOGSim are bounded on both sides"
        assert check.expected is not None, "FOGSim has a figure"
        axes.plot((low, high), (place, place), color="#bbbbbb", linewidth=6, solid_capstyle="butt")
        axes.plot(check.expected, place, "|", color=INK, markersize=9)
        face = SERIES[2] if check.is_passed else "white"
        axes.plot(check.value, place, "o", color=SERIES[2], markerfacecolor=face, markersize=5)
    axes.set_yticks(range(len(checks)), [_check_label(check.id) for check in checks], fontsize=7.5)
    axes.set_ylim(len(checks) - 0.4, -0.6)


def _check_label(name: str) -> str:
    """Read pattern, routing and load from the id of a check: "MIN, UN, 0.5"."""
    _, pattern, routing, *load, _ = name.split(".")
    return f"{LABELS[routing]}, {PANELS[pattern][4:]}, {'.'.join(load)}"
