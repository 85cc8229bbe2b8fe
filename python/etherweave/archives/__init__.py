"""Traces of other tools as recordings: OTF2 archives, such as Score-P writes.

:func:`recorded` gives the files of ``etherweave record`` for either. What an archive must have, and
what it does not say: ``docs/guide/record.md``.
"""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from etherweave.archives.errors import DAMAGED, ArchiveError

__all__ = ["ArchiveError", "is_archive", "recorded"]

FORMATS = {".otf2": "otf2"}
"""Ends of names of anchor files, and the libraries that read them: ``NAME.py`` converts."""


def is_archive(source: Path) -> bool:
    """Return whether a path names an archive, by its anchor file."""
    return source.suffix in FORMATS


@contextmanager
def recorded(source: Path, keep: Path | None = None) -> Iterator[Path]:
    """Give the directory of a recording: of an archive, one that is gone afterwards.

    ``source`` is a directory of ``etherweave record``, or the anchor file of an archive; the
    recording of an archive stays in ``keep``. Raises ``ArchiveError`` when an archive cannot be
    converted; ``OSError`` when there is none, or the recording cannot be written.
    """
    if not is_archive(source):
        yield source
        return
    with TemporaryDirectory(prefix="etherweave-") as temporary:
        directory = keep or Path(temporary) / source.absolute().parent.name
        directory.mkdir(parents=True, exist_ok=True)
        _convert(source, directory)
        yield directory


def _convert(anchor: Path, directory: Path) -> None:
    if anchor.is_dir():
        raise ArchiveError(f"{anchor}: Is a directory; expected the anchor file of an archive")
    with anchor.open("rb"):  # The library reports a missing file without its name.
        pass
    library = FORMATS[anchor.suffix]
    if find_spec(library) is None:
        raise ArchiveError(
            f"{anchor}: {library} is not installed; expected: pip install 'etherweave[{library}]'"
        )
    # In a process of its own: damaged files may crash the library, which also reports on stderr.
    words = [sys.executable, "-m", f"{__name__}.{library}", str(anchor), str(directory)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode == DAMAGED:
        raise ArchiveError(f"{anchor}: {done.stdout.strip()}")
    if done.returncode == -signal.SIGALRM:
        raise ArchiveError(f"{anchor}: is damaged; the library {library} does not end opening it")
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise ArchiveError(f"{anchor}: is damaged; the library {library} ended with {lines[-1]}")
