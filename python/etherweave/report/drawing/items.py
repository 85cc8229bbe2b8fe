"""Items that stand for the nodes of a fabric: switches one by one, or a box for several.

Every layout is a :class:`Drawing` that places items and joins them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from etherweave.report.drawing import hosts
from etherweave.report.drawing.picture import Mark, Picture, Point, Shape, Words, count, short
from etherweave.report.drawing.wiring import Bundle, Switch, Wiring

ROW_MAX = 9  # Switches in a row that folds; a box stands for the middle of a longer one.


@dataclass(frozen=True)
class Item:
    """Item of a row: a switch, or a box for several nodes."""

    key: str  # Unique in the drawing.
    label: str  # Within it.
    members: tuple[Switch, ...]  # The switches that it stands for.
    is_folded: bool = False  # Whether it stands for several things.
    is_tall: bool = False  # Whether it stands for subtrees, from their leaves to their tops.


def row(switches: Sequence[Switch], folds: bool) -> tuple[Item, ...]:
    """Make the items of a row; a box stands for the middle of a long one that folds."""
    if not folds or len(switches) <= ROW_MAX:
        return tuple(map(_single, switches))
    return (*map(_single, switches[:2]), more(switches[2:-1]), _single(switches[-1]))


def more(switches: Sequence[Switch]) -> Item:
    """Make a box for switches of a row."""
    key, label = f"more {switches[0].name}", f"{len(switches):,} more"
    return Item(key, label, tuple(switches), is_folded=True)


def _single(switch: Switch) -> Item:
    return Item(switch.name, short(switch.name), (switch,))


def side_by_side(widths: Sequence[float], middle: float, gap: float) -> Iterator[float]:
    """Yield the centres of things of these widths in a row about a middle."""
    x = middle - (sum(widths) + gap * (len(widths) - 1)) / 2
    for wide in widths:
        yield x + wide / 2
        x += wide + gap


@dataclass
class Drawing:
    """A picture in the making."""

    wiring: Wiring
    picture: Picture = field(default_factory=Picture)
    key_of: dict[str, str] = field(default_factory=dict)
    """Key of what stands for each switch and each host."""

    def stand_for(self, switch: Switch, key: str) -> None:
        """Let a mark stand for a switch; one that is not the switch's own also for its hosts."""
        self.key_of[switch.name] = key
        if key == switch.name:
            self.key_of |= hosts.keys(self.wiring, key)
        else:
            self.key_of |= dict.fromkeys(self.wiring.hosts_of.get(switch.name, ()), key)

    def put(self, item: Item, centre: Point, size: Point, label: str | None = None) -> None:
        """Draw an item, named by its own label unless another is given."""
        shape: Shape = "folded" if item.is_folded else "switch"
        text = item.label if label is None else label
        self.picture.marks.append(Mark(item.key, centre, size, text, shape))
        for switch in item.members:
            self.stand_for(switch, item.key)

    def put_hosts(self, item: Item, centre: Point) -> None:
        """Draw the hosts of an item below it: their number below a box for switches of a row."""
        number = sum(switch.hosts for switch in item.members)
        if not item.is_folded:
            self.picture.marks += hosts.below(self.wiring, item.key, centre)
        elif number and not item.is_tall:
            where = (centre[0], centre[1] - hosts.DROP)
            self.picture.words.append(Words(where, count(number, "host"), 6.5))

    def bundles(self) -> tuple[list[Bundle], int]:
        """Gather the links between switches, and count those within one mark."""
        return self.wiring.bundles(lambda first, other: (self.key_of[first], self.key_of[other]))

    def join_hosts(self) -> int:
        """Draw the links of hosts; returns how many are within one box."""
        bundles = self.wiring.host_bundles(self.key_of)
        seen = [bundle for bundle in bundles if bundle.ends[0] != bundle.ends[1]]
        hosts.join(self.picture, seen)
        return sum(bundle.count for bundle in bundles) - sum(bundle.count for bundle in seen)

    def join_straight(self, first: str = "") -> None:
        """Draw straight links between all switches and to their hosts; those of one stand out."""
        for switch in self.wiring.switches:
            self.stand_for(switch, switch.name)
        marks = self.picture.by_key()
        for bundle in self.bundles()[0]:
            line = hosts.line(bundle, [marks[end].place for end in bundle.ends])
            self.picture.lines.append(replace(line, is_highlighted=first in bundle.ends))
        self.join_hosts()
