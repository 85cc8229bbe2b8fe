"""Custom fabrics: switches spread so that distances on paper follow distances in links.

Stress majorisation: Gansner, Koren and North, "Graph drawing by stress majorization", GD 2004,
with weights d^-2 and the solution of each step by Jacobi's formula, equation (8). It starts on
a circle, in the order of the switches: no draw of random numbers is made.
"""

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from etherweave.report.drawing import hosts, layers
from etherweave.report.drawing.lettering import short, width
from etherweave.report.drawing.picture import Mark, Picture, Point, Sketch
from etherweave.report.drawing.wiring import TooLargeError, Wiring

SWITCHES_MAX = 300
"""Whose names can be read."""
STEP = 78.0
"""Between neighbours, where the fabric allows it [pt]."""
ROUNDS = 400
"""Of the majorisation; more change nothing that one could see."""
HIGH = 16.0
"""Of a switch [pt]."""
HOSTS_AWAY = 26.0
"""From a switch to its hosts [pt]."""


def layout(wiring: Wiring) -> Picture:
    """Place switches by their distances, hosts outward."""
    if len(wiring.switches) > SWITCHES_MAX:
        what = f"a drawing shows up to {SWITCHES_MAX:,} switches of a custom fabric"
        raise TooLargeError(f"{what}; this one has {len(wiring.switches):,}")
    bundles, _ = wiring.bundles(lambda one, other: (one, other))
    if layers.is_layered(wiring, bundles):
        return layers.layout(wiring, bundles)
    names = [switch.name for switch in wiring.switches]
    places = positions(names, [bundle.ends for bundle in bundles])
    sketch = Sketch()
    for name in names:
        label = short(name)
        size = (max(width(label, 7) + 8, 24.0), HIGH)
        sketch.marks.append(Mark(name, places[name], size, label))
    sketch.marks = _apart(sketch.marks)
    _place_hosts(sketch, wiring)
    layers.join(sketch, wiring, bundles)
    return sketch.picture()


def positions(names: Sequence[str], ends: Sequence[tuple[str, str]]) -> dict[str, Point]:
    """Spread nodes by their distances.

    Parameters
    ----------
    names
        Of the nodes, in any fixed order.
    ends
        Of the links between them; all nodes are connected.

    Returns
    -------
    dict[str, Point]
        Place of each node [pt].
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
    """Links on the shortest way between every two nodes."""
    near: dict[str, list[str]] = {name: [] for name in names}
    for one, other in ends:
        near[one].append(other)
        near[other].append(one)
    rows = [_distances_from(name, near) for name in names]
    return np.array([[row[name] for name in names] for row in rows], dtype=np.float64)


def _distances_from(start: str, near: Mapping[str, Sequence[str]]) -> dict[str, int]:
    found, waiting = {start: 0}, deque([start])
    while waiting:
        here = waiting.popleft()
        for other in near[here]:
            if other not in found:
                found[other] = found[here] + 1
                waiting.append(other)
    return found


def _apart(marks: Sequence[Mark]) -> list[Mark]:
    """Enlarge the whole until no two switches with their hosts meet."""
    factor = 1.0
    for n, one in enumerate(marks):
        for other in marks[:n]:
            across, up = (abs(one.place[axis] - other.place[axis]) for axis in (0, 1))
            wide = (one.size[0] + other.size[0]) / 2 + 14
            high = HIGH + HOSTS_AWAY
            factor = max(factor, min(wide / max(across, 1e-3), high / max(up, 1e-3)))
    factor = min(factor, 6.0)
    return [replace(m, place=(m.place[0] * factor, m.place[1] * factor)) for m in marks]


def _place_hosts(sketch: Sketch, wiring: Wiring) -> None:
    for mark in list(sketch.marks):
        # Away from the middle of the drawing; a lone switch has its hosts below.
        x, y = mark.place
        outward = math.degrees(math.atan2(y, x)) if math.hypot(x, y) > 1 else -90.0
        # A little further where the switch is wide.
        away = HOSTS_AWAY + abs(math.cos(math.radians(outward))) * (mark.size[0] / 2 - 8)
        sketch.marks += hosts.fan(wiring, mark.key, mark.place, outward, away)
