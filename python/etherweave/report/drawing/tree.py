"""Trees: a row for each level, hosts below, pods side by side.

A block is a subtree: the switches of its top level above the blocks of the next level. Of a large
tree only the first block of each level is shown in detail, as Benito et al. (2015) do in figure
3a; boxes stand for the others, so that every link still ends somewhere.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from etherweave.report.drawing import hosts
from etherweave.report.drawing.items import ROW_MAX, Drawing, Item, more, row, side_by_side
from etherweave.report.drawing.picture import Area, Picture, Point, Words, count, width
from etherweave.report.drawing.wiring import Switch, Wiring

DETAILED_MAX = 96  # Switches of a tree that is drawn whole.
LINES_MAX = 512  # Links between switches, parallel ones counted once, of such a tree.
HIGH = 16.0  # Height of a switch [pt].
GAP = 10.0  # Between things side by side [pt].
PAD = 9.0  # Within a pod's shade [pt].
SIZE = 7.0  # Size of labels.


@dataclass(frozen=True)
class Block:
    """A subtree."""

    height: int  # Level of its top switches; leaves are 0.
    label: str  # Name; empty for the whole tree and single leaves.
    tops: tuple[Item, ...]  # Its switches of that level.
    below: "tuple[Block | Item, ...]"  # Subtrees, the folded ones as items.


def layout(wiring: Wiring) -> Picture:
    """Place a tree's switches by level and subtree."""
    height = max(switch.level for switch in wiring.switches)
    subtrees = _Subtrees(_by_subtree(wiring.switches, height), height)
    folds = _folds(wiring)
    root = subtrees.block(height, (), folds)
    pitch = min(max(_width(root, wiring) * 0.11, 66.0), 150.0)  # Steep lines in wide drawings [pt].
    drawing = _TreeDrawing(wiring, pitch=pitch)
    drawing.place(root, 0.0, 0)
    drawing.name_rows(root)
    links_inside = drawing.join()
    return replace(drawing.picture, notes=_notes(folds, height), links_inside=links_inside)


def _folds(wiring: Wiring) -> bool:
    if len(wiring.switches) > DETAILED_MAX:
        return True
    lines, _ = wiring.bundles(lambda first, other: (first, other))
    return len(lines) > LINES_MAX


def _notes(folds: bool, height: int) -> list[str]:
    if not folds:
        return []
    what = "one pod is" if height > 1 else "some leaves are"
    return [f"Only {what} shown in detail; a dashed box stands for what it names."]


_Key = tuple[int, tuple[int, ...]]


def _by_subtree(switches: Sequence[Switch], height: int) -> dict[_Key, list[Switch]]:
    """Gather switches by level and by the digits of their subtree, which stand above their level.

    A coordinate is the level, then a digit for each stage, the highest first.
    """
    rows: dict[_Key, list[Switch]] = {}
    for switch in switches:
        digits = switch.coordinates[1 : 1 + height - switch.level]
        rows.setdefault((switch.level, digits), []).append(switch)
    return rows


@dataclass(frozen=True)
class _Subtrees:
    switches: Mapping[_Key, Sequence[Switch]]
    height: int

    def block(self, height: int, digits: tuple[int, ...], folds: bool) -> Block:
        """Make the subtree of these digits, of which a folding one has only few parts."""
        tops = row(self.switches.get((height, digits), ()), folds)
        below = self._below(height, digits)
        label = f"pod {'.'.join(map(str, digits))}" if 0 < height < self.height else ""
        if height == 1 and folds and len(below) > ROW_MAX:
            kept, rest, last = below[:2], below[2:-1], below[-1:]
            parts: list[Block | Item] = [self.block(0, child, folds) for child in kept]
            parts.append(self._folded(0, rest))
            parts += [self.block(0, child, folds) for child in last]
        elif height > 1 and folds:
            parts = [self.block(height - 1, below[0], folds)]
            parts += [self._folded(height - 1, part) for part in (below[1:2], below[2:]) if part]
        else:
            parts = [self.block(height - 1, child, folds) for child in below]
        return Block(height, label, tops, tuple(parts))

    def _below(self, height: int, digits: tuple[int, ...]) -> list[tuple[int, ...]]:
        childs = (child for level, child in self.switches if level == height - 1)
        return sorted(child for child in childs if child[:-1] == digits)

    def _folded(self, height: int, roots: Sequence[tuple[int, ...]]) -> Item:
        """Make the box for subtrees of one height."""
        members = tuple(switch for root in roots for switch in self._members(height, root))
        if height == 0:
            return more(members)
        name = ".".join(map(str, roots[0]))
        label = f"pod {name}" if len(roots) == 1 else f"{len(roots):,} more pods"
        hosts_in = sum(switch.hosts for switch in members)
        label += f"\n{count(len(members), 'switch')}\n{count(hosts_in, 'host')}"
        return Item(f"pods from {name}", label, members, is_folded=True, is_tall=True)

    def _members(self, height: int, root: tuple[int, ...]) -> Iterator[Switch]:
        for (level, digits), switches in self.switches.items():
            if level <= height and digits[: len(root)] == root:
                yield from switches


def item_width(item: Item, wiring: Wiring) -> float:
    """Width of an item with its hosts [pt]."""
    box = width(item.label, SIZE) + (16 if item.is_folded else 8)
    if item.is_tall:
        return box
    below = max(hosts.row_width(switch.hosts) for switch in item.members[:1])
    return max(box, below if item.members[0].hosts else 0.0, 24.0)


def _width(block: Block | Item, wiring: Wiring) -> float:
    if isinstance(block, Item):
        return item_width(block, wiring)
    tops = _sum_with_gaps([item_width(item, wiring) for item in block.tops])
    below = _sum_with_gaps([_width(part, wiring) for part in block.below])
    return max(tops, below) + (2 * PAD if block.label else 0.0)


def _sum_with_gaps(widths: Sequence[float]) -> float:
    return sum(widths) + GAP * (len(widths) - 1) if widths else 0.0


@dataclass(kw_only=True)
class _TreeDrawing(Drawing):
    pitch: float

    def place(self, block: Block, left: float, depth: int) -> None:
        """Draw a subtree whose left edge is there."""
        wide = _width(block, self.wiring)
        if block.label:
            self._shade(block, left, wide, depth)
        self._place_tops(block, left + wide / 2)
        widths = [_width(part, self.wiring) for part in block.below]
        x = left + (wide - _sum_with_gaps(widths)) / 2
        for part, part_wide in zip(block.below, widths, strict=True):
            self._place_part(part, x, part_wide, block.height - 1, depth + bool(block.label))
            x += part_wide + GAP

    def _place_part(
        self, part: Block | Item, left: float, wide: float, height: int, depth: int
    ) -> None:
        if isinstance(part, Block):
            self.place(part, left, depth)
        else:
            self._mark(part, (left + wide / 2, height * self.pitch), wide, height)

    def _place_tops(self, block: Block, middle: float) -> None:
        widths = [item_width(item, self.wiring) for item in block.tops]
        gap = max(GAP, 0.35 * self.pitch if block.height else GAP)
        below = _sum_with_gaps([_width(part, self.wiring) for part in block.below])
        # Spread over the subtree as far as it is wide, no more than is pleasant.
        room = (below - sum(widths)) / max(len(widths), 1)
        centres = side_by_side(widths, middle, max(GAP, min(gap, room)))
        for item, wide, x in zip(block.tops, widths, centres, strict=True):
            self._mark(item, (x, block.height * self.pitch), wide, 0)

    def _mark(self, item: Item, place: Point, wide: float, height: int) -> None:
        """Draw an item; a tall one reaches so many rows down."""
        box = width(item.label, SIZE) + (16 if item.is_folded else 8)
        high = HIGH + height * self.pitch if item.is_tall else HIGH
        centre = (place[0], place[1] - height * self.pitch / 2 if item.is_tall else place[1])
        self.put(item, centre, (wide if item.is_tall else max(box, 24.0), high))
        self.put_hosts(item, place)

    def _shade(self, block: Block, left: float, wide: float, depth: int) -> None:
        # An inner pod's name stands above that of the pod around it.
        foot = -hosts.DROP - 16 - 13 * (block.height)
        top = block.height * self.pitch + HIGH / 2 + PAD - 2 * depth
        high = (left + wide, top)
        self.picture.areas.append(Area((left, foot), high, depth))
        self.picture.words.append(Words((left + wide / 2, foot + 7), block.label, 7.5))

    def name_rows(self, root: Block) -> None:
        """Name the levels at the left."""
        marks = [mark for mark in self.picture.marks if mark.shape != "host"]
        left = min(mark.edge(-1, 0)[0] for mark in marks) - 2 * PAD
        for level in range(root.height + 1):
            self.picture.words.append(
                Words((left, level * self.pitch), f"level {level}", 7.5, "right")
            )
        if self.wiring.hosts.height:
            self.picture.words.append(Words((left, -hosts.DROP), "hosts", 7.5, "right"))

    def join(self) -> int:
        """Draw the links; returns how many are within one box."""
        bundles, inside = self.bundles()
        marks = self.picture.by_key()
        for bundle in bundles:
            first, other = (marks[key] for key in bundle.ends)
            self.picture.lines.append(hosts.climb(bundle, first, other))
        return inside + self.join_hosts()
