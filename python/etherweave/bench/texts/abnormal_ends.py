"""Abnormal ends: what programs, launchers, batch systems and kernels print when a run dies.

Messages are of two kinds. Some say on their own that a process died. Others only say that
something failed: they count behind the last row, where nothing but the end should be.
"""

import re
import tomllib
from collections.abc import Iterable
from importlib.resources import files

from etherweave.measurements.benchmark_report import TextLine

_MESSAGES = tomllib.loads(
    files("etherweave.bench.texts").joinpath("abnormal_ends.toml").read_text(encoding="utf-8")
)
_DEATH = re.compile("|".join(_MESSAGES["deaths"]))
_WORDS: tuple[str, ...] = tuple(_MESSAGES["words"])
_FAILED = re.compile(
    rf"(?<![\w-])(?:{'|'.join(_MESSAGES['failures'])})(?![\w-]|\"? *[:=] *\d)|^\^C", re.IGNORECASE
)
_PROSE = re.compile(
    r"\b(?:I|I'm|I've|my|we|our|any idea|please)\b|\?\s*$|^[A-Z][a-z]* [a-z].*[.!,]$"
)
"""Words of a person who asks or reports, not of a program."""
_HARMLESS = re.compile("|".join(_MESSAGES["harmless"]), re.IGNORECASE)
_SHOWN_MAX = 120  # Longest part of a message that is shown [characters].


def deaths(lines: Iterable[TextLine]) -> list[TextLine]:
    """Find the messages that say on their own that a process died."""
    return [line for line in lines if _is_message(line.text, _DEATH)]


def failures(lines: Iterable[TextLine]) -> list[TextLine]:
    """Find messages that something failed, among lines behind the last row."""
    return [row for row in lines if _is_message(row.text, _FAILED) and not _PROSE.search(row.text)]


def _is_message(text: str, pattern: re.Pattern[str]) -> bool:
    small = text.lower()
    if not any(word in small for word in _WORDS):
        return False
    return bool(pattern.search(text)) and not _HARMLESS.search(text)


def sentence(line: TextLine) -> str:
    """Say that the run died, and by which message."""
    return f"the run failed: line {line.number}: {' '.join(line.text.split())[:_SHOWN_MAX]}"
