"""Tables of keys on pages of models have the defaults of the schema."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import etherweave

MODELS = Path(__file__).parents[2] / "docs" / "models"
HEAD = "| Key | Default | Meaning |"
SCHEMA = json.loads(etherweave.schema())


def _properties(node: dict[str, Any]) -> dict[str, Any]:
    """List the keys of a table, whichever of its forms they belong to."""
    if "$ref" in node:
        return _properties(SCHEMA["$defs"][node["$ref"].rpartition("/")[2]])
    forms = [form for kind in ("anyOf", "oneOf", "allOf") for form in node.get(kind, [])]
    forms += [node["items"]] if "items" in node else []
    keys = {key: value for form in forms for key, value in _properties(form).items()}
    return {**keys, **node.get("properties", {})}


def _default(key: str) -> str:
    node = SCHEMA
    for part in key.split("."):
        node = _properties(node)[part]
    value = node.get("default")
    if isinstance(value, dict):
        (value,) = value  # A choice by its name, such as {"off": {}}.
    if isinstance(value, list):
        (value,) = value
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value)


def _rows() -> list[tuple[str, str, str]]:
    """List page, key and shown default of all rows whose keys are written in full."""
    rows: list[tuple[str, str, str]] = []
    for page in sorted(MODELS.rglob("*.md")):
        for table in re.findall(rf"^{re.escape(HEAD)}\n((?:\|.*\n)*)", page.read_text(), re.M):
            for line in table.splitlines()[1:]:
                keys, shown = line.split(" | ")[:2]
                names = re.findall(r"`([a-z0-9_.]+\.[a-z0-9_.]+)`", keys)
                defaults = shown.split(", ") if names else []
                rows += zip([page.stem] * len(names), names, defaults, strict=True)
    return [row for row in rows if row[1].partition(".")[0] in _properties(SCHEMA)]


@pytest.mark.parametrize(("page", "key", "shown"), _rows())
def test_a_page_shows_the_default_of_a_key(page: str, key: str, shown: str) -> None:
    assert shown.strip("`").replace(" ", "") == _default(key).replace(" ", ""), page
