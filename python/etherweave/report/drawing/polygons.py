"""A single switch with its hosts around it, and a Slim Fly: each row a polygon of switches.

One half of the rows of a Slim Fly stands above the other. For q = 5 the local links are Robertson's
pentagons and pentagrams of the Hoffman-Singleton graph.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from etherweave.report.drawing import hosts
from etherweave.report.drawing.items import Drawing
from etherweave.report.drawing.picture import Mark, Picture, Point, Words, short, width
from etherweave.report.drawing.wiring import Switch, TooLargeError, Wiring

DOTS_MAX = 96  # On the circle; with more hosts, each dot stands for several.
RADIUS_MIN = 64.0  # Radius of the circle [pt].
PITCH = 13.0  # Along the circle [pt].
SIZE = 6.5  # Size of names.


def star(wiring: Wiring) -> Picture:
    """Place the hosts on a circle, clockwise from the top."""
    (switch,) = wiring.switches
    picture = Picture()
    label = short(switch.name)
    picture.marks.append(Mark(switch.name, (0.0, 0.0), (width(label, 8) + 12, 20.0), label))
    names = wiring.hosts_of.get(switch.name, [])
    each = -(-len(names) // DOTS_MAX)
    shares = [names[start : start + each] for start in range(0, len(names), max(each, 1))]
    radius = max(RADIUS_MIN, PITCH * len(shares) / math.tau)
    for place, share in enumerate(shares):
        degrees = 90 - 360 * place / len(shares)
        picture.marks.append(hosts.dot(share[0], hosts.on_circle((0, 0), radius, degrees)))
        picture.words.append(_name(share, radius + 7, degrees))
    keys = {name: share[0] for share in shares for name in share}
    marks = picture.by_key()
    for bundle in wiring.host_bundles(keys | {switch.name: switch.name}):
        picture.lines.append(hosts.line(bundle, ((0.0, 0.0), marks[bundle.ends[0]].place)))
    notes = [f"A dot stands for up to {each} hosts."] if each > 1 else []
    return replace(picture, notes=notes)


def _name(share: Sequence[str], radius: float, degrees: float) -> Words:
    """Name a dot, outward, readable from below."""
    first, last = short(share[0]), short(share[-1])
    text = first if len(share) == 1 else f"{first} – {last}"
    place: Point = hosts.on_circle((0, 0), radius, degrees)
    if -90 <= degrees <= 90:
        return Words(place, text, SIZE, "left", turn=degrees)
    return Words(place, text, SIZE, "right", turn=degrees + 180)


SWITCHES_MAX = 300  # Largest number of switches whose links can be distinguished.
SPACE = 50.0  # Between neighbours of a polygon [pt].
HOSTS_AWAY = 20.0  # Distance from a switch to its hosts [pt].
GAP = 26.0  # Between polygons [pt].


def slim_fly(wiring: Wiring) -> Picture:
    """Place switches by half, row and place."""
    if len(wiring.switches) > SWITCHES_MAX:
        what = f"a drawing shows up to {SWITCHES_MAX:,} switches of a slim fly"
        raise TooLargeError(f"{what}; this one has {len(wiring.switches):,}")
    q = max(switch.coordinates[2] for switch in wiring.switches) + 1
    radius = SPACE / 2 / math.sin(math.pi / q)
    drawing = Drawing(wiring)
    for switch in wiring.switches:
        _place(drawing.picture, wiring, switch, _centre(switch, radius, q), radius, q)
    _name_rows(drawing.picture, radius, q)
    first = wiring.switches[0]
    drawing.join_straight(first.name)
    label = short(first.name.removeprefix("switch"))
    note = f"The links of switch {label} stand out; switches are half.row.place."
    return replace(drawing.picture, notes=[note])


def _reach(radius: float) -> float:
    """Return the distance from the centre of a polygon to the end of its hosts' numbers [pt]."""
    return radius + HOSTS_AWAY + 16


def _centre(switch: Switch, radius: float, q: int) -> Point:
    half, row, _ = switch.coordinates
    pitch = 2 * _reach(radius) + GAP
    return (row * pitch, -half * (max(1.9 * pitch, q * pitch * 0.28)))


def _place(
    picture: Picture, wiring: Wiring, switch: Switch, centre: Point, radius: float, q: int
) -> None:
    half, _, place = switch.coordinates
    # The halves mirror each other; the first places of their rows face each other.
    degrees = (360 * place / q - 90) * (1 if half == 0 else -1)
    spot = hosts.on_circle(centre, radius, degrees)
    label = short(switch.name.removeprefix("switch"))
    size = (width(label, 7) + 6, 14.0)
    is_first = switch == wiring.switches[0]
    picture.marks.append(Mark(switch.name, spot, size, label, is_highlighted=is_first))
    picture.marks += hosts.fan(wiring, switch.name, spot, degrees, HOSTS_AWAY)


def _name_rows(picture: Picture, radius: float, q: int) -> None:
    for half in (0, 1):
        for row in range(q):
            x, y = _centre(Switch("", 0, 0, (half, row, 0)), radius, q)
            away = _reach(radius) + 6
            place = (x, y + away if half == 0 else y - away)
            picture.words.append(Words(place, f"half {half}, row {row}", 7.5))
