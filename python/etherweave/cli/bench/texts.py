"""Texts that users name: files or standard input, in UTF-8 or UTF-16."""

import codecs
import sys
from pathlib import Path

from etherweave.bench.document import TEXT_MOST
from etherweave.inputs import read_bytes

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks, with which files of Windows begin."""


def text_of(file: Path) -> str:
    """Read a file, or standard input for ``-``; no more than a benchmark may write.

    Raises
    ------
    OSError
        When it cannot be read.
    """
    if str(file) == "-":
        return decoded(sys.stdin.buffer.read(TEXT_MOST + 1))
    return decoded(read_bytes(file, 4 * TEXT_MOST))


def decoded(octets: bytes) -> str:
    """Decode UTF-8, or UTF-16 with a mark; other bytes become characters that no number holds."""
    for mark, name in _MARKS:
        if octets.startswith(mark):
            return octets.removeprefix(mark).decode(name, errors="replace")
    return octets.decode(errors="replace")
