"""How wide text is, and text that any font can draw."""

import unicodedata
from functools import cache

from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.ft2font import FT2Font
from matplotlib.textpath import TextToPath

FONT = FontProperties(family="DejaVu Sans")
"""That of all figures: it comes with matplotlib, so that widths are the same everywhere."""
STAND_IN = "□"
"""For a letter that the font lacks."""
LETTERS_MAX = 28
"""Of a name; longer ones are cut in the middle."""


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
