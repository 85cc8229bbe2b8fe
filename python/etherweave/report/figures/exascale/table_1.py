"""Table I: how many ports are for hosts, and how large a fabric can be."""

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from etherweave.report.figures.exascale import LOOKS
from etherweave.report.figures.exascale.plane import short
from etherweave.report.section import Section, Table
from etherweave.report.source import Study
from etherweave.study.exascale.experiments import RADICES, TABLE_1
from etherweave.study.exascale.figures_of_merit import largest

CAPTION = (
    "Lines: the formulas of Table I. Marks: the largest balanced fabrics of whole switches. "
    "Left: hosts on a switch with hosts (filled) and per switch of any kind (open; the same where "
    "all switches have hosts). Right: the most hosts. The formulas hold but for rounding, which "
    "weighs most on the smallest switches: P/5 of 8 ports is 1.6, and stands for 2 hosts."
)
PUBLISHED = {
    "clos_3": ("P/2", "P/5", "P³/4"),
    "butterfly_2d": ("P/3", "P/3", "(P/3)³"),
    "butterfly_3d": ("P/4", "P/4", "(P/4)⁴"),
    "dragonfly": ("P/4", "P/4", "4·(P/4)⁴"),
    "butterfly_4d": ("P/5", "P/5", "(P/5)⁵"),
}
HEAD = ("topology", "P", "T", "≈", "hosts per switch", "≈", "hosts", "≈", "ours / ≈")


def section(study: Study) -> Section:
    """Show the columns of the table against the largest fabrics."""
    rows = {family: _rows(study, family) for family in TABLE_1}
    figure = Figure(figsize=(9.6, 4.2))
    shares, sizes = figure.subplots(1, 2)
    for family, found in rows.items():
        _draw_shares(shares, family, found)
        _draw_sizes(sizes, family, found)
    _name(shares, "hosts per switch")
    _name(sizes, "hosts")
    shares.set_yscale("log", base=2)
    shares.yaxis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:g}"))
    sizes.set_yscale("log")
    sizes.yaxis.set_major_formatter(FuncFormatter(lambda value, place: short(value)))
    handles, labels = sizes.get_legend_handles_labels()
    figure.legend(handles, labels, ncols=5, loc="outside lower center")
    table = Table(HEAD, [_cells(family, row) for family in TABLE_1 for row in rows[family]])
    title = "Table I: hosts per switch, and scalability"
    return Section("table_1", title, CAPTION, figure, [table], ["table_1.*"])


def _rows(study: Study, family: str) -> list[Mapping[str, Any]]:
    return [found.formula for found in largest(study.kept, family)]


def _draw_shares(axes: Axes, family: str, rows: list[Mapping[str, Any]]) -> None:
    look = LOOKS[family]
    for column, face in (("hosts_per_switch", "white"), ("hosts_per_access_switch", look.colour)):
        line = [row["published"][column] for row in rows]
        axes.plot(RADICES, line, color=look.colour, linewidth=1)
        marks = [row[column] for row in rows]
        axes.plot(RADICES, marks, look.marker, color=look.colour, mfc=face, markersize=6)


def _draw_sizes(axes: Axes, family: str, rows: list[Mapping[str, Any]]) -> None:
    look = LOOKS[family]
    axes.plot(RADICES, [row["published"]["hosts"] for row in rows], color=look.colour, linewidth=1)
    marks = [row["hosts"] for row in rows]
    words = {"color": look.colour, "label": look.label, "markersize": 6}
    axes.plot(RADICES, marks, look.marker, **words)  # type: ignore[arg-type]


def _name(axes: Axes, label: str) -> None:
    axes.set_xscale("log")
    axes.set_xticks(RADICES, [str(radix) for radix in RADICES])
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", which="minor", length=0)
    axes.set_xlabel("ports of every switch, P")
    axes.set_title(label)


def _cells(family: str, row: Mapping[str, Any]) -> list[str]:
    published, words = row["published"], PUBLISHED[family]
    return [
        LOOKS[family].label,
        f"{row['radix']}",
        f"{row['hosts_per_access_switch']}",
        f"{words[0]} = {published['hosts_per_access_switch']:.1f}",
        f"{row['hosts_per_switch']:.1f}",
        f"{words[1]} = {published['hosts_per_switch']:.1f}",
        f"{row['hosts']:,}",
        f"{words[2]} = {published['hosts']:,.0f}",
        f"{row['hosts'] / published['hosts']:.2f}",
    ]
