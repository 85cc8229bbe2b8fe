"""JSON objects amid other lines, also those of programs that forget quotes."""

import json
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from etherweave.bench.measurements import Line

DEPTH_MOST = 32
"""No benchmark's result nests deeper."""
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]')
_BARE_KEY = re.compile(r"([{,]\s*)([A-Za-z_][\w.]*)(\s*:)")
_BARE_WORD = re.compile(r"(:\s*)(-?[A-Za-z_]\w*)(?=\s*[,}])")
_LAST_COMMA = re.compile(r",(?=\s*})")


def begins(line: Line) -> bool:
    """Whether an object begins with this line."""
    return line.text.lstrip().startswith("{")


def end(lines: Sequence[Line], index: int) -> int | None:
    """Find the line after the object that begins at an index; ``None`` if it never ends."""
    depth = 0
    for after in range(index, len(lines)):
        for token in _TOKEN.findall(lines[after].text):
            depth += (token in ("{", "[")) - (token in ("}", "]"))
        if depth <= 0:
            return after + 1
        if depth > DEPTH_MOST:
            return None
    return None


def decoded(text: str) -> dict[str, Any] | None:
    """Decode an object; ``None`` if the text is none."""
    for attempt in (text, _quoted(text)):
        try:
            data = json.loads(attempt, parse_constant=_refuse, object_pairs_hook=_unique)
        except (ValueError, RecursionError):
            continue
        return data if isinstance(data, dict) else None
    return None


def _quoted(text: str) -> str:
    """Add what perftest 4.5 leaves out: quotes around names and words; and drop last commas."""
    named = _BARE_KEY.sub(r'\1"\2"\3', text)
    # Where names are quoted, a bare word is no such program's: it came there on the way.
    return named if named == text else _LAST_COMMA.sub("", _BARE_WORD.sub(r'\1"\2"', named))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object in which no name has two values; some programs write a line twice."""
    known: dict[str, Any] = {}
    for name, value in pairs:
        if known.setdefault(name, value) != value:
            raise ValueError(f"{name} stands twice")
    return known


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no measurement")
