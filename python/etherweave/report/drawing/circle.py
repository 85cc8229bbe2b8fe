"""Dragonfly and dragonfly+: groups on a circle, the first one in detail.

As figure 3c of Benito et al. (2015): the first group shows its switches, hosts, local links and
global links, each with the group that it leads to. Of a large fabric, boxes stand for several
groups or switches.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from etherweave.report.drawing import hosts
from etherweave.report.drawing.items import Drawing, Item, row, side_by_side
from etherweave.report.drawing.picture import Area, Mark, Picture, Point, Shape, Words, arc, width
from etherweave.report.drawing.wiring import Bundle, Wiring

GROUPS_MAX = 24  # On the circle; boxes stand for several of more.
STRAIGHT_MAX = 4  # Groups on a circle that are never in each other's way.
LOOSE_MAX = 10  # Groups on a circle that lines pass below the lowest of.
SWITCHES_MAX = 12  # Switches in a row of the first group.
PORT = 11.0  # Between the global links of a switch [pt].
GAP = 22.0  # Between switches [pt].
BOW, BOW_STEP = 8.0, 6.0  # Height of the arcs over one switch, and for each further one [pt].
STUB = 26.0  # Distance from the first group's edge to the end of the names of groups [pt].
TIER = 64.0  # Distance from leaves up to spines [pt].
HIGH = 16.0
PAD = 12.0


@dataclass(frozen=True)
class Spot:
    """Place on the circle: a group, or several."""

    label: str  # G3, or G3–G5.
    groups: tuple[int, ...]  # Their numbers.


def layout(wiring: Wiring) -> Picture:
    """Place groups on a circle and the first one below it."""
    drawing = _CircleDrawing(wiring)
    drawing.place()
    inside = drawing.join()
    return replace(drawing.picture, notes=tuple(drawing.notes()), links_inside=inside)


def spots(others: Sequence[int]) -> list[Spot]:
    """Share all groups but the first evenly among at most so many spots."""
    parts = min(len(others), GROUPS_MAX)
    edges = [len(others) * part // max(parts, 1) for part in range(parts + 1)]
    shares = [others[low:high] for low, high in pairwise(edges)]
    return [
        Spot(f"G{share[0]}" if len(share) == 1 else f"G{share[0]}–G{share[-1]}", tuple(share))
        for share in shares
    ]


def mark_width(on_circle: Sequence[Spot]) -> float:
    """Width of the widest box on the circle [pt]."""
    return max((width(spot.label, 8) for spot in on_circle), default=0.0) + 14


def _spare(on_circle: int) -> int:
    """Places at the circle's bottom that stay free."""
    return 1 + on_circle // 6


def _around(on_circle: Sequence[Spot]) -> float:
    """Length of a circle with room for all boxes [pt]."""
    return (mark_width(on_circle) + 8) * (len(on_circle) + _spare(len(on_circle)))


@dataclass
class _CircleDrawing(Drawing):
    def __post_init__(self) -> None:
        self.axis = self.wiring.axes.index("group")
        group = [switch.coordinates[self.axis] for switch in self.wiring.switches]
        self.first, *others = sorted(set(group))
        self.spots = spots(others)
        pairs = zip(self.wiring.switches, group, strict=True)
        mine = [switch for switch, number in pairs if number == self.first]
        levels = sorted({switch.level for switch in mine})
        of_levels = [[switch for switch in mine if switch.level == level] for level in levels]
        self.rows = [row(switches, len(switches) > SWITCHES_MAX) for switches in of_levels]
        # Room for the boxes on the circle, and for the first group below it.
        self.radius = max(120.0, _around(self.spots) / math.tau)

    # -- places --------------------------------------------------------------------------------

    def place(self) -> None:
        """Draw all that is not a line."""
        self._place_circle()
        self.top = -self.radius - 60 if self.spots else 0.0
        self.far = self._far()
        self._place_first()

    def _place_circle(self) -> None:
        of_group: dict[int, str] = {}
        for number, spot in enumerate(self.spots):
            place = hosts.on_circle((0.0, 0.0), self.radius, self._degrees(number))
            size = (mark_width([spot]), 20.0)
            shape: Shape = "folded" if len(spot.groups) > 1 else "switch"
            self.picture.marks.append(Mark(spot.label, place, size, spot.label, shape))
            of_group |= dict.fromkeys(spot.groups, spot.label)
        for switch in self.wiring.switches:
            if (group := switch.coordinates[self.axis]) in of_group:
                self.stand_for(switch, of_group[group])

    def _degrees(self, number: int) -> float:
        """Direction of a spot: anticlockwise from the first group's place at the bottom.

        The more lines pass there, the wider that place is.
        """
        spare = _spare(len(self.spots))
        return -90 + 360 * (number + (spare + 1) / 2) / (len(self.spots) + spare)

    def _far(self) -> dict[str, list[Bundle]]:
        """Gather the global links of the first group by their switch."""
        far: dict[str, list[Bundle]] = {}
        for item in (item for items in self.rows for item in items):
            far[item.key] = []
            for switch in item.members:
                self.stand_for(switch, item.key)
        self.gathered, self.inside = self.bundles()
        for bundle in self.gathered:
            mine = [end for end in bundle.ends if end in far]
            if len(mine) == 1:
                far[mine[0]].append(bundle)
        return far

    def _place_first(self) -> None:
        widths = [self._widths(items) for items in self.rows]
        wide = max(sum(row_widths) + GAP * (len(row_widths) - 1) for row_widths in widths)
        arcs = self._bow(max(len(items) for items in self.rows)) if len(self.rows) == 1 else 0.0
        ceiling = self.top - STUB - PAD - arcs
        heights = [ceiling - TIER * (len(self.rows) - 1 - n) for n in range(len(self.rows))]
        for items, row_widths, y in zip(self.rows, widths, heights, strict=True):
            self._place_row(items, row_widths, y - HIGH / 2)
        self._shade(wide, ceiling + arcs + PAD, heights[0])

    def _shade(self, wide: float, top: float, lowest: float) -> None:
        low = (-wide / 2 - 2 * PAD, lowest - HIGH - hosts.DROP - 24)
        self.picture.areas.append(Area(low, (-low[0], top), 0, is_framed=True))
        self.picture.words.append(Words((0.0, low[1] + 10), f"G{self.first}", 9, is_bold=True))

    def _widths(self, items: Sequence[Item]) -> list[float]:
        return [
            max(
                width(item.label, 7) + 12,
                0.0 if item.is_folded else PORT * (len(self.far[item.key]) + 0.5),
                hosts.row_width(max(item.members[0].hosts, 1)) + 4,
            )
            for item in items
        ]

    def _place_row(self, items: Sequence[Item], widths: Sequence[float], y: float) -> None:
        for item, wide, x in zip(items, widths, side_by_side(widths, 0.0, GAP), strict=True):
            self.put(item, (x, y), (wide, HIGH), item.label.rpartition(".")[2])
            self.put_hosts(item, (x, y))

    # -- links ---------------------------------------------------------------------------------

    def join(self) -> int:
        """Draw the links; returns how many are within one box."""
        marks = self.picture.by_key()
        for bundle in self.gathered:
            first, other = (marks[key] for key in bundle.ends)
            if not self.far.keys() & set(bundle.ends):
                self._draw(bundle, (first.place, other.place), False)
            elif self.far.keys() >= set(bundle.ends):
                self._draw(bundle, self._within(first, other), True)
        for key, bundles in self.far.items():
            if marks[key].shape == "folded":
                self._join_folded(marks[key], bundles)
            else:
                self._join_far(marks[key], bundles, marks)
        return self.inside + self.join_hosts()

    def _draw(self, bundle: Bundle, path: Sequence[Point], is_mine: bool) -> None:
        self.picture.lines.append(replace(hosts.line(bundle, path), is_highlighted=is_mine))

    def _within(self, first: Mark, other: Mark) -> Sequence[Point]:
        """Join two of the first group: rows straight, and arcs over others of a row."""
        if first.place[1] != other.place[1]:
            low, high = sorted((first, other), key=lambda mark: mark.place[1])
            return (low.edge(0, 1), high.edge(0, -1))
        first, other = sorted((first, other), key=lambda mark: mark.place[0])
        order = next(
            [item.key for item in items]
            for items in self.rows
            if first.key in [item.key for item in items]
        )
        over = order.index(other.key) - order.index(first.key)
        if over == 1:
            return (first.edge(1, 0), other.edge(-1, 0))
        return arc(first.edge(0.5, 1), other.edge(-0.5, 1), 0, BOW + BOW_STEP * (over - 2))

    def _bow(self, switches: int) -> float:
        return BOW + BOW_STEP * (switches - 3) if switches > 2 else 0.0

    def _join_far(self, mark: Mark, bundles: Sequence[Bundle], marks: dict[str, Mark]) -> None:
        """Lead the global links of a switch straight up, past their names, to their groups."""
        ends = [next(marks[key] for key in bundle.ends if key != mark.key) for bundle in bundles]
        pairs = sorted(zip(ends, bundles, strict=True), key=lambda pair: self._gate(pair[0]))
        first = mark.place[0] - PORT * (len(pairs) - 1) / 2
        for n, (end, bundle) in enumerate(pairs):
            foot = (first + PORT * n, mark.edge(0, 1)[1])
            head = (foot[0], self.top)
            self._draw(bundle, (foot, head), True)
            for path in self._onward(head, end):
                self._draw(replace(bundle, count=0), path, True)
            name = Words((foot[0], self.top - STUB / 2), end.label, 7, turn=90, has_halo=True)
            self.picture.words.append(name)

    def _join_folded(self, mark: Mark, bundles: Sequence[Bundle]) -> None:
        """Lead the global links of folded switches up as one line, without saying whither."""
        if not bundles:
            return
        total = sum(bundle.count for bundle in bundles)
        head = (mark.place[0], self.top)
        self._draw(replace(bundles[0], count=total), (mark.edge(0, 1), head), True)
        self.picture.words.append(Words((head[0], head[1] + 8), "to all groups", 7))

    def _onward(self, head: Point, end: Mark) -> Iterator[Sequence[Point]]:
        """Lead on to a group: straight where few groups stand around, else through the gap."""
        if len(self.spots) <= STRAIGHT_MAX:
            yield (head, end.place)
            return
        gate = self._gate(end)
        half = (head[1] + gate[1]) / 2
        yield (head, (head[0], half), (gate[0], half), gate)
        yield (gate, end.place)

    def _gate(self, end: Mark) -> Point:
        """Place in the gap of the circle, through which a line meets no other group."""
        number = [spot.label for spot in self.spots].index(end.key)
        x, y = hosts.on_circle((0.0, 0.0), self.radius, self._degrees(0))
        gap = max(x - mark_width(self.spots), 4.0)
        share = 1 - 2 * (number + 0.5) / len(self.spots)
        # Many groups stand so close that a line passes above the lowest to those beyond.
        return (min(gap, 90.0) * share, y - 34 if len(self.spots) <= LOOSE_MAX else y + 14)

    def notes(self) -> Iterator[str]:
        """Say what is left out."""
        yield f"Only group G{self.first} is detailed; its links stand out."
        if any(len(spot.groups) > 1 for spot in self.spots) or any(
            item.is_folded for items in self.rows for item in items
        ):
            yield "A dashed box stands for what it names, and a line to it for all links between."
