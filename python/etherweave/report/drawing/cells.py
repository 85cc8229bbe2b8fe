"""Switches of a grid that are drawn one by one, and boxes that stand for the others.

A cell is known by the places of its switches along the last dimensions first, as coordinates
are: a switch has a place along each dimension, a slice one along each but x and y.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from etherweave.report.drawing.wiring import Switch, Wiring

Cell: TypeAlias = tuple[int, ...]

WHOLE_MAX = 300  # Switches of a grid that is drawn whole.
ROW_MAX = 16  # Switches in a row that is drawn whole, in such a grid.
FOLDED_ROW_MAX = 8  # The same in a larger grid.


@dataclass(frozen=True)
class Axis:
    """A dimension."""

    letter: str  # Name of the dimension.
    spans: tuple[range, ...]  # Coordinates that share a place, by place.

    def places(self) -> tuple[int, ...]:
        """Place of each coordinate."""
        return tuple(place for place, span in enumerate(self.spans) for _ in span)

    def name(self, place: int) -> str:
        """Say which coordinates a place has: "3", or "3–13"."""
        span = self.spans[place]
        return f"{span[0]}" if len(span) == 1 else f"{span[0]}–{span[-1]}"


@dataclass(frozen=True)
class Cells:
    """The cells of a grid."""

    wiring: Wiring  # The fabric.
    axes: tuple[Axis, ...]  # Last dimension first, as coordinates are.

    @classmethod
    def of(cls, wiring: Wiring) -> "Cells":
        """Fold what is too large to be drawn whole."""
        columns = list(zip(*(switch.coordinates for switch in wiring.switches), strict=True))
        is_whole = len(wiring.switches) <= WHOLE_MAX
        last = len(columns) - 1
        axes = [
            Axis(letter, _spans(max(column) + 1, last - n, is_whole))
            for n, (letter, column) in enumerate(zip(wiring.axes, columns, strict=True))
        ]
        return cls(wiring, tuple(axes))

    @cached_property
    def place_of(self) -> Mapping[str, Cell]:
        """Place of each switch, several of which may share one."""
        places = [axis.places() for axis in self.axes]
        return {
            switch.name: tuple(axis[c] for axis, c in zip(places, switch.coordinates, strict=True))
            for switch in self.wiring.switches
        }

    @cached_property
    def lengths(self) -> Sequence[int]:
        """Lengths of the cells, large ones first: pairs of dimensions, an odd last one alone."""
        return range(2 - len(self.axes) % 2, len(self.axes) + 1, 2)

    @cached_property
    def members(self) -> Mapping[str, Sequence[Switch]]:
        """Switches that each drawn thing stands for, by its key."""
        sharing: dict[Cell, list[Switch]] = {}
        for switch in self.wiring.switches:
            sharing.setdefault(self._drawn(self.place_of[switch.name]), []).append(switch)
        return {
            switches[0].name if len(switches) == 1 else key(cell): switches
            for cell, switches in sharing.items()
        }

    @cached_property
    def key_of(self) -> Mapping[str, str]:
        """Key of what stands for each switch."""
        return {switch.name: key for key, member in self.members.items() for switch in member}

    @cached_property
    def by_cell(self) -> Mapping[Cell, str]:
        """Key of what is drawn in each cell that is not shown in detail."""
        return {self._drawn(self.place_of[cell[0].name]): key for key, cell in self.members.items()}

    @cached_property
    def is_whole(self) -> bool:
        """Whether every switch is drawn."""
        return all(len(span) == 1 for axis in self.axes for span in axis.spans)

    def _drawn(self, place: Cell) -> Cell:
        """Give the smallest cell around a place that is not within a folded one."""
        for length in self.lengths:
            cell = place[:length]
            if any(len(axis.spans[p]) > 1 for axis, p in zip(self.axes, cell, strict=False)):
                return cell
        return place

    def ends(self, start: str, end: str) -> tuple[str, str]:
        """Keys of the largest cells that hold one end of a link and not the other."""
        drawn = (self.key_of[start], self.key_of[end])
        one, other = self.place_of[start], self.place_of[end]
        if drawn[0] == drawn[1]:
            return drawn
        length = next(length for length in self.lengths if one[:length] != other[:length])
        return drawn if length == len(self.axes) else (key(one[:length]), key(other[:length]))

    def name(self, cell: Cell) -> str:
        """Say where a cell is: "z = 1, w = 0"."""
        pairs = list(zip(self.axes, cell, strict=False))
        return ", ".join(f"{axis.letter} = {axis.name(place)}" for axis, place in reversed(pairs))


def key(cell: Cell) -> str:
    """Key of a cell that is not one switch; no switch is called so."""
    return f"cell {cell}"


def _spans(size: int, number: int, is_whole: bool) -> tuple[range, ...]:
    """Share coordinates among places; the dimension x has the number 0."""
    if is_whole and (number > 1 or size <= ROW_MAX):
        return tuple(range(n, n + 1) for n in range(size))
    if number > 1:
        return (range(1), range(1, size)) if size > 1 else (range(1),)
    if size <= FOLDED_ROW_MAX:
        return tuple(range(n, n + 1) for n in range(size))
    singles = [range(n, n + 1) for n in range(3)]
    return (*singles, range(3, size - 1), range(size - 1, size))
