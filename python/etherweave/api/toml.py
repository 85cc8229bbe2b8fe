"""Values as TOML text, for scenarios and overrides that are born in Python.

Only what a scenario needs: tables, lists, strings, numbers and booleans. Dates are left out, for no
scenario has one; reading is the standard library's ``tomllib``. The package tomli-w writes whole
documents, and no single value, which an override needs.
"""

import json
import re
from collections.abc import Mapping, Sequence

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def document(table: Mapping[str, object]) -> str:
    r"""Write a table as a TOML document, one line per top-level key.

    Parameters
    ----------
    table
        Keys and values; nested mappings become inline tables.

    Returns
    -------
    str
        The document, with a final newline.

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


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False)
