"""Custom fabrics whose links all join neighbouring levels: a row for each level, hosts below."""

from collections.abc import Mapping, Sequence

from etherweave.report.drawing import hosts
from etherweave.report.drawing.lettering import short, width
from etherweave.report.drawing.picture import Mark, Picture, Sketch, Words
from etherweave.report.drawing.wiring import Bundle, Switch, Wiring

HIGH = 16.0
"""Of a switch [pt]."""
GAP = 16.0
"""Between switches [pt]."""
ROUNDS = 8
"""Of ordering rows by the middle of their neighbours; more rarely change anything."""


def is_layered(wiring: Wiring, bundles: Sequence[Bundle]) -> bool:
    """Whether every link joins neighbouring levels, and there are several."""
    level = {switch.name: switch.level for switch in wiring.switches}
    return bool(bundles) and all(
        abs(level[bundle.ends[0]] - level[bundle.ends[1]]) == 1 for bundle in bundles
    )


def layout(wiring: Wiring, bundles: Sequence[Bundle]) -> Picture:
    """Place switches in rows by level, near their neighbours."""
    sketch = Sketch()
    rows = _ordered(wiring, bundles)
    pitch = max(max(map(_slot, row)) for row in rows) + GAP
    wide = pitch * max(map(len, rows))
    climb = min(max(0.12 * wide, 70.0), 150.0)
    for level, row in enumerate(rows):
        for n, switch in enumerate(row):
            place = (wide * (n + 0.5) / len(row), level * climb)
            label = short(switch.name)
            size = (max(width(label, 7) + 8, 24.0), HIGH)
            sketch.marks.append(Mark(switch.name, place, size, label))
            sketch.marks += hosts.below(wiring, switch.name, place)
        sketch.words.append(Words((-GAP, level * climb), f"level {level}", 7.5, "right"))
    join(sketch, wiring, bundles)
    return sketch.picture()


def join(sketch: Sketch, wiring: Wiring, bundles: Sequence[Bundle]) -> None:
    """Draw straight links between switches, and to their hosts."""
    marks = sketch.by_key()
    for bundle in bundles:
        sketch.lines.append(hosts.line(bundle, [marks[end].place for end in bundle.ends]))
    names = [switch.name for switch in wiring.switches]
    keys = {host: key for name in names for host, key in hosts.keys(wiring, name).items()}
    hosts.join(sketch, wiring.host_bundles(keys | {name: name for name in names}))


def _slot(switch: Switch) -> float:
    below = hosts.row_width(switch.hosts) if switch.hosts else 0.0
    return max(width(short(switch.name), 7) + 8, below, 24.0)


def _ordered(wiring: Wiring, bundles: Sequence[Bundle]) -> list[list[Switch]]:
    """Rows by level, each ordered by the mean place of its neighbours: the barycentre rule."""
    near: dict[str, list[str]] = {switch.name: [] for switch in wiring.switches}
    for bundle in bundles:
        one, other = bundle.ends
        near[one].append(other)
        near[other].append(one)
    levels = range(max(switch.level for switch in wiring.switches) + 1)
    rows = [[switch for switch in wiring.switches if switch.level == level] for level in levels]
    for _ in range(ROUNDS):
        for row in (*rows[1:], *rows[-2::-1]):
            places = _places(rows)
            row.sort(key=lambda switch: _mean([places[name] for name in near[switch.name]]))
    return rows


def _places(rows: Sequence[Sequence[Switch]]) -> Mapping[str, float]:
    return {switch.name: (n + 0.5) / len(row) for row in rows for n, switch in enumerate(row)}


def _mean(values: Sequence[float]) -> float:
    # Rounded, so that equal means keep their order whatever they are summed from.
    return round(sum(values) / len(values), 9) if values else 0.0
