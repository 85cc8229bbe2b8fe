"""Scenarios built in code: the tables and keys of a scenario file as attributes.

What keys there are is read from the JSON Schema of the core, so that completion, help and errors
are those of the file.
"""

import copy
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from etherweave.api import simulation, toml
from etherweave.api.key_descriptions import AMOUNTS, KeyPath, described, dotted, unknown
from etherweave.api.nearest import nearest
from etherweave.api.scenario import ScenarioSource, read
from etherweave.api.scenario_schema import (
    Schema,
    keys_of,
    kinds_of,
    names_of,
    reference_of,
    schema_root,
    table_schema,
)

if TYPE_CHECKING:
    from etherweave.api.scenario_keys import ScenarioKeys
else:

    class ScenarioKeys:
        """Keys are known to type checkers only; here they are read from the schema."""


class Table:
    """A table of a scenario: its keys are attributes.

    Reading a key that is not set gives its default, or None. Setting a key of a table that is one
    of several kinds, such as ``topology.torus``, replaces another kind. ``help()`` of a table, or
    its name and a question mark in a notebook, describes its keys.
    """

    _scenario: "Scenario"
    _path: KeyPath
    _schema: Schema
    _default: object

    def __init__(
        self, scenario: "Scenario", path: KeyPath, schema: Schema, default: object = None
    ) -> None:
        vars(self).update(_scenario=scenario, _path=path, _schema=schema, _default=default)

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return described(self._path, self._schema)

    if not TYPE_CHECKING:  # Checkers know the keys, and report others.

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            return self._scenario._read((*self._path, name), self._key(name))

        def __setattr__(self, name: str, value: Any) -> None:
            schema = self._key(name)
            path = (*self._path, name)
            _check(path, schema, value)
            self._scenario._write(path, value)

    def __delattr__(self, name: str) -> None:
        self._key(name)
        values = self._scenario._values_at(self._path)
        if not isinstance(values, dict) or name not in values:
            raise AttributeError(f"{dotted((*self._path, name))}: is not set")
        del values[name]

    def __dir__(self) -> list[str]:
        return sorted(keys_of(self._schema))

    def __contains__(self, name: str) -> bool:
        """Whether a key is set."""
        values = self._scenario._values_at(self._path)
        return isinstance(values, dict) and name in values

    def __eq__(self, other: object) -> bool:
        return bool(self._value() == _plain(other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return toml.literal(self._value())

    def _value(self) -> Any:
        value = self._scenario._values_at(self._path)
        return value if value is not None else self._default or {}

    def _key(self, name: str) -> Schema:
        keys = keys_of(self._schema)
        if name not in keys:
            raise AttributeError(unknown((*self._path, name), keys))
        return keys[name]


class Tables:
    """A list of tables of a scenario, such as its jobs."""

    def __init__(self, scenario: "Scenario", path: KeyPath, schema: Schema) -> None:
        self._scenario, self._path, self._schema = scenario, path, schema

    def add(self, **keys: object) -> Table:
        """Append a table with these keys, and return it.

        Raises ``AttributeError`` for a key that there is not, ``TypeError`` for a value that its
        key does not take.
        """
        path = (*self._path, len(self))
        _check(path, self._schema, keys)
        self._scenario._write(path, keys)
        return Table(self._scenario, path, self._schema)

    def __getitem__(self, number: int) -> Table:
        count = len(self)
        if not -count <= number < count:
            raise IndexError(f"{dotted(self._path)}.{number}: there are {count}")
        return Table(self._scenario, (*self._path, number % count), self._schema)

    def __len__(self) -> int:
        return len(self._value())

    def __iter__(self) -> Iterator[Table]:
        return (self[number] for number in range(len(self)))

    def __repr__(self) -> str:
        return toml.literal(self._value())

    def _value(self) -> Any:
        return self._scenario._values_at(self._path) or []


class Scenario(Table, ScenarioKeys, Mapping[str, Any]):
    """A scenario whose keys are attributes, with completion in notebooks and interpreters.

    Functions of the package take it where they take a file: :func:`etherweave.run`,
    :func:`etherweave.design`, :func:`etherweave.curve`, :func:`etherweave.sweep`. It is a mapping
    of the keys that are set, in the shape of the file.

    Parameters
    ----------
    source
        File to begin with, or a mapping of its shape, or another scenario, which is copied.
    keys
        Keys of the first level and their values.

    Raises
    ------
    ScenarioError
        When the file is no scenario.
    AttributeError
        When there is no such key; names those that are near.
    TypeError
        When a value lacks its unit, or a table is set to something else.

    Examples
    --------
    >>> scenario = Scenario(name="pair")
    >>> scenario.topology.single_switch.hosts = 2
    >>> scenario.switch.buffer = "1MiB"
    >>> job = scenario.job.add(name="incast")
    >>> job.workload.incast = {"sources": 1, "messages": 4}
    >>> scenario.switch.buffer = 4
    Traceback (most recent call last):
    ...
    TypeError: switch.buffer: 4; expected a size such as "64KiB"
    >>> simulation.run(scenario).summary["finished"]
    'complete'
    """

    _values: dict[str, Any]

    def __init__(self, source: ScenarioSource | None = None, /, **keys: object) -> None:
        super().__init__(self, (), schema_root())
        vars(self)["_values"] = {} if source is None else _values(source)
        for name, value in keys.items():
            setattr(self, name, value)

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __repr__(self) -> str:
        return toml.document(self._values).rstrip("\n")

    def _read(self, path: KeyPath, schema: Schema) -> Any:
        inner = table_schema(schema)
        if keys_of(inner):
            return Table(self, path, inner, schema.get("default"))
        items = table_schema(inner.get("items", {}))
        # Names may stand among the tables: a list of values.
        if keys_of(items) and not names_of(items):
            return Tables(self, path, items)
        value = self._values_at(path)
        return schema.get("default") if value is None else copy.deepcopy(value)

    def _write(self, path: KeyPath, value: object) -> None:
        """Set a value; tables on the way are made, and other kinds of them are dropped."""
        at: Any = self._values
        schema = schema_root()
        for step in path[:-1]:
            schema = _enter(at, schema, step)
            if isinstance(step, str) and not isinstance(at.get(step), dict | list):
                at[step] = [] if "items" in schema else {}
            at = at[step]
        _enter(at, schema, path[-1])
        at[path[-1]] = _plain(value)

    def _values_at(self, path: KeyPath) -> Any:
        at: Any = self._values
        for step in path:
            if isinstance(at, dict):
                at = at.get(step)
            elif isinstance(at, list) and isinstance(step, int) and step < len(at):
                at = at[step]
            else:
                return None
        return at


def _enter(at: Any, schema: Schema, step: str | int) -> Schema:
    """Go down a step on the way to a key that is set; gives the schema there."""
    if isinstance(step, int):
        if step == len(at):
            at.append({})
        return table_schema(schema["items"])
    if step in kinds_of(schema):
        for other in at.keys() - {step}:
            del at[other]
    return table_schema(keys_of(schema)[step])


def _values(source: ScenarioSource) -> dict[str, Any]:
    try:
        values = source if isinstance(source, Mapping) else tomllib.loads(read(source)[0])
        _check((), schema_root(), values)
    except (ValueError, AttributeError, TypeError, RecursionError):
        simulation.resolve(source)  # Names the line of a file.
        raise
    plain: dict[str, Any] = _plain(values)
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, Table | Tables) and not isinstance(value, Mapping):
        return copy.deepcopy(value._value())
    if isinstance(value, Mapping):
        return {key: _plain(value) for key, value in value.items()}
    if isinstance(value, list | tuple | range):
        return [_plain(element) for element in value]
    return value


def _check(path: KeyPath, schema: Schema, value: object) -> None:
    """Check keys, names and units; the core checks the rest when the scenario is used."""
    inner = table_schema(schema)
    reference = reference_of(schema) if inner else ""
    if reference in AMOUNTS:
        if not isinstance(value, str) or not re.fullmatch(inner["pattern"], value):
            raise TypeError(f"{dotted(path)}: {value!r}; expected {AMOUNTS[reference]}")
    elif isinstance(value, Mapping):
        known = keys_of(inner)
        for key, element in value.items():
            if known and key not in known:
                raise AttributeError(unknown((*path, key), known))
            if known:
                _check((*path, key), known[key], element)
    elif isinstance(value, list | tuple) and "items" in inner:
        for number, element in enumerate(value):
            _check((*path, number), inner["items"], element)
    elif isinstance(value, str) and (texts := names_of(inner)) and value not in texts:
        raise TypeError(f"{dotted(path)}: {value!r}; {nearest(value, texts)}")
    elif (keys := keys_of(inner)) and not isinstance(value, Table) and not names_of(inner):
        raise TypeError(f"{dotted(path)}: {value!r}; expected a table of {', '.join(keys)}")
