"""Abnormal ends: what programs, launchers, batch systems and kernels print when a run dies.

Messages are of two kinds. Some say on their own that a process died. Others only say that
something failed: they count behind the last row, where nothing but the end should be.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator
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
    return list(_messages(lines, _DEATH))


def failures(lines: Iterable[TextLine]) -> list[TextLine]:
    """Find messages that something failed, among lines behind the last row."""
    return [line for line in _messages(lines, _FAILED) if not _PROSE.search(line.text)]


def _messages(lines: Iterable[TextLine], pattern: re.Pattern[str]) -> Iterator[TextLine]:
    rows = [(line, line.text.lower()) for line in lines]
    everything = "\n".join(small for _, small in rows)
    words = [word for word in _WORDS if word in everything]
    for line, small in rows:
        is_candidate = any(word in small for word in words) and pattern.search(line.text)
        if is_candidate and not _HARMLESS.search(line.text):
            yield line


def sentence(line: TextLine) -> str:
    """Say that the run died, and by which message."""
    return f"the run failed: line {line.number}: {' '.join(line.text.split())[:_SHOWN_MAX]}"
