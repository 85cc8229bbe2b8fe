"""Where a key stands in a TOML text: the standard library reads it without telling."""

import re
from collections.abc import Sequence

_HEADER = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?")
_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_PART = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")


def line_of(text: str, path: Sequence[str]) -> int:
    """Return the line of a key, or of what holds it.

    Parameters
    ----------
    text
        A document that is valid.
    path
        Names of the tables, then the key.
    """
    wanted = tuple(path)
    best = (0, 1)
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.fullmatch(line):
            table = here = _parts(header[1])
        elif key := _KEY.match(line):
            here = (*table, *_parts(key[1]))
        else:
            continue
        shared = len(here) if here == wanted[: len(here)] else _within(wanted, here)
        best = max(best, (shared, -number), key=lambda one: one[0])
    return abs(best[1])


def _within(wanted: tuple[str, ...], here: tuple[str, ...]) -> int:
    """Count the parts of a key that stands only as a beginning: ``[hosts.n1]`` for ``hosts``."""
    return len(wanted) if here[: len(wanted)] == wanted else 0


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in _PART.findall(text))
