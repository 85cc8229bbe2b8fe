"""Texts that users hand over: files or standard input, in whatever letters."""

import codecs
import sys
from pathlib import Path

from etherweave.bench.document import TEXT_MOST

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""With which files begin that Windows wrote."""


def text_of(file: Path) -> str:
    """Read a file, or standard input for ``-``; no more than a benchmark may write, and a bit.

    Raises
    ------
    OSError
        When it cannot be read.
    """
    if str(file) == "-":
        return decoded(sys.stdin.buffer.read(TEXT_MOST + 1))
    with file.open("rb") as stream:
        return decoded(stream.read(TEXT_MOST + 1))


def decoded(octets: bytes) -> str:
    """Decode UTF-8, or UTF-16 that says so; what is neither becomes signs that no number holds."""
    for mark, name in _MARKS:
        if octets.startswith(mark):
            return octets.removeprefix(mark).decode(name, errors="replace")
    return octets.decode(errors="replace")
