"""Files that users name, read with care, and values that are made of what they hold.

Every reader of a file that a user names calls a function of this module. None waits for a FIFO
without a writer, nor fills the memory from ``/dev/zero`` or from a file that is far too large.
Pipes of a shell's process substitution (``/dev/fd/63``) and ``/dev/stdin`` are read.
"""

import errno
import json
import math
import os
import stat
import tomllib
import types
import typing
from collections.abc import Collection, Iterator
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from etherweave.api.nearest import nearest

if TYPE_CHECKING:
    import pyarrow

T = TypeVar("T")

GROUP_ROWS = 2**20  # Most rows of a piece of a table.
SIZE_MAX = 256 * 2**20  # Largest file that is read unless the caller gives another limit [bytes].


class InputError(OSError, ValueError):
    """A file that is not read: of another type than expected, too large, or no text.

    Handlers of :class:`OSError` see the file in ``filename`` and the reason in ``strerror``.
    """

    def __init__(self, path: str | Path, reason: str) -> None:
        super().__init__(errno.EINVAL, reason, str(path))

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


def reason(error: Exception) -> str:
    """Return what is wrong with a file, for a message that begins with the file's name."""
    return (isinstance(error, OSError) and error.strerror) or str(error)


def read_bytes(path: str | Path, size_max: int = SIZE_MAX) -> bytes:
    """Read a file of at most ``size_max`` bytes.

    Raises ``InputError`` when it is a directory, a device, a FIFO or a socket, or larger;
    ``OSError`` when the system cannot open or read it. So do all functions that read files.
    """
    check_type(path)
    with Path(path).open("rb") as file:
        content = file.read(size_max + 1)
    if len(content) > size_max:
        raise InputError(path, f"Larger than {size_max:,} bytes; expected a smaller file")
    return content


def read_text(path: str | Path, size_max: int = SIZE_MAX) -> str:
    """Read a file of UTF-8 text; lines end with a line feed, whatever ended them in the file."""
    content = read_bytes(path, size_max)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(path, f"byte {error.start}: expected UTF-8 text") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_json(path: str | Path, size_max: int = SIZE_MAX) -> Any:
    """Read a JSON file."""
    text = read_text(path, size_max)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(path, f"{error}; expected JSON") from None


def read_toml(path: str | Path, size_max: int = SIZE_MAX) -> dict[str, Any]:
    """Read a TOML file."""
    text = read_text(path, size_max)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(path, f"{error}; expected TOML") from None


def read_parquet(path: str | Path, has_metadata: bool = False) -> "pyarrow.Table":
    """Read a table in Parquet, and check its pages and its values.

    ``has_metadata`` is whether the schema keeps its metadata, in which octets may stand that polars
    rejects.
    """
    import pyarrow
    from pyarrow import parquet

    check_type(path)
    try:
        table = parquet.read_table(path, page_checksum_verification=True, partitioning=None)
        table.validate(full=True)
        if has_metadata:
            return table
        plain = [pyarrow.field(field.name, field.type, field.nullable) for field in table.schema]
        return pyarrow.Table.from_arrays(table.columns, schema=pyarrow.schema(plain))
    except InputError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, MemoryError) as error:
        raise InputError(path, _damage(path)) from error


def parquet_rows(path: str | Path) -> int:
    """Count the rows of a table in Parquet."""
    import pyarrow
    from pyarrow import parquet

    try:
        return int(parquet.read_metadata(path).num_rows)
    except (pyarrow.ArrowException, OSError, ValueError, MemoryError) as error:
        raise InputError(path, _damage(path)) from error


def parquet_groups(path: str | Path) -> "Iterator[pyarrow.Table]":
    """Read a table in Parquet group by group, and check its pages and its values.

    A group of more than :data:`GROUP_ROWS` rows comes in several parts.
    """
    import pyarrow
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path, page_checksum_verification=True) as file:
            for number in range(file.num_row_groups):
                for batch in file.iter_batches(GROUP_ROWS, row_groups=[number]):
                    group = pyarrow.Table.from_batches([batch])
                    group.validate(full=True)
                    yield group
    except (pyarrow.ArrowException, OSError, ValueError, MemoryError) as error:
        raise InputError(path, _damage(path)) from error


def check_numbers(path: str | Path, rows_max: int) -> None:
    """Reject a table of Parquet before it is read that has more rows, or texts."""
    import pyarrow
    from pyarrow import parquet, types

    check_type(path)
    try:
        metadata = parquet.read_metadata(path)
    except (pyarrow.ArrowException, OSError, ValueError, MemoryError) as error:
        raise InputError(path, _damage(path)) from error
    if metadata.num_rows > rows_max:
        raise InputError(path, f"{metadata.num_rows:,} rows; expected at most {rows_max:,}")
    for field in metadata.schema.to_arrow_schema():
        if not (types.is_integer(field.type) or types.is_floating(field.type)):
            raise InputError(path, f"column {field.name} of type {field.type}; expected numbers")


def _damage(path: str | Path) -> str:
    """Say why a file is not read as a table."""
    import pyarrow
    from pyarrow import parquet

    try:
        names = parquet.read_schema(path).names
    except (pyarrow.ArrowException, OSError, ValueError, MemoryError):
        names = []
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is None:
        return "damaged, or of another format; expected a table in Parquet"
    return f"{names.count(repeated)} columns {repeated}; expected one"


def check_type(path: str | Path) -> None:
    """Reject what is no regular file and no open pipe; raises ``OSError`` for a missing file."""
    mode = os.stat(path).st_mode  # noqa: PTH116 - follows links, and takes text as it is
    if stat.S_ISREG(mode) or (stat.S_ISFIFO(mode) and _is_open_already(path)):
        return
    names = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket"}
    raise InputError(path, f"Is {names.get(stat.S_IFMT(mode), 'a device')}; expected a file")


def _is_open_already(path: str | Path) -> bool:
    return str(path) == "/dev/stdin" or str(path).startswith(("/dev/fd/", "/proc/self/fd/"))


def decoded(kind: type[T], data: object, where: str) -> T:
    """Make a value of a type from what JSON or TOML holds, checked field by field.

    Types are dataclasses, typed and other dicts, lists, tuples, optionals, literals, enums of
    texts, paths and scalars. A dataclass has no other keys than its fields. Raises ``ValueError``
    when the data is of another shape; its message begins with ``where``.
    """
    value: T = _decoded(kind, data, where)
    return value


def _decoded(kind: Any, data: object, where: str) -> Any:
    if kind in _EXACT and type(data) is kind:
        return data
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if is_dataclass(kind):
        return kind(**_members(kind, _needed(kind), data, where, is_closed=True))  # type: ignore[operator, arg-type]
    if typing.is_typeddict(kind):
        return _members(kind, kind.__required_keys__, data, where, is_closed=False)
    if origin is typing.NotRequired:
        return _decoded(arguments[0], data, where)
    if origin is types.UnionType:
        return None if data is None else _decoded(arguments[0], data, where)
    if origin is typing.Literal and data not in arguments:
        raise _unexpected(data, where, " or ".join(map(repr, arguments)))
    if origin is dict:
        members = _checked(dict, data, where, "an object").items()
        return {name: _decoded(arguments[1], value, f"{where}.{name}") for name, value in members}
    if origin in (list, tuple):
        items = enumerate(_checked(list, data, where, "a list"))
        return origin(_decoded(arguments[0], item, f"{where}[{at}]") for at, item in items)
    return data if origin is typing.Literal else _scalar(kind, data, where)


def _members(
    kind: Any, needed: Collection[str], data: object, where: str, *, is_closed: bool
) -> dict[str, Any]:
    members = _checked(dict, data, where, "an object")
    hints = _hints(kind)
    if is_closed and (unknown := sorted(set(members) - set(hints))):
        near = nearest(unknown[0], list(hints))
        raise ValueError(f"{where}: unknown key {unknown[0][:40]!r}; {near}")
    if missing := [name for name in hints if name in needed and name not in members]:
        raise ValueError(f"{where}: {missing[0]} is missing")
    known = {name: member for name, member in members.items() if name in hints}
    return {name: _decoded(hints[name], value, f"{where}.{name}") for name, value in known.items()}


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind, include_extras=True)


@cache
def _needed(kind: Any) -> frozenset[str]:
    return frozenset(
        field.name
        for field in fields(kind)
        if field.default is MISSING and field.default_factory is MISSING
    )


_EXACT = frozenset({str, int, bool})
_KINDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


def _scalar(kind: Any, data: object, where: str) -> object:
    if kind is Any:
        return data
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        if not isinstance(data, str) or data not in list(kind):
            raise _unexpected(data, where, f"one of {', '.join(kind)}")
        return kind(data)
    if kind is Path and isinstance(data, str):
        return Path(data)
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        data = float(data) if abs(data) < 2**1000 else math.inf
    _checked(kind, data, where, _KINDS[kind])
    if isinstance(data, float) and not math.isfinite(data):
        raise ValueError(f"{where}: expected a finite number")
    return data


def _checked(kind: type[T], data: object, where: str, expected: str) -> T:
    if type(data) is not kind:
        raise _unexpected(data, where, expected)
    return data


def _unexpected(data: object, where: str, expected: str) -> ValueError:
    text = json.dumps(data)
    shown = text if len(text) <= 40 else f"{text[:40]}..."
    return ValueError(f"{where}: {shown}; expected {expected}")
