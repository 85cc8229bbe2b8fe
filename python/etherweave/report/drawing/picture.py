"""Picture that a layout gives and the renderer draws: marks, lines, areas and words, placed.

Lengths are points (1/72 inch), x grows to the right and y upward. A picture is a value: the same
fabric gives the same picture. How wide text is, and text that any font can draw, stands here too.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, TypeAlias

from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.ft2font import FT2Font
from matplotlib.textpath import TextToPath

FONT = FontProperties(family="DejaVu Sans")
"""That of all figures: it comes with matplotlib, so that widths are the same everywhere."""
STAND_IN = "□"  # Character for one that the font lacks.
LETTERS_MAX = 28  # Characters of a name; longer ones are cut in the middle.


@cache
def width(text: str, size: float) -> float:
    """Width of the widest line of a text [pt]."""
    font = FONT.copy()
    font.set_size(size)
    measure = TextToPath().get_text_width_height_descent
    return max(float(measure(line, font, ismath=False)[0]) for line in text.split("\n"))


def drawable(text: str) -> str:
    """Replace what the font cannot draw or XML cannot hold; lines stay lines."""
    return "".join(letter if _is_drawable(letter) else STAND_IN for letter in text)


def short(name: str) -> str:
    """Cut a long name in the middle, and make it drawable."""
    letters = drawable(name.replace("\n", STAND_IN))
    if len(letters) <= LETTERS_MAX:
        return letters
    half = LETTERS_MAX // 2
    return f"{letters[:half]}…{letters[-half:]}"


def count(number: int, noun: str) -> str:
    """Say how many: "1 host", "1,024 switches"."""
    plural = f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def _is_drawable(letter: str) -> bool:
    if letter == "\n":
        return True
    return unicodedata.category(letter)[0] != "C" and ord(letter) in _letters()


@cache
def _letters() -> frozenset[int]:
    font: FT2Font = get_font(findfont(FONT))
    return frozenset(font.get_charmap())


Point: TypeAlias = tuple[float, float]
Shape: TypeAlias = Literal["switch", "host", "folded"]


@dataclass(frozen=True)
class Mark:
    """A switch, a host, or a box that stands for many."""

    key: str  # Name, unique in its picture.
    place: Point  # Position of its centre.
    size: Point  # Width and height.
    label: str = ""  # Within it; may have several lines.
    shape: Shape = "switch"  # How it is drawn.
    is_highlighted: bool = False  # Whether it is the one to look at.

    def edge(self, x: float, y: float) -> Point:
        """Place at its edge: -1..=1 from left to right and from bottom to top."""
        return (self.place[0] + x * self.size[0] / 2, self.place[1] + y * self.size[1] / 2)


@dataclass(frozen=True)
class Line:
    """One or several parallel links."""

    path: Sequence[Point]  # Two points of a straight line, or four of a cubic Bézier curve.
    link_class: str  # Host, local or global.
    medium: str  # Copper, optical, or mixed.
    rate_gbps: float  # Rate of one link, the slowest where they differ [Gb/s].
    count: int = 1  # How many links it stands for.
    is_highlighted: bool = False  # Whether it is one to look at.
    is_bundle: bool = False
    """Whether an end is a box for many things, so that its count says nothing of parallel links."""
    is_repeated: bool = False  # Whether its links are counted by another line too.
    load: float | None = None
    """Share of its rate that the busiest of its links sends; None without a run."""

    def at(self, share: float) -> Point:
        """Place on the line, 0 at its start and 1 at its end."""
        if len(self.path) == 2:
            (x, y), (u, v) = self.path
            return (x + (u - x) * share, y + (v - y) * share)
        rest = 1 - share
        weights = (rest**3, 3 * rest**2 * share, 3 * rest * share**2, share**3)
        pairs = list(zip(weights, self.path, strict=True))
        return (sum(w * p[0] for w, p in pairs), sum(w * p[1] for w, p in pairs))


@dataclass(frozen=True)
class Area:
    """A shaded neighbourhood: a pod, a group, a row."""

    low: Point  # Its lower left corner.
    high: Point  # Its upper right corner.
    depth: int = 0  # How many areas it lies in; deeper ones are darker.
    is_framed: bool = False  # Whether its edge is drawn.


@dataclass(frozen=True)
class Words:
    """A line of text."""

    place: Point  # Where it is anchored.
    text: str  # Text as written.
    size: float = 7.0  # Size of its letters.
    across: Literal["left", "center", "right"] = "center"  # Side that is at the place.
    along: Literal["top", "center", "bottom", "baseline"] = "center"
    """Height of it that is at the place."""
    turn: float = 0.0  # Anticlockwise [degrees].
    is_bold: bool = False  # Whether it is a title.
    has_halo: bool = False  # Whether lines below it are wiped out.


@dataclass
class Picture:
    """A fabric, laid out; layouts add to it until it is finished."""

    marks: list[Mark] = field(default_factory=list)  # Drawn above lines.
    lines: list[Line] = field(default_factory=list)  # Drawn above areas.
    areas: list[Area] = field(default_factory=list)  # Drawn first.
    words: list[Words] = field(default_factory=list)  # Drawn last.
    notes: Sequence[str] = ()  # How to read it, a sentence each.
    links_inside: int = 0  # Links with both ends in one folded box, which are not drawn.

    @property
    def has_highlight(self) -> bool:
        """Whether something stands out, so that the rest steps back."""
        return any(line.is_highlighted for line in self.lines)

    @property
    def has_loads(self) -> bool:
        """Whether colours of lines are loads."""
        return any(line.load is not None for line in self.lines)

    @property
    def is_crowded(self) -> bool:
        """Whether lines that step back are so many that they hide each other."""
        return sum(not line.is_highlighted for line in self.lines) > 250

    @property
    def links(self) -> int:
        """How many links its lines and its folded boxes stand for."""
        drawn = sum(line.count for line in self.lines if not line.is_repeated)
        return drawn + self.links_inside

    def by_key(self) -> dict[str, Mark]:
        """Its marks."""
        return {mark.key: mark for mark in self.marks}


def arc(start: Point, end: Point, across: float, upward: float) -> tuple[Point, ...]:
    """Bow from one place to another: how far its middle is moved to the right and upward."""
    # A cubic with both controls displaced by d has its middle displaced by 3/4 d.
    shift = (across * 4 / 3, upward * 4 / 3)
    controls = [between(start, end, share) for share in (0.15, 0.85)]
    bowed = [(x + shift[0], y + shift[1]) for x, y in controls]
    return (start, bowed[0], bowed[1], end)


def between(start: Point, end: Point, share: float) -> Point:
    """Place on the straight line, 0 at its start and 1 at its end."""
    return (start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share)
