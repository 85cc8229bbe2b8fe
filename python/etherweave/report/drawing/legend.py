"""Texts around a drawing: the title with its counts above, the legend and notes below."""

import math
from collections.abc import Sequence
from dataclasses import replace

from etherweave.report.drawing.picture import Line, Picture, Words, count, short, width
from etherweave.report.drawing.render import LOAD_STEPS, MARGIN, extent, load_step, uniform_counts
from etherweave.report.drawing.wiring import Wiring

SAMPLE = 26.0  # Length of a line in the legend [pt].
ROW = 12.0  # Height of a row of text [pt].
WIDTH_MIN = 400.0  # Width of a page, so that titles and legends have room [pt].
NAMES = {
    "k_ary_fat_tree": "k-ary fat tree",
    "folded_clos": "folded Clos",
    "hyperx": "HyperX",
    "dragonfly_plus": "dragonfly+",
}
"""Names of families that are not called as in a scenario."""
_GAP = 18.0
_SIZE = 8.0
_NOTE = 7.5


def framed(picture: Picture, wiring: Wiring) -> Picture:
    """Put title, legend and notes around a drawing."""
    low, high = extent(picture)
    space = max(high[0] - low[0], WIDTH_MIN) - 2 * MARGIN
    left = (low[0] + high[0] - space) / 2
    # The extent's margins are the gaps to title and legend.
    head = _title(wiring, left, high[1])
    samples, words, foot = _legend(picture, left, low[1], space)
    notes = _notes(picture.notes, left, foot, space)
    return replace(
        picture,
        lines=[*picture.lines, *samples],
        words=[*picture.words, *head, *words, *notes, Words((left + space, high[1]), "")],
    )


def _title(wiring: Wiring, left: float, foot: float) -> list[Words]:
    counts = [
        count(len(wiring.switches), "switch"),
        count(wiring.hosts.height, "host"),
        count(wiring.links.height, "link"),
    ]
    subtitle = ", ".join([NAMES.get(wiring.family, wiring.family.replace("_", " ")), *counts])
    return [
        Words((left, foot + 14), short(wiring.name), 11, "left", "baseline", is_bold=True),
        Words((left, foot), subtitle, 8.5, "left", "baseline"),
    ]


def _legend(
    picture: Picture, left: float, top: float, space: float
) -> tuple[list[Line], list[Words], float]:
    """Explain the looks of lines; returns where it ends, too."""
    samples, words = [], []
    x, y = left, top
    for line, text in _entries(picture):
        wide = SAMPLE + 5 + width(text, _SIZE)
        if x > left and x + wide > left + space:
            x, y = left, y - ROW
        samples.append(replace(line, path=((x, y), (x + SAMPLE, y))))
        words.append(Words((x + SAMPLE + 5, y), text, _SIZE, "left"))
        x += wide + _GAP
    return samples, words, y - ROW


def _entries(picture: Picture) -> list[tuple[Line, str]]:
    if picture.has_loads:
        return _load_entries(picture.lines)
    counts = uniform_counts(picture.lines)
    looks: dict[tuple[str, str], list[Line]] = {}
    for line in picture.lines:
        looks.setdefault((line.link_class, line.medium), []).append(line)
    order = ("host", "local", "global")
    return [
        (_sample(looks[look]), _entry(looks[look], counts.get(look, 1)))
        for look in sorted(looks, key=lambda look: (order.index(look[0]), look[1]))
    ]


def _load_entries(lines: Sequence[Line]) -> list[tuple[Line, str]]:
    """Explain the colours of loads, from the busiest on."""
    first = {load_step(line.load): line for line in lines if line.load is not None}
    ends = [0.0, *(end for end, _, _ in LOAD_STEPS)]
    return [
        (_sample([first[step]]), _load_words(ends[step], ends[step + 1]))
        for step in sorted(first, reverse=True)
    ]


def _load_words(low: float, high: float) -> str:
    if low == 0:
        return f"below {high:.0%} of the rate"
    return f"{low:.0%} or more" if math.isinf(high) else f"{low:.0%} to {high:.0%}"


def _sample(lines: Sequence[Line]) -> Line:
    strongest = max(lines, key=lambda line: line.is_highlighted)
    return replace(strongest, count=0, is_repeated=True)


def _entry(lines: Sequence[Line], each: int) -> str:
    rates = sorted({line.rate_gbps for line in lines})
    rate = f"{rates[0]:g}" if len(rates) == 1 else f"{rates[0]:g}–{rates[-1]:g}"
    first = lines[0]
    text = f"{first.link_class} link, {first.medium}, {rate} Gb/s"
    return f"{text}; {each} links per line" if each > 1 and first.link_class != "host" else text


def _notes(notes: Sequence[str], left: float, top: float, space: float) -> list[Words]:
    rows = [row for note in notes for row in _wrapped(note, space)]
    return [
        Words((left, top - ROW * n), row, _NOTE, "left", "center") for n, row in enumerate(rows)
    ]


def _wrapped(text: str, space: float) -> list[str]:
    rows = [""]
    for word in text.split():
        longer = f"{rows[-1]} {word}".strip()
        if rows[-1] and width(longer, _NOTE) > space:
            rows.append(word)
        else:
            rows[-1] = longer
    return rows
