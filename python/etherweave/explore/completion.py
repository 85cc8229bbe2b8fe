"""Keys and values that may stand at the cursor of an editor, from the schema of a scenario."""

import re
from dataclasses import dataclass, field

from etherweave.api.scenario_schema import (
    Schema,
    keys_of,
    meaning_of,
    names_of,
    schema_root,
    table_schema,
)

_TOKEN = re.compile(
    r"""(?P<comment>\#[^\n]*)
    | (?P<text>\"\"\".*?(?:\"\"\"|\Z)|'''.*?(?:'''|\Z)|"(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?)
    | (?P<mark>[\[\]{}=,\n])
    | (?P<word>[^\s\[\]{}=,\#"']+)""",
    re.VERBOSE | re.DOTALL,
)
_HEADER = re.compile(r"^[ \t]*\[\[?[ \t]*([^\[\]\n]*?)[ \t]*\]\]?[ \t]*(?:#.*)?$", re.MULTILINE)
_OPEN_HEADER = re.compile(r"(?:^|\n)[ \t]*\[\[?[ \t]*([\w.-]*)\Z")


@dataclass(frozen=True)
class Option:
    """A key or a value."""

    label: str  # Text that is shown and inserted.
    detail: str = ""  # Default, or type.
    info: str = ""  # Meaning.

    def words(self) -> dict[str, str]:
        """Write it as CodeMirror has it."""
        return {"label": self.label, "detail": self.detail, "info": self.info}


@dataclass(frozen=True)
class Completion:
    """Options at the cursor."""

    typed: int  # Characters before the cursor that an option replaces.
    options: list[Option]  # Keys or values, in the order of the schema.


@dataclass
class _Place:
    """A table or a list that is open at the cursor."""

    path: tuple[str, ...]  # Keys that lead to it.
    is_list: bool = False
    key: str = ""  # Key of the value that is being written.
    word: str = ""  # Last word.

    @property
    def inner(self) -> tuple[str, ...]:
        """Path of the value that is being written."""
        return self.path if self.is_list else (*self.path, *_parts(self.key))


@dataclass
class _Cursor:
    """Tables that are open at the end of a text."""

    places: list[_Place] = field(default_factory=lambda: [_Place(())])

    def read(self, text: str) -> None:
        """Follow what opens and closes tables and lists."""
        for token in _TOKEN.finditer(text):
            here = self.places[-1]
            match token[0]:
                case "=":
                    here.key, here.word = here.word, ""
                case "{" | "[" as mark:
                    self.places.append(_Place(here.inner, is_list=mark == "["))
                case "}" | "]":
                    self.places[1:] = self.places[1:-1]
                case ",":
                    here.key, here.word = "", ""
                case "\n":
                    if len(self.places) == 1:
                        here.key, here.word = "", ""
                case word if token.lastgroup != "comment":
                    here.word += word


def completion(before: str) -> Completion:
    """List what may stand at the end of a text of a scenario, up to the cursor."""
    if header := _OPEN_HEADER.search(before):
        return _keys((), header[1], is_header=True)
    start, path = 0, tuple[str, ...]()
    for header in _HEADER.finditer(before):
        start, path = header.end(), _parts(header[1])
    last = _last(before[start:])
    if last and last.lastgroup == "comment":
        return Completion(0, [])
    typed = last[0] if last and _is_open(last) else ""
    cursor = _Cursor([_Place(path)])
    cursor.read(before[start : len(before) - len(typed)])
    place = cursor.places[-1]
    if place.key or place.is_list:
        return _values(_schema_at(place.inner), typed)
    return _keys(place.path, typed)


def _last(text: str) -> re.Match[str] | None:
    """Return the token at the end of a text; None where a blank is."""
    tokens = list(_TOKEN.finditer(text))
    return tokens[-1] if tokens and tokens[-1].end() == len(text) else None


def _is_open(token: re.Match[str]) -> bool:
    """Return whether a token is a word, or a text without its end."""
    text = token[0]
    is_closed = len(text) > 1 and text.endswith(text[0])
    return token.lastgroup == "word" or (token.lastgroup == "text" and not is_closed)


def _keys(path: tuple[str, ...], typed: str, *, is_header: bool = False) -> Completion:
    *outer, begun = typed.split(".")
    known = keys_of(_schema_at((*path, *outer)))
    options = [
        _key_option(name, schema)
        for name, schema in known.items()
        if not is_header or keys_of(_items(schema))
    ]
    return Completion(len(begun), options)


def _key_option(name: str, schema: Schema) -> Option:
    inner = table_schema(schema)
    return Option(name, _detail(schema, inner), meaning_of(schema))


def _detail(schema: Schema, inner: Schema) -> str:
    default = schema.get("default")
    if isinstance(default, str | int | float):
        return str(default)
    return str(inner.get("type", ""))


def _values(schema: Schema, typed: str) -> Completion:
    is_quoted = typed.startswith('"')
    names = names_of(schema)
    words = ["true", "false"] if schema.get("type") == "boolean" and not is_quoted else []
    labels = [*(names if is_quoted else (f'"{name}"' for name in names)), *words]
    return Completion(len(typed) - is_quoted, [Option(label) for label in labels])


def _schema_at(path: tuple[str, ...]) -> Schema:
    """Follow keys from the root; empty where a key is unknown."""
    schema = schema_root()
    for key in path:
        schema = _items(keys_of(schema).get(key, {}))
    return schema


def _items(schema: Schema) -> Schema:
    """Follow references and lists to what stands there."""
    inner = table_schema(schema)
    while "items" in inner:
        inner = table_schema(inner["items"])
    return inner


def _parts(key: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in key.split(".") if part.strip())
