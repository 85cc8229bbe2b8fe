"""The graphs of NPB's data traffic (DT): how many ranks a class needs, and what they send.

::

    BH, class S:   4 sources ──► 1 sink            by a tree of degree four
    WH, class S:   1 source  ──► 4 sinks           its mirror
    SH, class S:   4 ══► 4 ══► 4                   a butterfly: two arrays from each node

Each node is a rank. Source: ``DT/dt.c`` of NPB 3.3 (``buildBH``, ``buildSH``, ``buildWH``) and
``sys/setparams.c``.
"""

import re
from typing import NamedTuple

CLASSES = "SWABCD"
_DEGREE = 4  # Degree of the trees of BH and WH.
_SAMPLE = 32  # Four doubles [bytes].


class Graph(NamedTuple):
    """A graph of DT."""

    kind: str  # BH, WH or SH.
    width: int  # Sources, or sinks of WH.
    array: int  # Mean size of what a source sends over an arc [bytes].

    @property
    def layers(self) -> tuple[int, ...]:
        """Nodes of each layer, from the widest."""
        if self.kind == "SH":
            return (self.width,) * self.width.bit_length()
        widths = [self.width]
        while widths[-1] > 1:
            widths.append(-(-widths[-1] // _DEGREE))
        return tuple(widths)

    @property
    def nodes(self) -> int:
        """Ranks that it needs."""
        return sum(self.layers)

    @property
    def arcs_sent(self) -> int:
        """Most arrays that a node sends."""
        return {"BH": 1, "WH": _DEGREE, "SH": 2}[self.kind]

    @property
    def arcs_in_turn(self) -> int:
        """Arrays that follow each other on the longest path."""
        return (len(self.layers) - 1) * (2 if self.kind == "SH" else _DEGREE)


GRAPHS = ("BH", "WH", "SH")


def graph_of(program: str, kind: str = "BH") -> Graph | None:
    """Return the graph of a program such as ``dt.C.x``; ``None`` if there is none.

    Examples
    --------
    >>> [graph_of(f"dt.{name}.x").nodes for name in CLASSES]
    [5, 11, 21, 43, 85, 171]
    >>> [graph_of(f"dt.{name}.x", "SH").nodes for name in CLASSES]
    [12, 32, 80, 192, 448, 1024]
    """
    match = re.fullmatch(rf"dt\.([{CLASSES}])\.x", program)
    if match is None:
        return None
    at = CLASSES.index(match[1])
    return Graph(kind, 4 << at, 1728 * 8**at * _SAMPLE)
