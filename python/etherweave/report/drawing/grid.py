"""Grids: flattened butterfly, HyperX, torus and mesh of any dimensions.

Switches stand by their first two coordinates, x to the right and y downward. A further pair of
dimensions makes such a slice a cell of a grid of slices, and so on. Links to neighbours are
straight, those over several cells are arcs: above the cells along a row, to their right along
a column. As figure 3b of Benito et al. (2015), the links of one switch stand out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from etherweave.report.drawing import hosts, picture
from etherweave.report.drawing.cells import Cell, Cells, key
from etherweave.report.drawing.items import Drawing
from etherweave.report.drawing.wiring import Bundle, Switch, Wiring

BOX = 18.0  # Height of a switch [pt].
SPACE = 40.0  # Least space between switches [pt].
BOW, BOW_STEP = 9.0, 5.5  # Height of the shortest arc, and for each longer kind [pt].
HOSTS_AWAY = 26.0  # Distance from a switch to its hosts [pt].
PAD = 16.0  # Within the frame of a slice [pt].
FOLDED = (104.0, 44.0)  # Size of a slice that is not detailed [pt].


def layout(wiring: Wiring) -> picture.Picture:
    """Place a grid's switches by their coordinates."""
    cells = Cells.of(wiring)
    bundles, inside = wiring.bundles(cells.ends)
    bows = _bows(bundles, _cell_of(cells, bundles))
    places = _Places(cells, bows, _box_width(cells))
    # Of an installation with failures, the very first may be missing.
    first = next(switch for switch in wiring.switches if switch.name in cells.members)
    drawing = _GridDrawing(wiring, cells=cells, places=places, first=first)
    drawing.place((), (0.0, 0.0))
    inside += drawing.join(bundles)
    return replace(drawing.picture, notes=tuple(drawing.notes()), links_inside=inside)


def _cell_of(cells: Cells, bundles: Sequence[Bundle]) -> dict[str, Cell]:
    """Cell of each thing that links end at."""
    cell_by_key: dict[str, Cell] = {cell_key: cell for cell, cell_key in cells.by_cell.items()}
    for place in cells.place_of.values():
        cell_by_key |= {key(place[:length]): place[:length] for length in cells.lengths[:-1]}
    return {end: cell_by_key[end] for bundle in bundles for end in bundle.ends}


def _box_width(cells: Cells) -> float:
    """Width of all switches: that of the longest label."""
    labels = [_label(name) if len(member) == 1 else "" for name, member in cells.members.items()]
    shared = 30.0 if cells.is_whole else 62.0
    return max(
        26.0, max(picture.width(text, 7) for text in labels) + 8, 0.0 if cells.is_whole else shared
    )


def _label(name: str) -> str:
    return picture.short(name.removeprefix("switch"))


def _differing(cell: Cell, other: Cell) -> list[int]:
    """Dimensions, last first, in which two cells differ."""
    return [n for n, (here, there) in enumerate(zip(cell, other, strict=True)) if here != there]


def _bows(
    bundles: Sequence[Bundle], cell_of: Mapping[str, Cell]
) -> Mapping[int, Mapping[int, float]]:
    """How far arcs over so many cells bow [pt], for each dimension, last first."""
    overs: dict[int, set[int]] = {}
    for bundle in bundles:
        first, other = (cell_of[end] for end in bundle.ends)
        for axis in _differing(first, other):
            overs.setdefault(axis, set()).add(abs(first[axis] - other[axis]))
    return {
        axis: {over: BOW + BOW_STEP * n for n, over in enumerate(sorted(value - {1}))}
        for axis, value in overs.items()
    }


@dataclass(frozen=True)
class _Scale:
    """Places of the columns and rows of a grid of cells, from its upper left corner."""

    across: Sequence[float]
    down: Sequence[float]
    size: picture.Point


@dataclass(frozen=True)
class _Places:
    cells: Cells
    bows: Mapping[int, Mapping[int, float]]
    box: float

    def size(self, cell: Cell) -> picture.Point:
        """Width and height of a cell [pt]."""
        if len(cell) == len(self.cells.axes):
            return (self.box, BOX)
        if cell in self.cells.by_cell:
            return FOLDED
        return self.scale(cell).size

    def scale(self, cell: Cell) -> _Scale:
        """Place the cells within a cell."""
        x_axis, y_axis = self.within(cell)
        columns, rows = self.counts(cell)
        sizes = {(x, y): self.size(self.child(cell, x, y)) for x in columns for y in rows}
        widths = [max(sizes[x, y][0] for y in rows) for x in columns]
        heights = [max(sizes[x, y][1] for x in columns) for y in rows]
        upward, sideways = self.bow(x_axis), self.bow(y_axis)
        is_switch = x_axis == len(self.cells.axes) - 1
        least, beside, above = (SPACE, 12, 22) if is_switch else (34.0, 16, 16)
        # Arcs stand above the first row and to the right of the last column.
        left = PAD + 30 if is_switch else PAD if cell else 0.0
        top = PAD + upward + 4
        across, wide = _along(widths, left, max(least, sideways + beside))
        down, high = _along(heights, top, max(least, upward + above))
        foot = PAD + (30 if is_switch else 0) + (14 if cell else 0)
        return _Scale(across, down, (wide + sideways + PAD, high + foot))

    def within(self, cell: Cell) -> tuple[int, int | None]:
        """Dimensions along the rows and the columns within a cell; an odd one has rows alone."""
        free = len(self.cells.axes) - len(cell)
        return (len(cell) + 1, len(cell)) if free % 2 == 0 else (len(cell), None)

    def counts(self, cell: Cell) -> tuple[range, range]:
        """Columns and rows within a cell."""
        x_axis, y_axis = self.within(cell)
        rows = 1 if y_axis is None else len(self.cells.axes[y_axis].spans)
        return range(len(self.cells.axes[x_axis].spans)), range(rows)

    def child(self, cell: Cell, x: int, y: int) -> Cell:
        """Give the cell in a column and a row of a cell."""
        return (*cell, x) if self.within(cell)[1] is None else (*cell, y, x)

    def bow(self, axis: int | None) -> float:
        """How far the longest arcs along a dimension bow [pt]."""
        return max(self.bows.get(axis, {}).values(), default=0.0) if axis is not None else 0.0

    def is_row(self, axis: int) -> bool:
        """Whether a dimension runs to the right."""
        return (len(self.cells.axes) - 1 - axis) % 2 == 0


def _along(sizes: Sequence[float], start: float, gap: float) -> tuple[list[float], float]:
    """Put cells one after another: their starts, and the end of the last."""
    starts, place = [], start
    for size in sizes:
        starts.append(place)
        place += size + gap
    return starts, place - gap


@dataclass(kw_only=True)
class _GridDrawing(Drawing):
    cells: Cells
    places: _Places
    first: Switch
    frames: dict[str, picture.Mark] = field(default_factory=dict)
    cell_of: dict[str, Cell] = field(default_factory=dict)
    each: dict[str, set[int]] = field(default_factory=dict)

    def place(self, cell: Cell, corner: picture.Point) -> None:
        """Draw a cell whose upper left corner is there."""
        cell_key = self.cells.by_cell.get(cell)
        if cell_key is not None:
            self.cell_of[cell_key] = cell
            self._mark(cell, cell_key, corner)
        elif len(cell) < len(self.cells.axes):
            self._slice(cell, corner)

    def _slice(self, cell: Cell, corner: picture.Point) -> None:
        scale = self.places.scale(cell)
        x_axis, _ = self.places.within(cell)
        if cell:
            self._frame(cell, corner, scale.size)
        if x_axis == len(self.cells.axes) - 1:
            self._name_axes(cell, corner, scale)
        columns, rows = self.places.counts(cell)
        for x, y in ((x, y) for y in rows for x in columns):
            child = self.places.child(cell, x, y)
            self.place(child, (corner[0] + scale.across[x], corner[1] - scale.down[y]))

    def _frame(self, cell: Cell, corner: picture.Point, size: picture.Point) -> None:
        low, high = (corner[0], corner[1] - size[1]), (corner[0] + size[0], corner[1])
        middle = ((low[0] + high[0]) / 2, (low[1] + high[1]) / 2)
        self.frames[key(cell)] = picture.Mark(key(cell), middle, size)
        self.cell_of[key(cell)] = cell
        self.picture.areas.append(picture.Area(low, high, 0, is_framed=True))
        self.picture.words.append(picture.Words((middle[0], low[1] + 10), self.cells.name(cell), 8))

    def _name_axes(self, cell: Cell, corner: picture.Point, scale: _Scale) -> None:
        """Shade the rows and name rows and columns of switches."""
        x_axis, y_axis = self.places.within(cell)
        right = corner[0] + scale.across[-1] + self.places.box + self.places.bow(y_axis) + 8
        for y, down in enumerate(scale.down):
            middle = corner[1] - down - BOX / 2
            low = (corner[0] + 8, middle - BOX / 2 - 27)
            self.picture.areas.append(picture.Area(low, (right, middle + BOX / 2 + 7), bool(cell)))
            if y_axis is not None:
                text = f"y={self.cells.axes[y_axis].name(y)}"
                self.picture.words.append(picture.Words((corner[0] + 12, middle), text, 7, "left"))
        foot = corner[1] - scale.down[-1] - BOX - 35
        for x, across in enumerate(scale.across):
            place = (corner[0] + across + self.places.box / 2, foot)
            self.picture.words.append(
                picture.Words(place, f"x={self.cells.axes[x_axis].name(x)}", 7)
            )

    def _mark(self, cell: Cell, cell_key: str, corner: picture.Point) -> None:
        size = self.places.size(cell)
        centre = (corner[0] + size[0] / 2, corner[1] - size[1] / 2)
        members = self.cells.members[cell_key]
        if len(members) == 1:
            is_first = members[0] == self.first
            mark = picture.Mark(cell_key, centre, size, _label(cell_key), is_highlighted=is_first)
            self.picture.marks.append(mark)
            self.picture.marks += hosts.fan(self.wiring, cell_key, centre, 222, HOSTS_AWAY)
        else:
            text = self._note_text(cell, members)
            self.picture.marks.append(picture.Mark(cell_key, centre, size, text, "folded"))

    def _note_text(self, cell: Cell, members: Sequence[Switch]) -> str:
        switches = picture.count(len(members), "switch")
        if len(cell) == len(self.cells.axes):
            return switches
        hosts_in = sum(switch.hosts for switch in members)
        return f"{self.cells.name(cell)}\n{switches}\n{picture.count(hosts_in, 'host')}"

    def join(self, bundles: Sequence[Bundle]) -> int:
        """Draw the links; returns how many of hosts are within one box."""
        marks = self.frames | self.picture.by_key()
        for bundle in bundles:
            self._join(bundle, marks)
        self._join_far(marks)
        for switch in self.wiring.switches:
            self.stand_for(switch, self.cells.key_of[switch.name])
        return self.join_hosts()

    def _join(self, bundle: Bundle, marks: Mapping[str, picture.Mark]) -> None:
        first, other = (marks[end] for end in bundle.ends)
        is_bundle = any(end in self.frames or marks[end].shape == "folded" for end in bundle.ends)
        line = hosts.line(bundle, self._path(first, other))
        is_first = self.first.name in bundle.ends
        self.picture.lines.append(replace(line, is_highlighted=is_first, is_bundle=is_bundle))
        if len(self.cell_of[first.key]) < len(self.cells.axes):
            axis = _differing(self.cell_of[first.key], self.cell_of[other.key])[0]
            self.each.setdefault(self.cells.axes[axis].letter, set()).add(bundle.count)

    def _path(self, first: picture.Mark, other: picture.Mark) -> Sequence[picture.Point]:
        """Go straight to a neighbour and to what is in neither row nor column, else by an arc."""
        first, other = sorted((first, other), key=lambda mark: self.cell_of[mark.key])
        here, there = self.cell_of[first.key], self.cell_of[other.key]
        axes = _differing(here, there)
        if len(axes) > 1:
            return (first.place, other.place)
        bow = self.places.bows[axes[0]].get(there[axes[0]] - here[axes[0]], 0.0)
        is_row = self.places.is_row(axes[0])
        if not bow:
            return _straight(first, other, is_row)
        if is_row:
            return picture.arc(first.edge(0.35, 1), other.edge(-0.35, 1), 0, bow)
        return picture.arc(first.edge(1, -0.35), other.edge(1, 0.35), bow, 0)

    def _join_far(self, marks: Mapping[str, picture.Mark]) -> None:
        """Draw the links of the first switch to other slices, beside those of the slices."""
        slices = len(self.cells.axes) - 2
        if slices <= 0:
            return
        mine = self.cells.place_of[self.first.name][:slices]
        bundles, _ = self.wiring.bundles(lambda first, other: self._far_ends(first, other, mine))
        for bundle in bundles:
            peer = next(end for end in bundle.ends if end != self.first.name)
            line = hosts.line(bundle, self._around(marks[self.first.name], marks[peer]))
            is_bundle = marks[peer].shape == "folded"
            self.picture.lines.append(
                replace(line, is_highlighted=True, is_repeated=True, is_bundle=is_bundle)
            )

    def _far_ends(self, start: str, end: str, mine: Cell) -> tuple[str, str]:
        """Name the ends of a link of the first switch to another slice; else one end twice."""
        peer = end if start == self.first.name else start
        if self.first.name not in (start, end) or self.cells.place_of[peer][: len(mine)] == mine:
            return ("", "")
        return (self.first.name, self.cells.key_of[peer])

    def _around(self, mark: picture.Mark, other: picture.Mark) -> Sequence[picture.Point]:
        """Lead a link of the first switch around the slices between, above or to their left."""
        here, there = self.cell_of[mark.key], self.cell_of[other.key]
        axis = next(n for n, (a, b) in enumerate(zip(here, there, strict=False)) if a != b)
        depth = (len(self.cells.axes) - 1 - axis) // 2
        beyond = 5.0 * abs(here[axis] - there[axis]) + 14.0 * depth
        if self.places.is_row(axis):
            rise = self.places.bow(len(self.cells.axes) - 1) + 10 + beyond
            return picture.arc(mark.edge(0, 1), other.edge(-0.2, 1), 0, rise)
        return picture.arc(mark.edge(-1, 0.4), other.edge(-1, 0), -(36 + beyond), 0)

    def notes(self) -> Iterator[str]:
        """Say what stands out and what is left out."""
        if len(self.wiring.switches) > 1:
            yield f"The links of switch {_label(self.first.name)} stand out."
        for letter, counts in sorted(self.each.items()):
            each = f"{min(counts):,}" if len(counts) == 1 else f"{min(counts):,} to {max(counts):,}"
            yield f"A line between slices along {letter} stands for {each} links."
        if not self.cells.is_whole:
            yield "A dashed box stands for what it names, and a line to it for all links between."


def _straight(
    first: picture.Mark, other: picture.Mark, is_row: bool
) -> tuple[picture.Point, picture.Point]:
    """Join neighbours of any sizes, at the middle of the smaller one."""
    smaller = min(first, other, key=lambda mark: mark.size[1 if is_row else 0])
    if is_row:
        return (first.edge(1, 0)[0], smaller.place[1]), (other.edge(-1, 0)[0], smaller.place[1])
    return (smaller.place[0], first.edge(0, -1)[1]), (smaller.place[0], other.edge(0, 1)[1])
