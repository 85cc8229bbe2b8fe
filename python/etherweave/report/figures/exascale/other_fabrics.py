"""What figure 12 shows, of fabrics that the publication does not show under traffic."""

from collections.abc import Callable
from functools import partial

from etherweave.report.figures.exascale.traffic import draw, of_fabric, table
from etherweave.report.section import MissingError, Section
from etherweave.report.source import Study
from etherweave.study.exascale.traffic import OTHERS

TITLES = {
    "exascale": "The dragonfly of 300,024 hosts under traffic",
    "butterfly": "A flattened butterfly of 15,972 hosts under traffic",
    "clos": "A folded Clos of 16,000 hosts under traffic",
}
CAPTIONS = {
    "exascale": "The dragonfly of figure 11, with its spare ports, at two loads.",
    "butterfly": "11 · 11 · 12 switches with 11 hosts. ADV: from each switch to the next one.",
    "clos": "Three levels of switches of 40 ports. ADV: from each leaf to the next one.",
}


def _section(fabric: str, study: Study) -> Section | None:
    """Show a fabric as figure 12 is shown; stays away when it did not run."""
    try:
        curves = of_fabric(study, fabric, OTHERS[fabric].routings)
    except MissingError:
        return None
    words = (TITLES[fabric], CAPTIONS[fabric])
    return Section(f"traffic_{fabric}", *words, draw(curves), [table(curves)], [f"{fabric}.*"])


sections: list[Callable[[Study], Section | None]] = [
    partial(_section, fabric) for fabric in ("butterfly", "clos", "exascale")
]
"""Of every fabric."""
