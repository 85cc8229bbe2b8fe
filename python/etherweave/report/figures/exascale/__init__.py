"""Sections of the comparison of topologies for exascale, in the order of the publication.

M. Benito, E. Vallejo, R. Beivide: *On the Use of Commodity Ethernet Technology in Exascale HPC
Systems*, HiPC 2015.
"""

from dataclasses import dataclass

from etherweave.report.style import SERIES


@dataclass(frozen=True)
class Look:
    """How a family of fabrics is drawn."""

    label: str
    """Its name."""
    colour: str
    """Of its line and its marks."""
    marker: str
    """Of its fabrics."""


LOOKS = {
    "clos_3": Look("3-level folded Clos", SERIES[0], "s"),
    "butterfly_2d": Look("2D flattened butterfly", SERIES[3], "o"),
    "butterfly_3d": Look("3D flattened butterfly", SERIES[1], "^"),
    "butterfly_4d": Look("4D flattened butterfly", SERIES[4], "D"),
    "butterfly_5d": Look("5D flattened butterfly", SERIES[5], "v"),
    "dragonfly": Look("dragonfly", SERIES[2], "P"),
}
"""By family, as the core names it."""
