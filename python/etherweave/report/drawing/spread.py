"""Custom fabrics: rows where links join neighbouring levels, else spread like distances in links.

Spreading is stress majorisation: Gansner, Koren and North, "Graph drawing by stress majorization",
GD 2004, with weights d^-2 and the solution of each step by Jacobi's formula, equation (8). It
starts on a circle, in the order of the switches: no draw of random numbers is made.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from etherweave.report.drawing import hosts
from etherweave.report.drawing.items import Drawing
from etherweave.report.drawing.picture import Mark, Picture, Point, Words, short, width
from etherweave.report.drawing.wiring import Bundle, Switch, TooLargeError, Wiring

HIGH = 16.0  # Height of a switch [pt].
GAP = 16.0  # Between switches [pt].
ORDER_ROUNDS = 8  # Rounds of ordering rows by their neighbours; more rarely help.


def is_layered(wiring: Wiring, bundles: Sequence[Bundle]) -> bool:
    """Whether every link joins neighbouring levels, and there are several."""
    level = {switch.name: switch.level for switch in wiring.switches}
    return bool(bundles) and all(
        abs(level[bundle.ends[0]] - level[bundle.ends[1]]) == 1 for bundle in bundles
    )


def _layered(wiring: Wiring, bundles: Sequence[Bundle]) -> Picture:
    """Place switches in rows by level, near their neighbours."""
    drawing = Drawing(wiring)
    picture = drawing.picture
    rows = _ordered(wiring, bundles)
    pitch = max(max(map(_slot, row)) for row in rows) + GAP
    wide = pitch * max(map(len, rows))
    climb = min(max(0.12 * wide, 70.0), 150.0)
    for level, row in enumerate(rows):
        for n, switch in enumerate(row):
            place = (wide * (n + 0.5) / len(row), level * climb)
            picture.marks.append(_mark(switch.name, place))
            picture.marks += hosts.below(wiring, switch.name, place)
        picture.words.append(Words((-GAP, level * climb), f"level {level}", 7.5, "right"))
    drawing.join_straight()
    return picture


def _mark(name: str, place: Point) -> Mark:
    label = short(name)
    return Mark(name, place, (max(width(label, 7) + 8, 24.0), HIGH), label)


def _slot(switch: Switch) -> float:
    below = hosts.row_width(switch.hosts) if switch.hosts else 0.0
    return max(_mark(switch.name, (0.0, 0.0)).size[0], below)


def _ordered(wiring: Wiring, bundles: Sequence[Bundle]) -> list[list[Switch]]:
    """Rows by level, each ordered by the mean place of its neighbours: the barycentre rule."""
    near: dict[str, list[str]] = {switch.name: [] for switch in wiring.switches}
    for first, other in (bundle.ends for bundle in bundles):
        near[first].append(other)
        near[other].append(first)
    levels = range(max(switch.level for switch in wiring.switches) + 1)
    rows = [[switch for switch in wiring.switches if switch.level == level] for level in levels]
    for _ in range(ORDER_ROUNDS):
        for row in (*rows[1:], *rows[-2::-1]):
            places = _places(rows)
            row.sort(key=lambda switch: _mean([places[name] for name in near[switch.name]]))
    return rows


def _places(rows: Sequence[Sequence[Switch]]) -> Mapping[str, float]:
    return {switch.name: (n + 0.5) / len(row) for row in rows for n, switch in enumerate(row)}


def _mean(values: Sequence[float]) -> float:
    # Rounded, so that equal means keep their order whatever they are summed from.
    return round(sum(values) / len(values), 9) if values else 0.0


SWITCHES_MAX = 300  # Switches whose names can be read.
STEP = 78.0  # Between neighbours, where the fabric allows it [pt].
ROUNDS = 400  # Rounds of the majorisation; more change nothing that one could see.
HOSTS_AWAY = 26.0  # Distance from a switch to its hosts [pt].


def layout(wiring: Wiring) -> Picture:
    """Place switches by their distances, hosts outward."""
    if len(wiring.switches) > SWITCHES_MAX:
        what = f"a drawing shows up to {SWITCHES_MAX:,} switches of a custom fabric"
        raise TooLargeError(f"{what}; this one has {len(wiring.switches):,}")
    bundles, _ = wiring.bundles(lambda first, other: (first, other))
    if is_layered(wiring, bundles):
        return _layered(wiring, bundles)
    names = [switch.name for switch in wiring.switches]
    places = positions(names, [bundle.ends for bundle in bundles])
    drawing = Drawing(wiring)
    drawing.picture.marks = _apart([_mark(name, places[name]) for name in names])
    _place_hosts(drawing.picture, wiring)
    drawing.join_straight()
    return drawing.picture


def positions(names: Sequence[str], ends: Sequence[tuple[str, str]]) -> dict[str, Point]:
    """Spread nodes by their distances.

    ``names`` are in any fixed order; ``ends`` join all of them. Returns the place of each node
    [pt].
    """
    if len(names) == 1:
        return {names[0]: (0.0, 0.0)}
    angles = np.arange(len(names)) * math.tau / len(names)
    distance = _distances(names, ends)
    places = np.column_stack([np.cos(angles), np.sin(angles)]) * distance.max() / 2
    weight = np.divide(1.0, distance**2, out=np.zeros_like(distance), where=distance > 0)
    for _ in range(ROUNDS):
        places = _majorised(places, distance, weight)
    rounded = (_turned(places) * STEP).round(2)
    return {name: (float(x), float(y)) for name, (x, y) in zip(names, rounded, strict=True)}


def _majorised(
    places: NDArray[np.float64], distance: NDArray[np.float64], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Make a step of equation (8)."""
    apart = places[:, None, :] - places[None, :, :]
    length = np.sqrt((apart**2).sum(axis=2))
    inverse = np.divide(1.0, length, out=np.zeros_like(length), where=length > 1e-9)
    wanted = places[None, :, :] + (distance * inverse)[:, :, None] * apart
    moved = (weight[:, :, None] * wanted).sum(axis=1)
    return np.asarray(moved / weight.sum(axis=1)[:, None])


def _turned(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn the longest extent to the horizontal, as pages and names are wide."""
    centred = places - places.mean(axis=0)
    (xx, yy), xy = (centred**2).sum(axis=0), (centred[:, 0] * centred[:, 1]).sum()
    angle = 0.5 * math.atan2(2 * xy, xx - yy)
    cosine, sine = math.cos(angle), math.sin(angle)
    return np.asarray(centred @ np.array([[cosine, -sine], [sine, cosine]]))


def _distances(names: Sequence[str], ends: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
    """Links on the shortest path between every two nodes."""
    from scipy.sparse.csgraph import shortest_path

    index = {name: number for number, name in enumerate(names)}
    joined = np.zeros((len(names), len(names)))
    for first, other in ends:
        joined[index[first], index[other]] = 1
    return np.asarray(shortest_path(joined, directed=False, unweighted=True))


def _apart(marks: Sequence[Mark]) -> list[Mark]:
    """Enlarge the whole until no two switches with their hosts meet."""
    factor = 1.0
    for n, mark in enumerate(marks):
        for other in marks[:n]:
            across, up = (abs(mark.place[axis] - other.place[axis]) for axis in (0, 1))
            wide = (mark.size[0] + other.size[0]) / 2 + 14
            high = HIGH + HOSTS_AWAY
            factor = max(factor, min(wide / max(across, 1e-3), high / max(up, 1e-3)))
    factor = min(factor, 6.0)
    return [replace(m, place=(m.place[0] * factor, m.place[1] * factor)) for m in marks]


def _place_hosts(picture: Picture, wiring: Wiring) -> None:
    for mark in list(picture.marks):
        # Away from the middle of the drawing; a lone switch has its hosts below.
        x, y = mark.place
        outward = math.degrees(math.atan2(y, x)) if math.hypot(x, y) > 1 else -90.0
        # A little further where the switch is wide.
        away = HOSTS_AWAY + abs(math.cos(math.radians(outward))) * (mark.size[0] / 2 - 8)
        picture.marks += hosts.fan(wiring, mark.key, mark.place, outward, away)
