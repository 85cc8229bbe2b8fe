"""Drawings of fabrics, in the style of figure 3 of Benito, Vallejo and Beivide (HiPC 2015).

:func:`fabric_svg` makes SVG of a fabric. A layout per shape of fabric is a pure function from
tables to a picture, of which :mod:`~etherweave.report.drawing.render` makes the file. Every link is
drawn or counted by a line or a box that stands for it; the picture's sum is checked.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from etherweave._core import Fabric
from etherweave.api.outputs import write_bytes
from etherweave.report.drawing import circle, grid, polygons, rails, spread, tree
from etherweave.report.drawing.legend import framed
from etherweave.report.drawing.picture import Picture, short
from etherweave.report.drawing.render import numbered, svg
from etherweave.report.drawing.wiring import Loads, TooLargeError, Wiring

__all__ = ["LAYOUTS", "Loads", "TooLargeError", "draw_fabric", "fabric_svg", "picture_of"]

LAYOUTS: Mapping[str, Callable[[Wiring], Picture]] = {
    "single": polygons.star,
    "tree": tree.layout,
    "rails": rails.layout,
    "grid": grid.layout,
    "groups": circle.layout,
    "graph": spread.layout,
}
"""Layout of each shape."""

OWN_LAYOUTS: Mapping[str, Callable[[Wiring], Picture]] = {"slim_fly": polygons.slim_fly}
"""Layouts of families that have one of their own."""


def fabric_svg(fabric: Fabric, loads: Loads | None = None) -> bytes:
    """Draw a fabric as SVG, its links coloured by their loads where a run gives them.

    Large ones are folded where their family allows it: one pod, group or slice in detail, the
    others as boxes. The same fabric gives the same bytes.

    Raises ``TooLargeError`` when no drawing of the fabric's family could be read; the text names
    the limit.
    """
    wiring = Wiring.of(fabric, loads)
    return svg(picture_of(wiring), short(wiring.name))


def draw_fabric(fabric: Fabric, path: Path) -> Path:
    """Write the drawing of :func:`fabric_svg`; raises ``OSError`` where that is not possible."""
    write_bytes(path, fabric_svg(fabric))
    return path


def picture_of(wiring: Wiring) -> Picture:
    """Lay a fabric out, with title, numbers and legend."""
    picture = OWN_LAYOUTS.get(wiring.family, LAYOUTS[wiring.shape])(wiring)
    assert picture.links == wiring.links.height, "every link is drawn or counted"
    return framed(numbered(picture), wiring)
