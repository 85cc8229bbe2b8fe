"""Types of the keys of a scenario, from the JSON Schema, for completion and type checkers.

python docs/site/key_types.py > python/etherweave/api/scenario_keys.pyi
"""

import json
import keyword
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

from etherweave.api import scenario_schema

Schema = scenario_schema.Schema

HEAD = '''"""Types of the keys of a scenario; written by docs/site/key_types.py."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, Literal, TypeAlias, TypeVar, overload

from etherweave.api.scenario_builder import Table

Read = TypeVar("Read")
Written = TypeVar("Written")
Item = TypeVar("Item")
Keys: TypeAlias = Mapping[str, Any]

class Key(Generic[Read, Written]):
    @overload
    def __get__(self, instance: None, owner: object) -> Key[Read, Written]: ...
    @overload
    def __get__(self, instance: object, owner: object) -> Read: ...
    def __set__(self, instance: object, value: Written) -> None: ...

class List(Generic[Item]):
    def add(self, **keys: object) -> Item: ...
    def __getitem__(self, number: int) -> Item: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Item]: ...
'''
SCHEMA = Path(__file__).parents[1] / "scenario.schema.json"
SCALARS = {"integer": "int", "number": "float", "boolean": "bool", "string": "str"}


def module() -> str:
    """Write the module: a class for each table, with a line for each key."""
    types, document = _Types(), json.loads(SCHEMA.read_text())
    with patch.object(
        scenario_schema, "schema_root", lambda: document
    ):  # Needs no core of the same keys.
        first = types.body("ScenarioKeys", document, "")
        classes = list(types.classes())
        text = "\n".join([HEAD, *types.names(), "", *classes, first])
    ruff = [str(Path(sys.executable).with_name("ruff")), "format", "--stdin-filename=keys.pyi", "-"]
    done = subprocess.run(ruff, input=text, capture_output=True, encoding="utf-8", check=True)
    return str(done.stdout)


class _Types:
    """Classes of tables, each written once."""

    def __init__(self) -> None:
        self.waiting: dict[str, Schema] = {}
        self.written: dict[str, str] = {}
        self.literals: dict[str, list[str]] = {}

    def names(self) -> Iterator[str]:
        """Write the names that values of a definition may have, once each."""
        for name, values in sorted(self.literals.items()):
            yield f"{name}: TypeAlias = {_literal(values)}"

    def literal(self, schema: Schema, inner: Schema) -> str:
        """Write the type of a value that is a name; that of a definition has a name itself."""
        values, definition = scenario_schema.names_of(inner), scenario_schema.reference_of(schema)
        if not definition:
            return _literal(values)
        self.literals[f"{definition}Name"] = values
        return f"{definition}Name"

    def classes(self) -> Iterator[str]:
        """Write the tables that have been named, and those that they name."""
        while self.waiting:
            name, schema = self.waiting.popitem()
            self.written[name] = self.body(name, schema, "Table")
        return iter(text for _, text in sorted(self.written.items()))

    def body(self, name: str, schema: Schema, base: str) -> str:
        """Write a class."""
        keys = scenario_schema.keys_of(schema).items()
        lines = [f"    {key}: {self.key(name, key, row)}" for key, row in keys if _is_name(key)]
        return "\n".join(
            [f"class {name}{f'({base})' if base else ''}:", *(lines or ["    ..."]), ""]
        )

    def key(self, owner: str, key: str, schema: Schema) -> str:
        """Write the type of a key: what is read, and what may be written."""
        inner = scenario_schema.table_schema(schema)
        if scenario_schema.keys_of(inner):
            name = self.named(owner, key, schema, inner)
            texts = [self.literal(schema, inner)] if scenario_schema.names_of(inner) else []
            return f"Key[{name}, {' | '.join([name, 'Keys', *texts])}]"
        items = scenario_schema.table_schema(inner["items"]) if "items" in inner else {}
        if scenario_schema.keys_of(items) and scenario_schema.names_of(items):
            values = f"Sequence[{self.literal(inner['items'], items)} | Keys]"
            may_be_absent = schema.get("default") is None
            return f"Key[{values}{' | None' if may_be_absent else ''}, {values}]"
        if scenario_schema.keys_of(items):
            name = self.named(owner, key, inner["items"], items)
            return f"Key[List[{name}], Sequence[Keys]]"
        value = self.value(schema, inner)
        may_be_absent = schema.get("default") is None and value != "Any"
        return f"Key[{value}{' | None' if may_be_absent else ''}, {value}]"

    def named(self, owner: str, key: str, schema: Schema, inner: Schema) -> str:
        """Name the class of a table, and note that it is to be written."""
        name = scenario_schema.reference_of(schema) or owner + key.title().replace("_", "")
        if name not in self.written:
            self.waiting.setdefault(name, inner)
        return name

    def value(self, schema: Schema, inner: Schema) -> str:
        """Write the type of a value that is no table."""
        if scenario_schema.names_of(inner):
            return self.literal(schema, inner)
        if "items" in inner:
            items = scenario_schema.table_schema(inner["items"])
            return f"Sequence[{self.value(inner['items'], items)}]"
        kinds = inner.get("type", ())
        named = [
            SCALARS.get(kind, "Any")
            for kind in ([kinds] if isinstance(kinds, str) else kinds)
            if kind != "null"
        ]
        return " | ".join(named) if named and "Any" not in named else "Any"


def _literal(names: list[str]) -> str:
    return f"Literal[{', '.join(map(json.dumps, names))}]"


def _is_name(key: str) -> bool:
    return key.isidentifier() and not keyword.iskeyword(key)


if __name__ == "__main__":
    print(module(), end="")
