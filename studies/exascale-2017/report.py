"""Sections of the report: table I, figures 4, 6 and 11; traffic is in ``report_traffic.py``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from etherweave.report.section import Section, Table
from etherweave.report.style import INK, SERIES
from etherweave.study import StudyResult
from etherweave.study.experiments import DesignResult

from .experiments import FABRICS, FAMILIES, RADICES, TABLE_1
from .report_traffic import figure_12, fogsim, traffic_butterfly, traffic_clos, traffic_exascale
from .study import ENTRIES_MAX, ORGANISATIONS, entries, largest, organisation

__all__ = [
    "figure_04",
    "figure_06",
    "figure_11",
    "figure_12",
    "fogsim",
    "table_1",
    "traffic_butterfly",
    "traffic_clos",
    "traffic_exascale",
]


@dataclass(frozen=True)
class FamilyStyle:
    """How a family of fabrics is drawn."""

    label: str
    """Its name."""
    colour: str
    """Of its line and its marks."""
    marker: str
    """Of its fabrics."""


STYLES = {
    "clos_3": FamilyStyle("3-level folded Clos", SERIES[0], "s"),
    "butterfly_2d": FamilyStyle("2D flattened butterfly", SERIES[3], "o"),
    "butterfly_3d": FamilyStyle("3D flattened butterfly", SERIES[1], "^"),
    "butterfly_4d": FamilyStyle("4D flattened butterfly", SERIES[4], "D"),
    "butterfly_5d": FamilyStyle("5D flattened butterfly", SERIES[5], "v"),
    "dragonfly": FamilyStyle("dragonfly", SERIES[2], "P"),
}
"""By family, as the core names it."""


HOSTS_WANTED = 300_000
"""Of an exascale system: the publication's estimate."""
RADICES_NAMED = ", ".join(map(str, RADICES[:-1])) + f" and {RADICES[-1]}"
"""For captions."""


def _prepare(axes: Axes, hosts: tuple[float, float], entries: tuple[float, float]) -> None:
    """Give the axes their scales, their limits and what an exascale system asks for.

    Parameters
    ----------
    axes
        To draw into.
    hosts, entries
        Limits of the axes.
    """
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(*hosts)
    axes.set_ylim(*entries)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(numticks=12))
        axis.set_major_formatter(FuncFormatter(lambda value, place: short(value)))
        axis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("hosts")
    axes.fill_between(
        [HOSTS_WANTED, hosts[1]], entries[0], ENTRIES_MAX, color="#009e73", alpha=0.09, linewidth=0
    )
    look = {"color": INK, "linewidth": 1.1, "linestyle": (0, (5, 2)), "zorder": 2}
    axes.axhline(ENTRIES_MAX, **look)  # type: ignore[arg-type]
    axes.axvline(HOSTS_WANTED, **look)  # type: ignore[arg-type]
    words = {"textcoords": "offset points", "fontsize": 7.5, "color": INK}
    axes.annotate("4K entries", (hosts[0], ENTRIES_MAX), (4, 3), **words)  # type: ignore[arg-type]
    axes.annotate(
        "300,000 hosts",
        (HOSTS_WANTED, entries[0]),
        (-3, 4),
        rotation=90,
        ha="right",
        va="bottom",
        **words,  # type: ignore[arg-type]
    )


def short(value: float) -> str:
    """Write a power of ten as readers of such plots do."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


TABLE_1_CAPTION = (
    "Lines: the formulas of Table I. Marks: the largest balanced fabrics of whole switches. "
    "Left: hosts on a switch with hosts (filled) and per switch of any kind (open; the same where "
    "all switches have hosts). Right: the most hosts. The formulas are met but for rounding, which "
    "weighs most on the smallest switches: P/5 of 8 ports is 1.6, and stands for 2 hosts."
)
TABLE_1_FORMULAS = {
    "clos_3": ("P/2", "P/5", "P³/4"),
    "butterfly_2d": ("P/3", "P/3", "(P/3)³"),
    "butterfly_3d": ("P/4", "P/4", "(P/4)⁴"),
    "dragonfly": ("P/4", "P/4", "4·(P/4)⁴"),
    "butterfly_4d": ("P/5", "P/5", "(P/5)⁵"),
}
TABLE_1_HEAD = ("topology", "P", "T", "≈", "hosts per switch", "≈", "hosts", "≈", "computed / ≈")


def table_1(study: StudyResult) -> Section:
    """Show the columns of the table against the largest fabrics."""
    rows = {family: _formula_rows(study, family) for family in TABLE_1}
    figure = Figure(figsize=(9.6, 4.2))
    shares, sizes = figure.subplots(1, 2)
    for family, formulas in rows.items():
        _draw_shares(shares, family, formulas)
        _draw_sizes(sizes, family, formulas)
    _name_radices(shares, "hosts per switch")
    _name_radices(sizes, "hosts")
    shares.set_yscale("log", base=2)
    shares.yaxis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:g}"))
    sizes.set_yscale("log")
    sizes.yaxis.set_major_formatter(FuncFormatter(lambda value, place: short(value)))
    handles, labels = sizes.get_legend_handles_labels()
    figure.legend(handles, labels, ncols=5, loc="outside lower center")
    table = Table(
        TABLE_1_HEAD, [_table_1_cells(family, row) for family in TABLE_1 for row in rows[family]]
    )
    title = "Table I: hosts per switch, and scalability"
    return Section("table_1", title, TABLE_1_CAPTION, figure, [table], ["table_1.*"])


def _formula_rows(study: StudyResult, family: str) -> list[Mapping[str, Any]]:
    return [fabric.formula for fabric in largest(study.results, family)]


def _draw_shares(axes: Axes, family: str, rows: list[Mapping[str, Any]]) -> None:
    look = STYLES[family]
    for column, face in (("hosts_per_switch", "white"), ("hosts_per_access_switch", look.colour)):
        line = [row["published"][column] for row in rows]
        axes.plot(RADICES, line, color=look.colour, linewidth=1)
        marks = [row[column] for row in rows]
        axes.plot(RADICES, marks, look.marker, color=look.colour, mfc=face, markersize=6)


def _draw_sizes(axes: Axes, family: str, rows: list[Mapping[str, Any]]) -> None:
    look = STYLES[family]
    axes.plot(RADICES, [row["published"]["hosts"] for row in rows], color=look.colour, linewidth=1)
    marks = [row["hosts"] for row in rows]
    words = {"color": look.colour, "label": look.label, "markersize": 6}
    axes.plot(RADICES, marks, look.marker, **words)  # type: ignore[arg-type]


def _name_radices(axes: Axes, label: str) -> None:
    axes.set_xscale("log")
    axes.set_xticks(RADICES, [str(radix) for radix in RADICES])
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", which="minor", length=0)
    axes.set_xlabel("ports of every switch, P")
    axes.set_title(label)


def _table_1_cells(family: str, row: Mapping[str, Any]) -> list[str]:
    published, words = row["published"], TABLE_1_FORMULAS[family]
    return [
        STYLES[family].label,
        f"{row['radix']}",
        f"{row['hosts_per_access_switch']}",
        f"{words[0]} = {published['hosts_per_access_switch']:.1f}",
        f"{row['hosts_per_switch']:.1f}",
        f"{words[1]} = {published['hosts_per_switch']:.1f}",
        f"{row['hosts']:,}",
        f"{words[2]} = {published['hosts']:,.0f}",
        f"{row['hosts'] / published['hosts']:.2f}",
    ]


FIGURE_04_CAPTION = (
    "Entries of a switch with hosts, by equation 1, for the largest fabrics of switches with "
    f"{RADICES_NAMED} ports. Open marks: addresses name switches (two levels); filled ones: also "
    "groups (three levels). Grey: one entry per host. Shaded: more than 300,000 hosts in fewer "
    "than 4,096 entries: the marks in it are those of three levels on a dragonfly and a butterfly "
    "of three dimensions. One of four would reach it too, from switches with 61 to 75 ports, of "
    "which the figure has none. Fabrics that were built as well have exactly so many entries."
)
ADDRESS_PLANS = {"per_switch": "white", "per_group": None}
FIGURE_04_HEAD = (
    "topology",
    "P",
    "hosts",
    "G",
    "S",
    "T",
    "flat",
    "per switch",
    "per group",
    "as built",
)


def figure_04(study: StudyResult) -> Section:
    """Show the entries of every address plan."""
    fabrics_of = {family: largest(study.results, family) for family in TABLE_1}
    figure = Figure(figsize=(9.6, 5.6))
    axes = figure.subplots()
    _prepare(axes, (12, 8e6), (4, 4e6))
    axes.plot([12, 4e6], [12, 4e6], color="#999999", linewidth=1.4, zorder=1)
    axes.annotate("flat: one entry per host", (1.6e4, 1.6e4), (0, 3), **_ALONG)
    for family, fabrics in fabrics_of.items():
        for plan, face in ADDRESS_PLANS.items():
            _draw_plan(axes, family, plan, face, [fabric.formula for fabric in fabrics])
    axes.set_ylabel("TCAM entries")
    _add_plan_legend(figure)
    rows = [
        _figure_04_cells(family, one) for family, fabrics in fabrics_of.items() for one in fabrics
    ]
    title = "Figure 4: entries by address plan"
    return Section(
        "figure_04", title, FIGURE_04_CAPTION, figure, [Table(FIGURE_04_HEAD, rows)], ["figure_4.*"]
    )


_ALONG: dict[str, Any] = {
    "textcoords": "offset points",
    "rotation": 27,
    "rotation_mode": "anchor",
    "ha": "left",
    "va": "bottom",
    "fontsize": 8,
    "color": "#666666",
}


def _draw_plan(
    axes: Axes, family: str, plan: str, face: str | None, rows: list[Mapping[str, Any]]
) -> None:
    look = STYLES[family]
    hosts = [row["hosts"] for row in rows]
    counts = [row[f"entries_{plan}"] for row in rows]
    style = (0, (3, 2)) if face else "-"
    words = {"color": look.colour, "mfc": face or look.colour, "markersize": 7, "linewidth": 1.3}
    axes.plot(hosts, counts, marker=look.marker, linestyle=style, zorder=4, **words)  # type: ignore[arg-type]


def _add_plan_legend(figure: Figure) -> None:
    families = [
        Line2D([], [], color=look.colour, marker=look.marker, label=look.label, markersize=7)
        for look in (STYLES[family] for family in TABLE_1)
    ]
    levels = [
        Line2D([], [], color="#444444", marker="o", mfc="white", linestyle=(0, (3, 2))),
        Line2D([], [], color="#444444", marker="o"),
    ]
    for handle, label in zip(levels, ("per switch, 2 levels", "per group, 3 levels"), strict=True):
        handle.set_label(label)
    figure.legend(handles=[*families, *levels], ncols=4, loc="outside lower center")


def _figure_04_cells(family: str, result: Any) -> list[str]:
    row = result.formula
    columns = ("hosts", "groups", "switches_per_group", "hosts_per_access_switch")
    plans = ("flat", "per_switch", "per_group")
    formula = [row[f"entries_{plan}"] for plan in plans]
    built = "–"
    if result.design:
        built = "the same" if formula == [entries(result)[plan] for plan in plans] else "differs"
    counts = [f"{row[column]:,}" for column in columns]
    return [STYLES[family].label, f"{row['radix']}", *counts, *(f"{n:,}" for n in formula), built]


FIGURE_06_CAPTION = (
    f"Rules of the largest fabrics of switches with {RADICES_NAMED} ports. Filled marks: built, "
    "every table made and proved equal to the routing; all switches of a Clos or a butterfly have "
    "as many rules as ports. Open: by formula only, as the fabric is too large to be built in this "
    "study. Band: between the bounds that the publication gives for the dragonfly, ports + S − 1 "
    "and equation 1. Its bars reach from the least to the most rules of a switch, around the mean."
)
FIGURE_06_HEAD = (
    "topology",
    "P",
    "hosts",
    "ports in use",
    "bounds",
    "least",
    "mean",
    "most",
    "proved",
)


def figure_06(study: StudyResult) -> Section:
    """Show compacted tables against the ports in use and the published bounds."""
    fabrics_of = {family: largest(study.results, family) for family in FAMILIES}
    figure = Figure(figsize=(9.6, 5.2))
    axes = figure.subplots()
    _prepare(axes, (12, 4e7), (3.5, 1e4))
    for family, fabrics in fabrics_of.items():
        if family == "dragonfly":
            _draw_dragonfly(axes, fabrics)
        else:
            _draw_rules(axes, family, fabrics)
    axes.set_ylabel("TCAM entries after compaction")
    figure.legend(*axes.get_legend_handles_labels(), ncols=4, loc="outside lower center")
    rows = [
        _figure_06_cells(family, one) for family, fabrics in fabrics_of.items() for one in fabrics
    ]
    title = "Figure 6: entries after compaction"
    return Section(
        "figure_06", title, FIGURE_06_CAPTION, figure, [Table(FIGURE_06_HEAD, rows)], ["figure_6.*"]
    )


def _draw_rules(axes: Axes, family: str, fabrics: Sequence[DesignResult]) -> None:
    look = STYLES[family]
    hosts = [one.formula["hosts"] for one in fabrics]
    rules = [_rules_most(one) for one in fabrics]
    axes.plot(hosts, rules, color=look.colour, linewidth=1.2, zorder=3)
    _mark_fabrics(axes, family, hosts, rules, fabrics)


def _draw_dragonfly(axes: Axes, fabrics: Sequence[DesignResult]) -> None:
    look = STYLES["dragonfly"]
    hosts = [one.formula["hosts"] for one in fabrics]
    bounds = [[one.formula[f"rules_{end}"] for one in fabrics] for end in ("least", "most")]
    label = "dragonfly: published bounds"
    words = {"color": look.colour, "alpha": 0.16, "linewidth": 0, "label": label}
    axes.fill_between(hosts, *bounds, **words)  # type: ignore[arg-type]
    for bound in bounds:
        axes.plot(hosts, bound, color=look.colour, linewidth=1.1, linestyle=(0, (1, 1)))
    built = [one for one in fabrics if one.design]
    places = [one.formula["hosts"] for one in built]
    tables = [one.design["tables"]["compacted"] for one in built]
    means = [one["rules_mean"] for one in tables]
    reach = [
        [mean - one["rules_min"] for mean, one in zip(means, tables, strict=True)],
        [one["largest"]["entries"] - mean for mean, one in zip(means, tables, strict=True)],
    ]
    axes.errorbar(
        places, means, reach, fmt="none", ecolor=look.colour, elinewidth=1.6, capsize=4, zorder=4
    )
    _mark_fabrics(axes, "dragonfly", places, means, built)


def _mark_fabrics(
    axes: Axes, family: str, hosts: list[int], rules: list[float], fabrics: Sequence[DesignResult]
) -> None:
    look = STYLES[family]
    points = zip(hosts, rules, fabrics, strict=True)
    for place, (across, up, one) in enumerate(points):
        face = look.colour if one.design else "white"
        words = {"color": look.colour, "mfc": face, "markersize": 7, "zorder": 5}
        label = look.label if place == 0 else None
        axes.plot([across], [up], look.marker, label=label, **words)  # type: ignore[arg-type]


def _rules_most(result: DesignResult) -> float:
    """Rules of the largest table: as built, otherwise by formula."""
    if result.design:
        return float(result.design["tables"]["compacted"]["largest"]["entries"])
    return float(result.formula["rules_most"])


def _figure_06_cells(family: str, result: DesignResult) -> list[str]:
    row = result.formula
    least, most = row["rules_least"], row["rules_most"]
    bounds = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    counts = [STYLES[family].label, f"{row['radix']}", f"{row['hosts']:,}", f"{row['ports']}"]
    return [*counts, bounds, *_rule_counts(result)]


def _rule_counts(result: DesignResult) -> list[str]:
    if not result.design:
        return ["–"] * 4
    rules: Any = result.design["tables"]["compacted"]
    counts = (f"{rules['rules_min']:,}", f"{rules['rules_mean']:,.1f}")
    return [*counts, f"{rules['largest']['entries']:,}", f"{rules['pairs_proved']:,}"]


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
"""Of the organisations; all but the first are TCAMs."""
FABRIC_NAMES = dict(zip(FABRICS, ("folded Clos", "flattened butterfly", "dragonfly"), strict=True))
GAP = 0.9
"""Between the bars of two fabrics."""
LOW, HIGH = (0.0, 5.9), (13.0, 34.5)
"""Limits of the two parts of the scale [MW]."""
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
        heights = [one["fabric"][component] / 1e6 for _, one in bars]
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
    """Write each bar's height above it."""
    for across, one in bars:
        height = one["fabric"]["total_w"] / 1e6
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
        axes.axhline(left, color=INK, linewidth=1.1, linestyle=(0, (5, 2)), zorder=0.5)
        middle = (bar_place(gap, len(ORGANISATIONS) - 1) + bar_place(gap + 1, 0)) / 2
        label = f"published\n−{check.expected:.1f} %"
        words = {"textcoords": "offset points", "ha": "center", "va": "bottom", "fontsize": 7.5}
        axes.annotate(label, (middle, left), (0, 3), color=INK, **words)  # type: ignore[arg-type]


def _power_rows(study: StudyResult) -> list[list[str]]:
    rows = []
    for fabric, name in product(FABRICS, ORGANISATIONS):
        one = organisation(study.results[f"figure_11.{fabric}"], name)
        watts = one["fabric"]
        parts = [f"{watts[component] / 1e6:.3f}" for component in (*COMPONENTS, "total_w")]
        label = ORGANISATION_NAMES[name].replace("-\n", "").replace("\n", " ")
        each = f"{one['switch']['total_w']:.1f}"
        rows.append([FABRIC_NAMES[fabric], label, f"{one['entries']:,}", *parts, each])
    return rows
