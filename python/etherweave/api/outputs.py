"""Files of results: where they may be, and that they are complete or absent.

Names of nodes, jobs and hosts come from others. :func:`below` makes every path of such a name, and
refuses what leads out of the directory. What is written has a name of its own until it is complete:
a full disk, a signal or a crash leaves no cut file under the name that was asked for.
"""

import fcntl
import itertools
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from etherweave.api.inputs import InputError

if TYPE_CHECKING:
    import polars

NAME_BYTES_MAX = 255  # Longest name of a file on Linux (NAME_MAX) [bytes].
PART = ".part"  # Ends the name of a file that is not complete, which begins with a dot.
FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""First characters of texts that spreadsheets execute (OWASP, CSV Injection)."""


class OutputNameError(InputError):
    """A name that cannot be a file below the directory of an output."""


def below(directory: Path, *names: str) -> Path:
    """Make a path below the directory of an output, of names that others may have chosen.

    Each of ``names`` is a plain one: neither empty, ``.`` nor ``..``, without slashes and control
    characters, of at most :data:`NAME_BYTES_MAX` bytes; otherwise raises ``OutputNameError``.

    Examples
    --------
    >>> below(Path("out"), "leaf0", "config_db.json")
    PosixPath('out/leaf0/config_db.json')
    >>> below(Path("out"), "../leaf0")
    Traceback (most recent call last):
    etherweave.api.outputs.OutputNameError: out: '../leaf0' has a slash; expected a name of a file
    """
    for name in names:
        if mistake := _mistake(name):
            raise OutputNameError(directory, f"{name[:60]!r} {mistake}; expected a name of a file")
    return directory.joinpath(*names)


def _mistake(name: str) -> str:
    """Say why a name is no plain name; empty if it is one."""
    if name in ("", ".", ".."):
        return "is a directory" if name else "is empty"
    if "/" in name:
        return "has a slash"
    if any(ord(letter) < ord(" ") or 0x7F <= ord(letter) < 0xA0 for letter in name):
        return "has a control character"
    return "is too long" if len(os.fsencode(name)) > NAME_BYTES_MAX else ""


@contextmanager
def new_path(path: Path) -> Iterator[Path]:
    """Give a path to write to, in place of one that has the file when the block ends well.

    A link stays one: its target is replaced. What is no regular file, such as a pipe, is written to
    as it is. Raises ``OSError`` with the name of the file when it cannot be written or placed.
    """
    mode = _mode(path)
    if mode is not None and not stat.S_ISREG(mode):
        try:
            yield path
        except OSError as error:
            raise error if _is_output(path) else _named(error, path, path) from None
        return
    target = Path(os.path.realpath(path))
    part = target.with_name(f".{os.urandom(8).hex()}{PART}")
    try:
        yield part
        if mode is not None:
            part.chmod(stat.S_IMODE(mode))
        part.replace(target)
    except OSError as error:
        raise _named(error, part, path) from None
    finally:
        part.unlink(missing_ok=True)


def cache() -> Path:
    """Return the directory of files that can be made again: ``$XDG_CACHE_HOME/etherweave``."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "etherweave"


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except OSError:
        return None


def _is_output(path: Path) -> bool:
    """Whether a path such as ``/dev/stdout`` is the standard output of this process."""
    try:
        return os.path.samestat(path.stat(), os.fstat(1))
    except OSError:
        return False


def _named(error: OSError, part: Path, path: Path) -> OSError:
    """Name the file that was asked for; an error of writing names none."""
    if error.errno is None or error.filename not in (None, str(part), part):
        return error
    return type(error)(error.errno, error.strerror, str(path))


@contextmanager
def new_file(path: Path, mode: str = "w", newline: str | None = None) -> Iterator[IO[Any]]:
    """Open a file for writing, which is there when the block ends well, and else as before.

    Mode ``"w"`` is text in UTF-8, ``"wb"`` bytes.
    """
    encoding = None if "b" in mode else "utf-8"
    with new_path(path) as part, part.open(mode, encoding=encoding, newline=newline) as file:
        yield file


def write_text(path: Path, text: str, newline: str | None = None) -> None:
    """Write a file of text, completely or not at all."""
    with new_file(path, newline=newline) as file:
        file.write(text)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file of bytes, completely or not at all."""
    with new_file(path, "wb") as file:
        file.write(content)


def write_json(path: Path, values: object) -> None:
    """Write values as an indented JSON file, completely or not at all."""
    write_text(path, json.dumps(values, indent=2) + "\n")


def written(path: Path, write: Callable[[Path], object]) -> None:
    """Have a function write a file that takes a path, such as those of Parquet and figures."""
    with new_path(path) as part:
        write(part)


@contextmanager
def locked(path: Path, error: Exception) -> Iterator[None]:
    """Hold the lock of a file, which the kernel releases at the latest when the process ends.

    Raises ``error`` when another process holds it, and ``OSError`` with the path of the file where
    its file system has no locks.
    """
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise error from None
        except OSError as failure:
            raise OSError(failure.errno, failure.strerror, str(path)) from None
        yield


@contextmanager
def new_directory(path: Path) -> Iterator[None]:
    """Make a directory and those above it, and remove what is new and empty if the block fails."""
    new = list(itertools.takewhile(lambda above: not above.exists(), (path, *path.parents)))
    try:
        path.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        with suppress(OSError):
            for above in new:
                above.rmdir()
        raise


class NewFiles:
    """Files that appear in a directory all together, or not at all."""

    def __init__(self, output: Path) -> None:
        self._output = output
        self._folder = output / f".export-{os.urandom(8).hex()}{PART}"
        self._names: set[str] = set()
        self._folder.mkdir()

    def add(self, name: str, text: str, newline: str | None = "") -> None:
        """Write a file, or append to one of this collection; a script can be executed.

        The name has those of its directories, with slashes between them; lines end as they are,
        unless ``newline`` says otherwise. Raises ``OutputNameError`` when a name is no plain one;
        ``FileExistsError`` when the file system takes it for another file of the collection, as one
        that takes small letters and capitals for equal.
        """
        names = name.split("/")
        below(self._output, *names)  # An error names what was asked for.
        path = below(self._folder, *names)
        path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_APPEND if name in self._names else os.O_CREAT | os.O_EXCL
        self._names.add(name)
        mode = 0o777 if name.endswith(".sh") else 0o666
        try:
            descriptor = os.open(path, os.O_WRONLY | flags, mode)
            with os.fdopen(descriptor, "w", encoding="utf-8", newline=newline) as file:
                file.write(text)
        except OSError as error:
            raise _named(error, path, self._output / name) from None

    def place(self) -> None:
        """Move all files to their places; a directory that is new there moves as a whole.

        Raises ``FileExistsError`` or ``NotADirectoryError`` when a directory stands where a file
        belongs, or the other way round.
        """
        _check_places(self._folder, self._output)
        _place(self._folder, self._output)

    def remove(self) -> None:
        """Remove what has not been placed."""
        shutil.rmtree(self._folder, ignore_errors=True)


@contextmanager
def new_files(output: Path) -> Iterator[NewFiles]:
    """Collect files beside their places, and place all of them when the block ends well.

    The directory is made when missing.
    """
    with new_directory(output):
        files = NewFiles(output)
        try:
            yield files
            files.place()
        finally:
            files.remove()


def _check_places(folder: Path, output: Path) -> None:
    for entry in folder.iterdir():
        place = output / entry.name
        if place.is_dir() and entry.is_dir():
            _check_places(entry, place)
        elif os.path.lexists(place) and place.is_dir() != entry.is_dir():
            kind = NotADirectoryError if entry.is_dir() else IsADirectoryError
            raise kind(f"{place}: expected {'a directory' if entry.is_dir() else 'a file'}")


def _place(folder: Path, output: Path) -> None:
    for entry in folder.iterdir():
        place = output / entry.name
        if entry.is_dir() and place.is_dir():
            _place(entry, place)
        else:
            entry.replace(place)


def quoted(cell: object) -> object:
    """Make a text that begins like a formula one that spreadsheets show, by an apostrophe.

    Examples
    --------
    >>> quoted("=1+1"), quoted("leaf0"), quoted(-1)
    ("'=1+1", 'leaf0', -1)
    """
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULAS) else cell


def quoted_row(cells: Iterable[object]) -> Sequence[object]:
    """Quote the texts of a row of CSV that begin like formulas."""
    return [quoted(cell) for cell in cells]


def quoted_table(table: "polars.DataFrame") -> "polars.DataFrame":
    """Quote the texts of a table for CSV that begin like formulas."""
    import polars

    def shown(name: str) -> polars.Expr:
        text = polars.col(name)
        is_formula = text.str.contains(r"^[=+\-@\t\r]")
        return polars.when(is_formula).then(polars.format("'{}", text)).otherwise(text).alias(name)

    kinds = table.schema.items()
    return table.with_columns(shown(name) for name, kind in kinds if kind == polars.String)


def printable(text: str) -> str:
    """Replace what no terminal or comment shows by question marks."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def is_part(path: Path) -> bool:
    """Whether a file or a directory was not complete when a process was killed."""
    return path.name.startswith(".") and path.name.endswith(PART)
