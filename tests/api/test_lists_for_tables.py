"""Lists where a table is expected, at every table of the schema."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

import etherweave
from etherweave import ScenarioError
from support.documents import ROOT

SCHEMA = json.loads((ROOT / "docs/scenario.schema.json").read_text())


def _tables(schema: dict[str, Any], path: str, above: tuple[str, ...]) -> Iterator[str]:
    """Yield keys of tables within a part of the schema, but for those within themselves."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        if name in above:
            return
        schema, above = SCHEMA["$defs"][name], (*above, name)
    for member in (*schema.get("oneOf", ()), *schema.get("anyOf", ())):
        yield from _tables(member, path, above)
    keys = schema.get("properties", {})
    is_member = list(keys) == schema.get("required", [])
    if keys and path and not is_member and schema.get("type") != "array":
        yield path
    for key, value in keys.items():
        yield from _tables(value, f"{path}.{key}" if path else key, above)
    if path == "job":
        yield from _tables(schema["items"], "job.0", above)


TABLES = sorted(set(_tables(SCHEMA, "", ())))


def test_a_list_is_refused_where_a_table_is_expected() -> None:
    """Its elements have no names, so none is taken for a key by its place."""
    assert {"run", "run.fast_forward", "job.0", "topology.fat_tree"} < set(TABLES)
    taken = []
    for path in TABLES:
        with pytest.raises(ScenarioError) as refused:
            etherweave.run({"job": [{"name": "a"}]}, {path: []})
        if f"{path}: a list; expected a table" not in str(refused.value):
            taken.append((path, str(refused.value).splitlines()[0]))
    assert not taken
