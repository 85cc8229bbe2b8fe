"""The schema of a result on disk, checked before anything computes with it.

Columns of simulated tables are those of the core: its tables of the smallest run give names and
types. The summary's shape is that of :class:`etherweave.results.Summary`.

Left out: whether values are right. Parquet's checksums find octets that changed.
"""

import json
import tomllib
import types
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from etherweave.inputs import InputError, read_parquet, read_text

if TYPE_CHECKING:
    import pyarrow

SUMMARY_BYTES_MAX = 16 * 2**20
"""Largest summary that is read [bytes]."""
SCENARIO_BYTES_MAX = 256 * 2**20
"""Largest resolved scenario that is read [bytes]."""
MEASURED_TABLES: Mapping[str, Mapping[str, str]] = {
    "messages": {},
    "ranks": {"job": "text", "rank": "integer", "host": "text", "scenario_host": "text"},
}
"""Tables that only measurements have, with their columns that reports read."""
_SMALLEST = """\
[topology.single_switch]
hosts = 2
[run]
end = "1ns"
[[job]]
name = "smallest"
workload.osu_latency = { iterations = 1 }
"""


class ResultError(InputError):
    """A file of a result is damaged, or not as :meth:`etherweave.Result.save` writes it."""


@cache
def simulated_tables() -> Mapping[str, Mapping[str, str]]:
    """Return the tables of a simulated result: the kind of each column by its name."""
    import pyarrow

    from etherweave import _core

    tables = _core.run(_SMALLEST, "smallest", (), 1, (), None).tables
    schemas = {name: pyarrow.table(table).schema for name, table in tables.items()}
    return {
        name: {column.name: _kind(column.type) for column in schema}
        for name, schema in schemas.items()
    }


def read_summary(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises
    ------
    ResultError
        When it is not one.
    OSError
        When the file cannot be read.
    """
    text = read_text(path, SUMMARY_BYTES_MAX)
    try:
        value = json.loads(text, parse_constant=_reject_constant)
    except (ValueError, RecursionError) as error:
        raise ResultError(path, f"{error}; expected JSON") from None
    if not isinstance(value, dict):
        raise ResultError(path, f"{_name(value)}; expected an object")
    return value


def read_scenario(path: Path) -> str:
    """Read a resolved scenario.

    Raises
    ------
    ResultError
        When it is none: says which key, what stands there and what was expected.
    OSError
        When the file cannot be read.
    """
    from etherweave import _core

    text = read_text(path, SCENARIO_BYTES_MAX)
    try:
        resolved = tomllib.loads(text)
        _core.resolve(text, str(path), ())
    except _core.ScenarioError as error:
        reason = str(error).partition("\n")[0].removeprefix(f"{path}:").strip()
        raise ResultError(path, reason) from None
    except (ValueError, RecursionError) as error:
        raise ResultError(path, f"{error}; expected TOML") from None
    for key in _resolved_keys():
        if key not in resolved:
            raise ResultError(path, f"no {key}; expected a resolved scenario")
    return text


@cache
def _resolved_keys() -> list[str]:
    """Name what every resolved scenario has: the core writes every default."""
    from etherweave import _core

    return list(tomllib.loads(_core.resolve(_SMALLEST, "smallest", ())))


def _reject_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number of JSON")


def check_shape(path: Path, value: object, shape: object, key: str) -> None:
    """Check a value of a JSON file against a type, such as a ``TypedDict``.

    Raises
    ------
    ResultError
        When they differ; names the key, what stands there and what was expected.
    """
    if wrong := _difference(value, shape, key):
        where, found, expected = wrong
        raise ResultError(path, f"{where}: {found}; expected {expected}")


_Difference = tuple[str, str, str] | None
"""Key, found, expected."""


def _difference(value: object, shape: Any, key: str) -> _Difference:
    origin, arguments = get_origin(shape), get_args(shape)
    if origin is NotRequired:
        return _difference(value, arguments[0], key)
    if is_typeddict(shape):
        return _different_object(value, shape, key)
    if origin is Literal:
        return None if value in arguments else (key, _name(value), _any_of(map(repr, arguments)))
    if origin in (Union, types.UnionType):
        wrong = [_difference(value, one, key) for one in arguments]
        return None if None in wrong else next(one for one in wrong if one)
    if origin is list:
        if not isinstance(value, list):
            return key, _name(value), "a list"
        each = (_difference(one, arguments[0], f"{key}[{at}]") for at, one in enumerate(value))
        return next((one for one in each if one), None)
    if origin is dict:
        if not isinstance(value, dict):
            return key, _name(value), "an object"
        members = (_difference(one, arguments[1], f"{key}.{name}") for name, one in value.items())
        return next((one for one in members if one), None)
    return None if _is_a(value, shape) else (key, _name(value), _KINDS[shape])


def _different_object(value: object, shape: Any, key: str) -> _Difference:
    if not isinstance(value, dict):
        return key, _name(value), "an object"
    for name, hint in get_type_hints(shape, include_extras=True).items():
        where = f"{key}.{name}"
        if name not in value:
            if get_origin(hint) is not NotRequired:
                return where, "missing", "a value"
        elif wrong := _difference(value[name], hint, where):
            return wrong
    return None


_KINDS = {str: "text", int: "a whole number", float: "a number", type(None): "null"}


def _is_a(value: object, shape: type) -> bool:
    accepted = (int, float) if shape is float else shape
    return isinstance(value, accepted) and not isinstance(value, bool)


def _name(value: object) -> str:
    """Describe a value of JSON in a few words."""
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:40]}..."


def _any_of(names: Any) -> str:
    return " or ".join(names)


def read_table(path: Path, is_measured: bool) -> "pyarrow.Table":
    """Read a table of a result.

    Raises
    ------
    ResultError
        When it is damaged, or a column is missing or of another type.
    """
    table = _parquet(path)
    known = {**simulated_tables(), **(MEASURED_TABLES if is_measured else {})}
    for column, kind in known.get(path.stem, {}).items():
        _check_column(path, table, column, kind)
    for name in table.column_names:
        if (found := _kind(table[name].type)) not in _COLUMN_KINDS:
            expected = ", ".join(_COLUMN_KINDS)
            raise ResultError(path, f"column {name}: {found}; expected one of {expected}")
    return table


def _parquet(path: Path) -> "pyarrow.Table":
    if not path.is_file():
        raise ResultError(path, "no regular file; expected a table in Parquet")
    try:
        return read_parquet(path)
    except OSError as error:
        raise ResultError(path, error.strerror or str(error)) from None


def _check_column(path: Path, table: "pyarrow.Table", name: str, kind: str) -> None:
    count = table.column_names.count(name)
    if count != 1:
        columns = ", ".join(table.column_names)
        raise ResultError(path, f"{count or 'no'} columns {name} of {columns}; expected one")
    column = table[name]
    if (found := _kind(column.type)) != kind:
        raise ResultError(path, f"column {name}: {found}; expected {kind}")
    if column.null_count:
        raise ResultError(path, f"column {name}: {column.null_count} missing values; expected none")


_COLUMN_KINDS = ("text", "integer", "number", "bool")


def _kind(of: "pyarrow.DataType") -> str:
    """Name a column's type, whatever its width."""
    from pyarrow import types as arrow

    if arrow.is_integer(of):
        return "integer"
    if arrow.is_floating(of):
        return "number"
    is_text = arrow.is_string(of) or arrow.is_large_string(of) or arrow.is_string_view(of)
    return "text" if is_text else str(of)


def check_tables(home: Path, names: Mapping[str, object], is_measured: bool) -> None:
    """Check that a result has the tables that every result of its kind has.

    Raises
    ------
    ResultError
        When one is missing.
    """
    required = ("iterations", "streams") if is_measured else simulated_tables()
    for name in required:
        if name not in names:
            raise ResultError(home / f"{name}.parquet", "missing; expected a table in Parquet")
