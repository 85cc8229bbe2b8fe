"""Descriptions of the keys of a scenario: meaning, values and default, from the JSON Schema."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TypeAlias

from etherweave.api import toml
from etherweave.api.nearest import nearest
from etherweave.api.scenario_schema import (
    Schema,
    keys_of,
    meaning_of,
    names_of,
    reference_of,
    schema_root,
    table_schema,
)

KeyPath: TypeAlias = tuple[str | int, ...]

_SHOWN_MAX = 3  # Keys of other tables that an error names.
_DEPTH_MAX = 5  # Tables within each other in which they are looked for.
AMOUNTS = {
    "BitRate": 'a rate such as "100Gb/s"',
    "Bytes": 'a size such as "64KiB"',
    "Cable": 'a cable such as "3m copper"',
    "Duration": 'a time such as "200ns"',
}
"""Texts with a unit, by their name in the schema: what was expected of a value that is none."""


def description(key: str) -> str:
    """Describe a key of a scenario by its dotted path, and if it is a table the keys in it.

    Numbers of the elements of lists may be left out. Raises ``ValueError`` for an unknown key.

    Examples
    --------
    >>> print(description("switch.header"))
    switch.header: Bytes that must be in before a cut-through switch can forward. Default: "64B".
    """
    path: KeyPath = ()
    schema: Schema = schema_root()
    field = schema
    if "" in key.split("."):
        raise ValueError(f"{key!r}: expected names with a dot between two, as in switch.buffer")
    for part in key.split("."):
        if part.isdecimal():
            continue
        keys = keys_of(schema)
        if part not in keys:
            others = [dotted(own) for own in islice(_paths(key.split(".")[-1]), _SHOWN_MAX)]
            elsewhere = f"{key}: unknown key; expected {' or '.join(others)}"
            raise ValueError(elsewhere if others else unknown((*path, part), keys))
        path, field = (*path, part), keys[part]
        schema = table_schema(field)
        schema = table_schema(schema.get("items", schema))
    if not keys_of(schema):
        return _line(path, field)
    return described(path, schema if "description" in schema else {**field, **schema})


def _paths(name: str, path: KeyPath = (), schema: Schema | None = None) -> Iterator[KeyPath]:
    """List the keys of that name, those of a table before those in its tables."""
    keys = keys_of(schema_root() if schema is None else schema)
    if name in keys:
        yield (*path, name)
    if len(path) == _DEPTH_MAX:
        return
    for key, field in keys.items():
        inner = table_schema(field)
        yield from _paths(name, (*path, key), table_schema(inner.get("items", inner)))


def described(path: KeyPath, schema: Schema) -> str:
    """Describe a table: what it is, and a line for each key."""
    lines = [meaning_of(schema), ""]
    for key, field in keys_of(schema).items():
        is_required = key in schema.get("required", ())
        lines.append(_line((*path, key), field) + (" Required." if is_required else ""))
    return "\n".join(lines)


def unknown(path: KeyPath, keys: Mapping[str, Schema]) -> str:
    """Name the last key of a path as unknown, and the nearest keys of its table."""
    return f"{dotted(path)}: unknown key; {nearest(str(path[-1]), keys)}"


def dotted(path: KeyPath) -> str:
    """Write a path as the key of an override."""
    return ".".join(map(str, path))


def _line(path: KeyPath, field: Schema) -> str:
    """Describe a key: meaning, names or unit of its values, default."""
    inner = table_schema(field)
    text = meaning_of(field)
    parts = [text] if text else []
    if names := names_of(inner):
        parts.append(f"One of {', '.join(map(toml.literal, names))}.")
    default = field.get("default")
    if default is not None and not isinstance(default, Mapping) and "Default" not in text:
        parts.append(f"Default: {toml.literal(default)}.")
    elif default is None and (amount := AMOUNTS.get(reference_of(field))):
        parts.append(f"Expects {amount}.")
    return f"{dotted(path)}: {' '.join(parts)}"
