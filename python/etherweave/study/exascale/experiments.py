"""What the comparison does: fabrics on paper, and curves of fabrics under traffic."""

from collections.abc import Iterator, Sequence

from etherweave.study.designed import Designed, Largest, by_formula
from etherweave.study.exascale.deployment import deployments
from etherweave.study.exascale.traffic import curves
from etherweave.study.plan import Experiment

FABRICS = ("clos", "butterfly", "dragonfly")
"""Of figure 11."""

TABLE_1 = ("clos_3", "butterfly_2d", "butterfly_3d", "dragonfly", "butterfly_4d")
"""Families of table I and figure 4, in the order of the table."""

FAMILIES = (*TABLE_1, "butterfly_5d")
"""Those, and the other dimension that the text speaks of: "a FB of any dimension"."""

RADICES = (8, 16, 24, 48, 96)
"""Ports of the switches in figures 4 and 6."""

HOSTS_BUILT = 1_400_000
"""Larger fabrics are known by formula only."""


def experiments(full: bool) -> Sequence[Experiment]:
    """List curves, deployments, fabrics; curves are fewer unless all is wanted."""
    of_figure_11 = [Designed(f"figure_11.{name}", name) for name in FABRICS]
    return [*curves(full), *deployments(), *of_figure_11, *_largest()]


def _largest() -> Iterator[Largest]:
    for radix in reversed(RADICES):
        for family, formula in by_formula(radix).items():
            overrides: dict[str, object] = {"design.routings": []}
            if family == "dragonfly":
                # As in section III-B: only rules of one output port are merged.
                overrides["design.tables.compaction"] = "prefixes"
            is_built = formula["hosts"] <= HOSTS_BUILT
            yield Largest(f"largest.{family}.{radix}", family, radix, is_built, overrides)
