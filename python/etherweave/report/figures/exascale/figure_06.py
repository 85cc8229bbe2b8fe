"""Figure 6: rules after compaction, against hosts."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etherweave.report.figures.exascale import LOOKS
from etherweave.report.figures.exascale.plane import RADICES_NAMED, prepare
from etherweave.report.section import Section, Table
from etherweave.report.source import Study
from etherweave.study.designed import OnPaper
from etherweave.study.exascale.experiments import FAMILIES
from etherweave.study.exascale.figures_of_merit import largest

CAPTION = (
    f"Rules of the largest fabrics of switches with {RADICES_NAMED} ports. Filled marks: built, "
    "every table made and proved equal to the routing; all switches of a Clos or a butterfly have "
    "as many rules as ports. Open: by formula only, as the fabric is too large to be built in this "
    "study. Band: between the bounds that the publication gives for the dragonfly, ports + S − 1 "
    "and equation 1. Its bars reach from the least to the most rules of a switch, around the mean."
)
HEAD = ("topology", "P", "hosts", "ports in use", "bounds", "least", "mean", "most", "proved")


def section(study: Study) -> Section:
    """Show compacted tables against the ports in use and the published bounds."""
    found = {family: largest(study.kept, family) for family in FAMILIES}
    figure = Figure(figsize=(9.6, 5.2))
    axes = figure.subplots()
    prepare(axes, (12, 4e7), (3.5, 1e4))
    for family, fabrics in found.items():
        if family == "dragonfly":
            _draw_dragonfly(axes, fabrics)
        else:
            _draw(axes, family, fabrics)
    axes.set_ylabel("TCAM entries after compaction")
    figure.legend(*axes.get_legend_handles_labels(), ncols=4, loc="outside lower center")
    rows = [_cells(family, one) for family, fabrics in found.items() for one in fabrics]
    title = "Figure 6: entries after compaction"
    return Section("figure_06", title, CAPTION, figure, [Table(HEAD, rows)], ["figure_6.*"])


def _draw(axes: Axes, family: str, fabrics: Sequence[OnPaper]) -> None:
    look = LOOKS[family]
    hosts = [one.formula["hosts"] for one in fabrics]
    rules = [_most(one) for one in fabrics]
    axes.plot(hosts, rules, color=look.colour, linewidth=1.2, zorder=3)
    _mark(axes, family, hosts, rules, fabrics)


def _draw_dragonfly(axes: Axes, fabrics: Sequence[OnPaper]) -> None:
    look = LOOKS["dragonfly"]
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
    _mark(axes, "dragonfly", places, means, built)


def _mark(
    axes: Axes, family: str, hosts: list[int], rules: list[float], fabrics: Sequence[OnPaper]
) -> None:
    look = LOOKS[family]
    points = zip(hosts, rules, fabrics, strict=True)
    for place, (across, up, one) in enumerate(points):
        face = look.colour if one.design else "white"
        words = {"color": look.colour, "mfc": face, "markersize": 7, "zorder": 5}
        label = look.label if place == 0 else None
        axes.plot([across], [up], look.marker, label=label, **words)  # type: ignore[arg-type]


def _most(found: OnPaper) -> float:
    """Rules of the largest table: as built, otherwise by formula."""
    if found.design:
        return float(found.design["tables"]["compacted"]["largest"]["entries"])
    return float(found.formula["rules_most"])


def _cells(family: str, found: OnPaper) -> list[str]:
    row = found.formula
    least, most = row["rules_least"], row["rules_most"]
    bounds = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    counts = [LOOKS[family].label, f"{row['radix']}", f"{row['hosts']:,}", f"{row['ports']}"]
    return [*counts, bounds, *_counted(found)]


def _counted(found: OnPaper) -> list[str]:
    if not found.design:
        return ["–"] * 4
    rules: Any = found.design["tables"]["compacted"]
    counts = (f"{rules['rules_min']:,}", f"{rules['rules_mean']:,.1f}")
    return [*counts, f"{rules['largest']['entries']:,}", f"{rules['pairs_proved']:,}"]
