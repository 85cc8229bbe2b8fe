"""Hosts below, or around, their switch: dots, or one dot for many."""

import math
from collections.abc import Sequence
from dataclasses import replace

from etherweave.report.drawing.picture import Line, Mark, Picture, Point, Words, arc
from etherweave.report.drawing.wiring import Bundle, Wiring

DOT = 6.0  # Diameter of a host's dot [pt].
PITCH = 9.0  # Between the dots of two hosts [pt].
DROP = 24.0  # Distance from a switch down to its hosts [pt].
ROW_BOW = 16.0  # Height of a link within a row of a tree: only extra links are [pt].
EACH_MAX = 6  # Hosts of a switch that are drawn one by one; more are one dot with their number.


def row_width(hosts: int) -> float:
    """Width of a switch's hosts in a row [pt]."""
    return DOT + PITCH * (hosts - 1) if hosts <= EACH_MAX else 2 * PITCH


def keys(wiring: Wiring, switch: str) -> dict[str, str]:
    """Key of what stands for each host of a switch: itself, or all of them as one."""
    names = wiring.hosts_of.get(switch, [])
    if len(names) <= EACH_MAX:
        return {name: name for name in names}
    return dict.fromkeys(names, f"hosts of {switch}")


def below(wiring: Wiring, switch: str, centre: Point) -> list[Mark]:
    """Dots in a row below a switch that stands at a place."""
    dots = list(dict.fromkeys(keys(wiring, switch).values()))
    first = centre[0] - PITCH * (len(dots) - 1) / 2
    places = [(first + PITCH * n, centre[1] - DROP) for n in range(len(dots))]
    return [dot(key, place) for key, place in zip(dots, places, strict=True)]


def fan(wiring: Wiring, switch: str, centre: Point, middle: float, radius: float) -> list[Mark]:
    """Dots on a circle around a switch, spread about a direction [degrees]."""
    dots = list(dict.fromkeys(keys(wiring, switch).values()))
    step = math.degrees(PITCH / radius)
    first = middle + step * (len(dots) - 1) / 2
    return [dot(key, on_circle(centre, radius, first - step * n)) for n, key in enumerate(dots)]


def dot(key: str, place: Point) -> Mark:
    """Stand for a host, or for many."""
    return Mark(key, place, (DOT, DOT), shape="host")


def on_circle(centre: Point, radius: float, degrees: float) -> Point:
    """Place in a direction, anticlockwise from the right."""
    angle = math.radians(degrees)
    return (centre[0] + radius * math.cos(angle), centre[1] + radius * math.sin(angle))


def join(picture: Picture, bundles: Sequence[Bundle]) -> None:
    """Draw the links of hosts whose dots and switches are there, with the number of many."""
    marks = picture.by_key()
    for bundle in bundles:
        host, switch = (marks[key] for key in bundle.ends)
        picture.lines.append(line(bundle, (switch.place, host.place)))
        if bundle.count > 1 and host.shape == "host":
            picture.words.append(number(bundle.count, host, switch))


def line(bundle: Bundle, path: Sequence[Point]) -> Line:
    """Draw a bundle along a path."""
    facts = (bundle.link_class, bundle.medium, bundle.rate_gbps, bundle.count)
    return Line(path, *facts, load=bundle.load)


def climb(bundle: Bundle, first: Mark, other: Mark) -> Line:
    """Draw a bundle from the lower of two marks to the higher; within a row as an arc above it."""
    low, high = sorted((first, other), key=lambda mark: mark.edge(0, 1)[1])
    is_level = low.edge(0, 1)[1] == high.edge(0, 1)[1]
    top = low.edge(0, 1)
    path = arc(top, high.edge(0, 1), 0, ROW_BOW) if is_level else (top, high.edge(0, -1))
    is_bundle = "folded" in (low.shape, high.shape)
    return replace(line(bundle, path), is_bundle=is_bundle)


def number(count: int, host: Mark, switch: Mark) -> Words:
    """Say beyond a dot how many hosts it stands for."""
    across, up = (host.place[axis] - switch.place[axis] for axis in (0, 1))
    length = math.hypot(across, up)
    x, y = (host.place[n] + DOT * step / length for n, step in ((0, across), (1, up)))
    text = f"×{count}"
    if abs(across) > abs(up):
        return Words((x, y), text, 6.5, "right" if across < 0 else "left")
    return Words((x, y), text, 6.5, "center", "top" if up < 0 else "bottom")
