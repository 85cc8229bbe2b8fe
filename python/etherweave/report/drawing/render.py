"""Drawing a picture: SVG whose bytes depend on the picture alone; and where its words stand.

Words have boxes; the numbers of parallel links stand beside their lines.
"""

import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse, FancyBboxPatch
from matplotlib.path import Path as Outline

from etherweave.report.drawing.picture import Area, Line, Mark, Picture, Point, Words, width
from etherweave.report.style import INK, house

Box: TypeAlias = tuple[float, float, float, float]  # Left, bottom, right, top.

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


def overlap(box: Box, other: Box) -> bool:
    """Whether two boxes have a place in common."""
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]


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
    return replace(picture, words=[*picture.words, *added])


def uniform_counts(lines: Iterable[Line]) -> dict[tuple[str, str], int]:
    """Find the classes and media of lines that all stand for equally many links."""
    counts: dict[tuple[str, str], set[int]] = {}
    for line in lines:
        if not line.is_bundle:
            counts.setdefault((line.link_class, line.medium), set()).add(line.count)
    return {look: next(iter(count)) for look, count in counts.items() if len(count) == 1}


def _to_number(lines: Sequence[Line], has_highlight: bool) -> list[Line]:
    uniform = uniform_counts(lines)
    wanted = [line for line in lines if line.count > 1 and line.link_class != "host"]
    wanted = [row for row in wanted if row.is_bundle or (row.link_class, row.medium) not in uniform]
    return [line for line in wanted if line.is_highlighted or not has_highlight]


def _placed(line: Line, taken: Sequence[Box]) -> Words | None:
    for share in SHARES:
        words = Words(line.at(share), f"×{line.count:,}", _SIZE, has_halo=True)
        if not any(overlap(box_of_words(words), box) for box in taken):
            return words
    return None


COLOURS = {"host": "#8a8a8a", "local": "#0072b2", "global": "#d55e00"}
"""Colours of link classes, from the palette of all figures."""
DASHES: dict[str, str | tuple[float, tuple[float, ...]]] = {
    "copper": "solid",
    "optical": (0, (4, 1.6)),
    "mixed": (0, (1.5, 1.5)),
}
"""Dashes of media."""
WIDTHS = {"plain": 0.9, "faint": 0.6, "highlighted": 1.8, "bundle": 1.7}
"""Widths of lines, by how much they matter [pt]."""
ALPHAS = {"faint": 0.55, "bundle": 0.45}  # Opacity of those that step back.
LOAD_STEPS = (
    (0.01, "#c4c4c4", 0.6),
    (0.1, "#fee391", 1.0),
    (0.3, "#fec44f", 1.4),
    (0.6, "#fe9929", 1.8),
    (0.9, "#d95f0e", 2.4),
    (math.inf, "#8c2d04", 3.0),
)
"""Upper ends of steps of load, with the colours of YlOrBr by C. Brewer and widths of lines [pt]."""
MARGIN = 14.0  # Around the drawing [pt].

_SHADES = ("#f1f4f7", "#e2e8ee", "#d3dce4")
_FRAME = "#9aa7b3"
_FILLS = {"switch": "#ffffff", "folded": "#e9edf1"}
_HIGHLIGHT = "#ffe9a8"
_HALO = [patheffects.withStroke(linewidth=2.2, foreground="white")]


def svg(picture: Picture, title: str) -> bytes:
    """Draw a picture."""
    with house():
        figure = draw(picture)
        text = io.BytesIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Title": title})
    return text.getvalue()


def draw(picture: Picture) -> Figure:
    """Draw a picture as a figure of its size."""
    low, high = extent(picture)
    size = ((high[0] - low[0]) / 72, (high[1] - low[1]) / 72)
    figure = Figure(figsize=size)
    figure.set_layout_engine("none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    for area in sorted(picture.areas, key=lambda area: area.depth):
        _area(axes, area)
    _lines(axes, picture)
    for mark in picture.marks:
        _mark(axes, mark)
    for words in picture.words:
        _words(axes, words)
    return figure


def extent(picture: Picture) -> tuple[Point, Point]:
    """Corners of all that is drawn, with a margin."""
    points = list(_corners(picture))
    across, up = ([point[axis] for point in points] for axis in (0, 1))
    low = (min(across) - MARGIN, min(up) - MARGIN)
    return low, (max(across) + MARGIN, max(up) + MARGIN)


def _corners(picture: Picture) -> Iterable[Point]:
    for area in picture.areas:
        yield from (area.low, area.high)
    for mark in picture.marks:
        yield from (mark.edge(-1, -1), mark.edge(1, 1))
    for line in picture.lines:
        yield from (line.at(step / 8) for step in range(9))
    for words in picture.words:
        x, y, u, v = box_of_words(words)
        yield from ((x, y), (u, v))


def _area(axes: Axes, area: Area) -> None:
    size = (area.high[0] - area.low[0], area.high[1] - area.low[1])
    axes.add_patch(
        FancyBboxPatch(
            area.low,
            *size,
            boxstyle="round,pad=0,rounding_size=6",
            facecolor=_SHADES[min(area.depth, len(_SHADES) - 1)],
            edgecolor=_FRAME if area.is_framed else "none",
            linewidth=0.7,
            zorder=0.5,
        )
    )


@dataclass(frozen=True)
class _Look:
    name: str  # Name of their group in the file.
    colour: str  # Name of matplotlib.
    width: float  # Width of the line [pt].
    dash: str | tuple[float, tuple[float, ...]]  # Dashes of the medium.
    alpha: float | None = None  # Opacity of lines that step back.
    depth: float = 2  # Lines of a higher depth are drawn above others.


def _lines(axes: Axes, picture: Picture) -> None:
    """Draw the lines, one collection for all that look alike."""
    looks: dict[_Look, list[Line]] = {}
    for line in picture.lines:
        looks.setdefault(_look(line, picture), []).append(line)
    for look, alike in looks.items():
        paths = PathCollection(
            [_outline(line) for line in alike],
            facecolors="none",
            edgecolors=look.colour,
            linewidths=look.width,
            linestyles=[look.dash],
            alpha=look.alpha,
            capstyle="butt",
            zorder=look.depth,
        )
        paths.set_gid(look.name)
        axes.add_collection(paths, autolim=False)


def _look(line: Line, picture: Picture) -> _Look:
    dash = DASHES[line.medium]
    if line.load is not None:
        step = load_step(line.load)
        _, colour, width_pt = LOAD_STEPS[step]
        # The busiest are drawn above all others.
        return _Look(f"loads-{line.medium}-{step}", colour, width_pt, dash, depth=2 + step / 10)
    weight = _weight(line, picture.has_highlight)
    return _Look(
        f"links-{line.link_class}-{line.medium}-{weight}",
        COLOURS[line.link_class],
        WIDTHS[weight],
        dash,
        ALPHAS.get(weight, 0.9) * (0.6 if picture.is_crowded and weight == "faint" else 1),
        2.5 if weight == "highlighted" else 2,
    )


def load_step(load: float) -> int:
    """Find the step of :data:`LOAD_STEPS` that a load belongs to."""
    return next(step for step, (end, _, _) in enumerate(LOAD_STEPS) if load < end)


def _weight(line: Line, has_highlight: bool) -> str:
    if line.is_highlighted:
        return "highlighted"
    if line.is_bundle and line.link_class != "host":
        return "bundle"
    return "faint" if has_highlight and line.link_class != "host" else "plain"


def _outline(line: Line) -> Outline:
    codes = [Outline.MOVETO] + [Outline.LINETO if len(line.path) == 2 else Outline.CURVE4] * (
        len(line.path) - 1
    )
    return Outline(list(line.path), codes)


def _mark(axes: Axes, mark: Mark) -> None:
    if mark.shape == "host":
        axes.add_patch(Ellipse(mark.place, *mark.size, color="#555555", linewidth=0, zorder=3))
        return
    fill = _HIGHLIGHT if mark.is_highlighted else _FILLS[mark.shape]
    axes.add_patch(
        FancyBboxPatch(
            mark.edge(-1, -1),
            *mark.size,
            boxstyle="round,pad=0,rounding_size=3",
            facecolor=fill,
            edgecolor=INK if mark.shape == "switch" else _FRAME,
            linewidth=1.6 if mark.is_highlighted else 0.8,
            linestyle="solid" if mark.shape == "switch" else (0, (3, 2)),
            zorder=3,
        )
    )
    if mark.label:
        _words(axes, Words(mark.place, mark.label))


def _words(axes: Axes, words: Words) -> None:
    axes.text(
        *words.place,
        words.text,
        fontsize=words.size,
        ha=words.across,
        va="center_baseline" if words.along == "center" and "\n" not in words.text else words.along,
        rotation=words.turn,
        rotation_mode="anchor",
        color=INK,
        weight="bold" if words.is_bold else "normal",
        path_effects=_HALO if words.has_halo else None,
        parse_math=False,
        zorder=5,
    )
