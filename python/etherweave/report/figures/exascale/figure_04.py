"""Figure 4: entries against hosts, by address plan."""

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from etherweave.report.figures.exascale import LOOKS
from etherweave.report.figures.exascale.plane import RADICES_NAMED, prepare
from etherweave.report.section import Section, Table
from etherweave.report.source import Study
from etherweave.study.exascale.experiments import TABLE_1
from etherweave.study.exascale.figures_of_merit import entries, largest

CAPTION = (
    "Entries of a switch with hosts, by equation 1, for the largest fabrics of switches with "
    f"{RADICES_NAMED} ports. Open marks: addresses name switches (two levels); filled ones: also "
    "groups (three levels). Grey: one entry per host. Shaded: more than 300,000 hosts in fewer "
    "than 4,096 entries: the marks in it are those of three levels on a dragonfly and a butterfly "
    "of three dimensions. One of four would reach it too, from switches with 61 to 75 ports, of "
    "which the figure has none. Fabrics that were built as well have exactly so many entries."
)
PLANS = {"per_switch": "white", "per_group": None}
HEAD = ("topology", "P", "hosts", "G", "S", "T", "flat", "per switch", "per group", "as built")


def section(study: Study) -> Section:
    """Show the entries of every address plan."""
    found = {family: largest(study.kept, family) for family in TABLE_1}
    figure = Figure(figsize=(9.6, 5.6))
    axes = figure.subplots()
    prepare(axes, (12, 8e6), (4, 4e6))
    axes.plot([12, 4e6], [12, 4e6], color="#999999", linewidth=1.4, zorder=1)
    axes.annotate("flat: one entry per host", (1.6e4, 1.6e4), (0, 3), **_ALONG)
    for family, fabrics in found.items():
        for plan, face in PLANS.items():
            _draw(axes, family, plan, face, [fabric.formula for fabric in fabrics])
    axes.set_ylabel("TCAM entries")
    _explain(figure)
    rows = [_cells(family, one) for family, fabrics in found.items() for one in fabrics]
    title = "Figure 4: entries by address plan"
    return Section("figure_04", title, CAPTION, figure, [Table(HEAD, rows)], ["figure_4.*"])


_ALONG: dict[str, Any] = {
    "textcoords": "offset points",
    "rotation": 27,
    "rotation_mode": "anchor",
    "ha": "left",
    "va": "bottom",
    "fontsize": 8,
    "color": "#666666",
}


def _draw(
    axes: Axes, family: str, plan: str, face: str | None, rows: list[Mapping[str, Any]]
) -> None:
    look = LOOKS[family]
    hosts = [row["hosts"] for row in rows]
    counts = [row[f"entries_{plan}"] for row in rows]
    style = (0, (3, 2)) if face else "-"
    words = {"color": look.colour, "mfc": face or look.colour, "markersize": 7, "linewidth": 1.3}
    axes.plot(hosts, counts, marker=look.marker, linestyle=style, zorder=4, **words)  # type: ignore[arg-type]


def _explain(figure: Figure) -> None:
    families = [
        Line2D([], [], color=look.colour, marker=look.marker, label=look.label, markersize=7)
        for look in (LOOKS[family] for family in TABLE_1)
    ]
    levels = [
        Line2D([], [], color="#444444", marker="o", mfc="white", linestyle=(0, (3, 2))),
        Line2D([], [], color="#444444", marker="o"),
    ]
    for handle, label in zip(levels, ("per switch, 2 levels", "per group, 3 levels"), strict=True):
        handle.set_label(label)
    figure.legend(handles=[*families, *levels], ncols=4, loc="outside lower center")


def _cells(family: str, found: Any) -> list[str]:
    row = found.formula
    columns = ("hosts", "groups", "switches_per_group", "hosts_per_access_switch")
    plans = ("flat", "per_switch", "per_group")
    formula = [row[f"entries_{plan}"] for plan in plans]
    built = "–"
    if found.design:
        built = "the same" if formula == [entries(found)[plan] for plan in plans] else "differs"
    counts = [f"{row[column]:,}" for column in columns]
    return [LOOKS[family].label, f"{row['radix']}", *counts, *(f"{n:,}" for n in formula), built]
