"""Values as TOML text, for scenarios and overrides that are born in Python.

Only what a scenario needs: tables, lists, strings, numbers and booleans. Dates are left out, for no
scenario has one; reading is the standard library's ``tomllib``. The package tomli-w writes whole
documents, and no single value, which an override needs.
"""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def document(table: Mapping[str, object]) -> str:
    r"""Write a table as a TOML document, one line per top-level key; inner tables stand inline.

    Examples
    --------
    >>> document({"seed": 1, "job": [{"start": "0s"}]})
    'seed = 1\njob = [{ start = "0s" }]\n'
    """
    return "".join(f"{_key(key)} = {literal(value)}\n" for key, value in table.items())


def literal(value: object) -> str:
    """Write a value as it stands right of an equals sign.

    Raises ``TypeError`` when TOML or a scenario has no such value.
    """
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            # JSON's escapes are a subset of TOML's; U+007F is the one that JSON leaves bare.
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case Mapping():
            pairs = ", ".join(f"{_key(key)} = {literal(item)}" for key, item in value.items())
            return f"{{ {pairs} }}" if pairs else "{}"
        case Sequence():
            return f"[{', '.join(map(literal, value))}]"
        case _:
            raise TypeError(f"{value!r} has no place in a scenario")


def differences(values: Sequence[object]) -> list[str]:
    """Write values side by side: of texts that are tables, what not all of them have.

    >>> differences(["{ a = 1, hpcc = {} }", "{ a = 1, swift = { b = 2 } }"]), differences([1, 2])
    (['hpcc', 'swift = { b = 2 }'], ['1', '2'])
    """
    texts = [str(value) for value in values]
    if not all(text.startswith("{") for text in texts):
        return texts
    tables: list[dict[str, object]] = [tomllib.loads(f"it = {text}")["it"] for text in texts]
    parts = [
        [_key(key) if value == {} else f"{_key(key)} = {literal(value)}" for key, value in own]
        for own in (table.items() for table in tables)
    ]
    return [
        ", ".join(text for text in own if any(text not in part for part in parts)) for own in parts
    ]


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False)
