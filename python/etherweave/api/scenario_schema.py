"""Keys of a scenario, as the JSON Schema of the core describes them."""

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeAlias

from etherweave.api import simulation

Schema: TypeAlias = Mapping[str, Any]

_RANGE = re.compile(r"(?<=[\w`])\.\.=(?=[\w`])")


@cache
def schema_root() -> Schema:
    """Return the schema of a scenario."""
    root: Schema = json.loads(simulation.schema())
    return root


def table_schema(schema: Schema) -> Schema:
    """Follow references, and what may be absent, to what stands there."""
    while isinstance(schema, Mapping):
        options = [member for member in schema.get("anyOf", ()) if member.get("type") != "null"]
        if "$ref" in schema:
            schema = schema_root()["$defs"][schema["$ref"].rpartition("/")[2]]
        elif len(options) == 1:
            schema = options[0]
        else:
            return schema
    return {}  # Any value.


def member_schemas(schema: Schema) -> list[Schema]:
    """List the alternatives of a value."""
    return [table_schema(member) for kind in ("oneOf", "anyOf") for member in schema.get(kind, ())]


def kinds_of(schema: Schema) -> dict[str, Schema]:
    """Return the keys of which a table has exactly one; a description may be that of the kind."""
    return {
        key: _with_description(inner, member)
        for member in member_schemas(schema)
        for key, inner in member.get("properties", {}).items()
    }


def _with_description(schema: Schema, kind: Schema) -> Schema:
    if "description" in schema or "description" not in kind:
        return schema
    return {**schema, "description": kind["description"]}


def keys_of(schema: Schema) -> dict[str, Schema]:
    """Return the keys of a table."""
    return {**schema.get("properties", {}), **kinds_of(schema)}


def text_of(schema: Schema) -> str:
    """Return the description that stands in a schema itself: one line, with ranges in words.

    Examples
    --------
    >>> text_of({"description": "Share of the packets that are marked, 0..=1."})
    'Share of the packets that are marked, 0 to 1.'
    """
    return _RANGE.sub(" to ", " ".join(schema.get("description", "").split()))


def meaning_of(schema: Schema) -> str:
    """Return the description of a key, or else that of its table or value."""
    return text_of(schema) or text_of(table_schema(schema))


def names_of(schema: Schema) -> list[str]:
    """Texts that may stand in place of a table or as a value; none when any may."""
    constants = [member["const"] for member in member_schemas(schema) if "const" in member]
    return [*constants, *schema.get("enum", ())]


def reference_of(schema: Schema) -> str:
    """Name the definition that a key refers to; empty when it has its own."""
    for member in (schema, *schema.get("anyOf", ())):
        if "$ref" in member:
            return str(member["$ref"]).rpartition("/")[2]
    return ""
