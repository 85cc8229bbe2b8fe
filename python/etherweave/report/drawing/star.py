"""A single switch: hosts in a circle around it, all links of one length."""

import math
from collections.abc import Sequence

from etherweave.report.drawing import hosts
from etherweave.report.drawing.lettering import short, width
from etherweave.report.drawing.picture import Mark, Picture, Point, Sketch, Words
from etherweave.report.drawing.wiring import Wiring

DOTS_MAX = 96
"""On the circle; with more hosts, each dot stands for several."""
RADIUS_MIN = 64.0
"""Of the circle [pt]."""
PITCH = 13.0
"""Along the circle [pt]."""
SIZE = 6.5
"""Of names."""


def layout(wiring: Wiring) -> Picture:
    """Place the hosts on a circle, clockwise from the top."""
    (switch,) = wiring.switches
    sketch = Sketch()
    label = short(switch.name)
    sketch.marks.append(Mark(switch.name, (0.0, 0.0), (width(label, 8) + 12, 20.0), label))
    names = wiring.hosts_of.get(switch.name, [])
    each = -(-len(names) // DOTS_MAX)
    shares = [names[start : start + each] for start in range(0, len(names), max(each, 1))]
    radius = max(RADIUS_MIN, PITCH * len(shares) / math.tau)
    for place, share in enumerate(shares):
        degrees = 90 - 360 * place / len(shares)
        sketch.marks.append(hosts.dot(share[0], hosts.on_circle((0, 0), radius, degrees)))
        sketch.words.append(_name(share, radius + 7, degrees))
    _join(wiring, sketch, {name: share[0] for share in shares for name in share})
    notes = [f"A dot stands for up to {each} hosts."] if each > 1 else []
    return sketch.picture(notes)


def _name(share: Sequence[str], radius: float, degrees: float) -> Words:
    """Name a dot, outward, readable from below."""
    first, last = short(share[0]), short(share[-1])
    text = first if len(share) == 1 else f"{first} – {last}"
    place: Point = hosts.on_circle((0, 0), radius, degrees)
    if -90 <= degrees <= 90:
        return Words(place, text, SIZE, "left", turn=degrees)
    return Words(place, text, SIZE, "right", turn=degrees + 180)


def _join(wiring: Wiring, sketch: Sketch, key_of: dict[str, str]) -> None:
    (switch,) = wiring.switches
    marks = sketch.by_key()
    for bundle in wiring.host_bundles(key_of | {switch.name: switch.name}):
        host = marks[bundle.ends[0]]
        sketch.lines.append(hosts.line(bundle, ((0.0, 0.0), host.place)))
