"""The publication's simulator and ours, on the same network."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etherweave.report.figures.exascale.traffic import LABELS, PANELS
from etherweave.report.section import Section
from etherweave.report.source import Study
from etherweave.report.style import INK, SERIES
from etherweave.study import Check

CAPTION = (
    "A dragonfly of 33 groups of 8 switches with 4 hosts, whose figures of FOGSim, public version "
    "5, are measured. Left: latencies below saturation, within 10 %. Right: accepted loads, within "
    "0.03. Bands reach over these bounds, marks are ours; filled ones hold."
)


def section(study: Study) -> Section:
    """Show how far ours are off, check by check."""
    figure = Figure(figsize=(9.6, 3.6))
    latency, accepted = figure.subplots(1, 2)
    _draw(latency, study.matching(["fogsim.*.latency"]))
    _draw(accepted, study.matching(["fogsim.*.accepted"]))
    latency.set_xlabel("latency [ns]")
    accepted.set_xlabel("accepted load")
    title = "The publication's simulator on 1,056 hosts"
    return Section("fogsim", title, CAPTION, figure, checks=["fogsim.*"])


def _draw(axes: Axes, checks: list[Check]) -> None:
    for place, check in enumerate(checks):
        low, high = check.tolerance
        assert low is not None, "what was measured is bounded on both sides"
        assert high is not None, "what was measured is bounded on both sides"
        assert check.expected is not None, "it was measured"
        axes.plot((low, high), (place, place), color="#bbbbbb", linewidth=6, solid_capstyle="butt")
        axes.plot(check.expected, place, "|", color=INK, markersize=9)
        face = SERIES[2] if check.holds else "white"
        axes.plot(check.value, place, "o", color=SERIES[2], markerfacecolor=face, markersize=5)
    axes.set_yticks(range(len(checks)), [_label(check.id) for check in checks], fontsize=7.5)
    axes.set_ylim(len(checks) - 0.4, -0.6)


def _label(name: str) -> str:
    """Read pattern, routing and load from the id of a check: "MIN, UN, 0.5"."""
    _, pattern, routing, *load, _ = name.split(".")
    return f"{LABELS[routing]}, {PANELS[pattern][4:]}, {'.'.join(load)}"
