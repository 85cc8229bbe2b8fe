"""Where words stand: their boxes, and the numbers of parallel links beside their lines."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from etherweave.report.drawing.lettering import width
from etherweave.report.drawing.picture import Line, Mark, Picture, Words

Box: TypeAlias = tuple[float, float, float, float]
"""Left, bottom, right, top."""

SHARES = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82, 0.12, 0.88)
"""Places on a line that a number is tried at."""
_SIZE = 6.5


def box_of_words(words: Words) -> Box:
    """Give the box around a text, upright or turned."""
    wide, high = width(words.text, words.size), 1.25 * words.size * (words.text.count("\n") + 1)
    wide *= 1.12 if words.is_bold else 1.0
    left = {"left": 0.0, "center": -wide / 2, "right": -wide}[words.across]
    foot = {"bottom": 0.0, "baseline": -0.25 * words.size, "center": -high / 2, "top": -high}
    low = foot[words.along]
    angle = math.radians(words.turn)
    corners = [(x, y) for x in (left, left + wide) for y in (low, low + high)]
    turned = [
        (x * math.cos(angle) - y * math.sin(angle), x * math.sin(angle) + y * math.cos(angle))
        for x, y in corners
    ]
    across, up = zip(*turned, strict=True)
    x, y = words.place
    return (x + min(across), y + min(up), x + max(across), y + max(up))


def box_of_mark(mark: Mark) -> Box:
    """Give the box of a mark."""
    return (*mark.edge(-1, -1), *mark.edge(1, 1))


def overlap(one: Box, other: Box) -> bool:
    """Whether two boxes have a place in common."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def numbered(picture: Picture) -> Picture:
    """Write at lines how many links they stand for, unless their legend says it once for all.

    Where a part of a picture stands out, only its lines are numbered. A number stands where it
    covers no mark and no other number.
    """
    taken = [box_of_mark(mark) for mark in picture.marks]
    taken += [box_of_words(words) for words in picture.words]
    added: list[Words] = []
    for line in _to_number(picture.lines, picture.has_highlight):
        words = _placed(line, taken)
        if words is not None:
            taken.append(box_of_words(words))
            added.append(words)
    return replace(picture, words=(*picture.words, *added))


def uniform_counts(lines: Iterable[Line]) -> dict[tuple[str, str], int]:
    """Find the classes and media of lines that all stand for equally many links."""
    counts: dict[tuple[str, str], set[int]] = {}
    for line in lines:
        if not line.is_bundle:
            counts.setdefault((line.link_class, line.medium), set()).add(line.count)
    return {look: next(iter(found)) for look, found in counts.items() if len(found) == 1}


def _to_number(lines: Sequence[Line], has_highlight: bool) -> list[Line]:
    uniform = uniform_counts(lines)
    wanted = [line for line in lines if line.count > 1 and line.link_class != "host"]
    wanted = [
        line for line in wanted if line.is_bundle or (line.link_class, line.medium) not in uniform
    ]
    return [line for line in wanted if line.is_highlighted or not has_highlight]


def _placed(line: Line, taken: Sequence[Box]) -> Words | None:
    for share in SHARES:
        words = Words(line.at(share), f"×{line.count:,}", _SIZE, has_halo=True)
        if not any(overlap(box_of_words(words), box) for box in taken):
            return words
    return None
