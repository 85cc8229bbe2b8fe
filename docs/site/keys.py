"""Keys of a scenario as a page: a section for every table, from the JSON Schema."""

import json
from typing import Any

from etherweave.api.scenario_schema import text_of

Schema = dict[str, Any]

UNITS = {
    "BitRate": ("rate", "100Gb/s"),
    "Bytes": ("size", "4KiB"),
    "Cable": ("cable", "3m copper"),
    "Duration": ("time", "200ns"),
}
"""Texts with a unit: what they say, and an example."""
TYPES = {"boolean": "`true` or `false`", "string": "text", "integer": "integer", "number": "number"}
_TYPED = {"type", "$ref", "anyOf", "oneOf", "enum", "properties", "const"}
INLINE = 40
"""Characters of the longest default that stands in a table."""


def page(schema: str) -> str:
    """Write the page."""
    document = json.loads(schema)
    return "\n\n".join([HEAD, _units(document), *_Sections(document).texts]) + "\n"


HEAD = """# Keys of a scenario

Every key of a scenario file has a default, but for those that are marked as required. A key that
is not listed here is an error. Dots are tables of TOML: `switch.buffer = "1MiB"` is the key
`buffer` of the table `[switch]`, and `[[job]]` begins each table of a list."""


def _units(schema: Schema) -> str:
    rows = [
        f'| {name} | `"{example}"` | {", ".join(f"`{unit}`" for unit in _suffixes(schema, kind))} |'
        for kind, (name, example) in UNITS.items()
    ]
    return "\n".join(["## Units", "", "| Value | Example | Units |", "|---|---|---|", *rows])


def _suffixes(schema: Schema, kind: str) -> list[str]:
    pattern: str = schema["$defs"][kind]["pattern"]
    return pattern.partition(" ?(")[2].partition(")")[0].split("|")


class _Sections:
    """Sections in the order of the keys; a table of several keys stands at the first of them."""

    def __init__(self, schema: Schema) -> None:
        self.whole = schema
        self.place_of: dict[str, str] = {}
        self.texts: list[str] = []
        top = {"properties": schema["properties"], "description": schema["description"]}
        self._section("", top)

    def _section(self, path: str, schema: Schema) -> None:
        number = len(self.texts)
        self.texts.append("")
        below: list[tuple[str, Schema]] = []
        body = [text_of(schema)] if text_of(schema) else []
        if "properties" in schema:
            body.append(self._keys(path, schema, below))
        for kind in ("oneOf", "anyOf"):
            if members := [
                member for member in schema.get(kind, ()) if member.get("type") != "null"
            ]:
                body.append(self._members(path, members, below))
        heading = f"## `{path}` {{ #{_anchor(path)} }}" if path else "## Tables and keys"
        self.texts[number] = "\n\n".join([heading, *body])
        for name, schema in below:
            self._section(name, schema)

    def _keys(self, path: str, schema: Schema, below: list[tuple[str, Schema]]) -> str:
        rows = []
        for key, schema_of in schema["properties"].items():
            value = self._value(f"{path}.{key}" if path else key, schema_of, below)
            default = "required" if key in schema.get("required", ()) else _default(schema_of)
            rows.append(f"| `{key}` | {value} | {default} | {_cell(text_of(schema_of))} |")
        head = ["| Key | Value | Default | Meaning |", "|---|---|---|---|"]
        return "\n".join(head + rows)

    def _members(self, path: str, members: list[Schema], below: list[tuple[str, Schema]]) -> str:
        rows = []
        for member in members:
            if "const" in member:
                rows.append(f'| `"{member["const"]}"` | {_cell(text_of(member))} |')
            elif "properties" in member:
                for key, inner in member["properties"].items():
                    value = self._value(f"{path}.{key}", inner, below)
                    shown = value if value.startswith("[") else f"`{key}`: {value}"
                    rows.append(f"| {shown} | {_cell(text_of(member) or text_of(inner))} |")
            else:
                rows.append(f"| {self._value(path, member, below)} | {_cell(text_of(member))} |")
        return "\n".join(["| One of | Meaning |", "|---|---|", *rows])

    def _value(self, path: str, schema: Schema, below: list[tuple[str, Schema]]) -> str:
        """Write what values a key takes; a table of its own gets a section below."""
        if not isinstance(schema, dict) or not _TYPED & schema.keys():
            return "any value"
        options = [other for other in schema.get("anyOf", ()) if other.get("type") != "null"]
        if len(options) == 1:
            schema = options[0]
        name = schema.get("$ref", "").rpartition("/")[2]
        if name in UNITS:
            return f"[{UNITS[name][0]}](#units)"
        target = self.whole["$defs"].get(name, schema)
        if "items" in target:
            return f"list of {self._value(path, target['items'], below)}"
        if not {"properties", "oneOf", "anyOf"} & target.keys():
            return _scalar(target)
        if name not in self.place_of:
            self.place_of[name or path] = path
            below.append((path, target))
        place = self.place_of[name or path]
        return f"[`{place}`](#{_anchor(place)})"


def _anchor(path: str) -> str:
    return path.replace(".", "-").lower() or "tables-and-keys"


def _scalar(schema: Schema) -> str:
    if "enum" in schema:
        return ", ".join(f'`"{value}"`' for value in schema["enum"])
    kinds = schema.get("type", "object")
    kind = kinds if isinstance(kinds, str) else next(kind for kind in kinds if kind != "null")
    least, most = schema.get("minimum"), schema.get("maximum")
    bounds = f", {least} to {most}" if most is not None else f", at least {least}"
    return TYPES.get(kind, "empty table: `{}`") + (bounds if least is not None else "")


def _default(schema: Schema) -> str:
    if schema.get("default") is None:
        return "absent"
    text = _toml(schema["default"])
    return f"`{text}`" if len(text) <= INLINE else "see there"


def _toml(value: object) -> str:
    if isinstance(value, dict):
        inner = ", ".join(f"{key} = {_toml(value)}" for key, value in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
