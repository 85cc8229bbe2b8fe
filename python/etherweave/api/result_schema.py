"""The schema of a result on disk, checked before anything computes with it.

Columns of simulated tables are those of the core: its tables of the smallest run give names and
types. The summary's shape is that of :class:`etherweave.api.results.Summary`.

Left out: whether values are right. Parquet's checksums find octets that changed.
"""

import json
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from etherweave.api import inputs

if TYPE_CHECKING:
    import pyarrow

    from etherweave import _core

SUMMARY_BYTES_MAX = 16 * 2**20  # Largest summary that is read [bytes].
SCENARIO_BYTES_MAX = 256 * 2**20  # Largest resolved scenario that is read [bytes].
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


_EVERY_TABLE = f"""\
{_SMALLEST}
[[faults.down]]
link = "switch0 - host0"
until = "1ns"
[observe]
period = "1ns"
ports = ["* - *"]
flows = ["* -> *"]
hosts = ["*"]
ranks = true
"""


class ResultError(inputs.InputError):
    """A file of a result is damaged, or not as :meth:`etherweave.Result.save` writes it."""


@cache
def simulated_tables() -> Mapping[str, Mapping[str, str]]:
    """Return the tables of every simulated result: the kind of each column by its name."""
    return _tables_of(_SMALLEST)


@cache
def every_table() -> Mapping[str, Mapping[str, str]]:
    """Return the tables that a simulated result may have, likewise."""
    return _tables_of(_EVERY_TABLE)


def core_table(table: "_core.Table") -> "pyarrow.Table":
    """Read a table of the core where it lies in memory.

    ``pyarrow.table`` would import pandas, where it is installed, to see that it is no frame of it.
    """
    import pyarrow

    return pyarrow.RecordBatchReader.from_stream(table).read_all()


def _tables_of(scenario: str) -> Mapping[str, Mapping[str, str]]:
    from etherweave import _core

    tables = _core.run(scenario, "smallest", (), 1, (), None).tables
    schemas = {name: core_table(table).schema for name, table in tables.items()}
    return {name: {row.name: _kind(row.type) for row in schema} for name, schema in schemas.items()}


def read_summary(path: Path) -> dict[str, Any]:
    """Read a JSON object; raises ``ResultError`` when it is none, or ``OSError``."""
    text = inputs.read_text(path, SUMMARY_BYTES_MAX)
    try:
        value = json.loads(text, parse_constant=_reject_constant)
    except (ValueError, RecursionError) as error:
        raise ResultError(path, f"{error}; expected JSON") from None
    if not isinstance(value, dict):
        raise ResultError(path, f"{json.dumps(value)[:40]}; expected an object")
    return value


def read_scenario(path: Path) -> str:
    """Read a resolved scenario.

    Raises ``ResultError`` when it is none: says which key, what stands there and what was expected;
    ``OSError``.
    """
    from etherweave import _core

    text = inputs.read_text(path, SCENARIO_BYTES_MAX)
    try:
        resolved = tomllib.loads(text)
        _core.resolve(text, str(path), ())
    except _core.ScenarioError as error:
        mistake = error.mistakes[0]
        line = f"line {mistake.line}: " if mistake.line else ""
        raise ResultError(path, f"{line}{mistake.key}: {mistake.reason}") from None
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


def check_shape(path: Path, value: object, shape: type, key: str) -> None:
    """Check a value of a JSON file against a type, such as a ``TypedDict``.

    Raises ``ResultError`` when they differ; names the key, what stands there and what was expected.
    """
    try:
        inputs.decoded(shape, value, key)
    except ValueError as error:
        raise ResultError(path, str(error)) from None


def read_table(path: Path, is_measured: bool, long_min: int) -> "pyarrow.Table | Path":
    """Read a table of a result; one of ``long_min`` rows or more is checked, and stays a file.

    Raises ``ResultError`` when it is damaged, or a column is missing or of another type.
    """
    if not path.is_file():
        raise ResultError(path, "no regular file; expected a table in Parquet")
    known = {**every_table(), **(MEASURED_TABLES if is_measured else {})}.get(path.stem, {})
    try:
        if inputs.parquet_rows(path) >= long_min:
            for group in inputs.parquet_groups(path):
                _check_columns(path, group, known)
            return path
        table = inputs.read_parquet(path)
    except ResultError:
        raise
    except OSError as error:
        raise ResultError(path, error.strerror or str(error)) from None
    _check_columns(path, table, known)
    return table


def _check_columns(path: Path, table: "pyarrow.Table", known: Mapping[str, str]) -> None:
    for column, kind in known.items():
        _check_column(path, table, column, kind)
    for name in table.column_names:
        if (found := _kind(table[name].type)) not in _COLUMN_KINDS:
            expected = ", ".join(_COLUMN_KINDS)
            raise ResultError(path, f"column {name}: {found}; expected one of {expected}")


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
    """Check that a result has the tables of its kind; raises ``ResultError``."""
    required = ("iterations", "streams") if is_measured else simulated_tables()
    for name in required:
        if name not in names:
            raise ResultError(home / f"{name}.parquet", "missing; expected a table in Parquet")
