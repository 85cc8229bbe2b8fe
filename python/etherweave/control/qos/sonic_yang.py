"""SONiC's ``config_db.json`` as instance data of its YANG models, for ``yanglint``.

A table is a container of the model; its entries are the list ``TABLE_LIST``, of which the key is
split at ``|``; a map nests one more list of the table's name. XML, because ``config_db.json`` has
texts only, and JSON instance data requires numbers where the model has numbers. Lists and keys are
read from the models themselves.

The program yanglint is used rather than libyang's Python binding, which is compiled at installation
against the headers of exactly its own version of the C library: PyPI has a binding of libyang 5,
Debian 12 has libyang 2. Of libraries without C, pyang validates no data by itself, and yangson ends
at the first mistake.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from xml.sax.saxutils import escape

_TOKEN = re.compile(
    r"""\s+|//[^\n]*|/\*.*?\*/|"(?:[^"\\]|\\.)*"|'[^']*'|[{};]|(?:(?!//|/\*)[^\s{};"'])+""",
    re.DOTALL,
)
LISTS = ("profile_list",)  # Leaf-lists that a configuration has as one text, with commas between.
TEMPLATED = "flex_counter"  # A model that uses names of other models' tables.


class YangError(ValueError):
    """A mistake in a model or a configuration: what, where, and what is expected."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of YANG (RFC 7950, 6.3)."""

    keyword: str
    argument: str
    children: tuple["Statement", ...] = ()

    def all(self, keyword: str) -> Iterator["Statement"]:
        """Return the statements of one keyword directly below."""
        return (child for child in self.children if child.keyword == keyword)

    def text(self, keyword: str) -> str:
        """Return the argument of the first statement of a keyword, or nothing."""
        return next((child.argument for child in self.all(keyword)), "")


@dataclass(frozen=True, slots=True)
class TableModel:
    """A table in the models."""

    module: str
    namespace: str
    top: str  # The container of the module.
    table: Statement


TableModels: TypeAlias = Mapping[str, TableModel]


def table_models(files: Iterable[tuple[str, str]]) -> dict[str, TableModel]:
    """Find the tables of models, given as names of files and their texts.

    Raises ``YangError`` when a file is not YANG.
    """
    models: dict[str, TableModel] = {}
    for name, text in files:
        if TEMPLATED in name:
            continue
        module = parse(name, text)
        for top in module.all("container"):
            for table in top.all("container"):
                place = TableModel(module.argument, module.text("namespace"), top.argument, table)
                models.setdefault(table.argument, place)
    return models


def parse(name: str, text: str) -> Statement:
    """Read the one statement, a module, of a file."""
    tokens = [match.group() for match in _TOKEN.finditer(text)]
    tokens = [token for token in tokens if not (token.isspace() or token.startswith(("//", "/*")))]
    statements, rest = _statements(name, tokens, 0)
    if len(statements) != 1 or rest != len(tokens):
        raise YangError(f"{name}: expected one module of YANG")
    return statements[0]


@dataclass(slots=True)
class _OpenStatement:
    keyword: str
    argument: str
    children: list[Statement] = field(default_factory=list)


def _statements(name: str, tokens: list[str], start: int) -> tuple[tuple[Statement, ...], int]:
    """Read statements without recursion, so that any depth of braces can be read."""
    stack, at = [_OpenStatement("", "")], start
    while at < len(tokens):
        if tokens[at] == "}":
            if len(stack) == 1:
                break
            done = stack.pop()
            stack[-1].children.append(Statement(done.keyword, done.argument, tuple(done.children)))
            at += 1
            continue
        keyword, at = tokens[at], at + 1
        parts = []
        while at < len(tokens) and tokens[at] not in "{};":
            parts.append(tokens[at])
            at += 1
        argument = "".join(_unquoted(part) for part in parts if part != "+" or len(parts) == 1)
        if at == len(tokens) or tokens[at] == "}":
            raise YangError(f"{name}: {keyword} {argument}: expected ; or {{")
        if tokens[at] == "{":
            stack.append(_OpenStatement(keyword, argument))
        else:
            stack[-1].children.append(Statement(keyword, argument))
        at += 1
    if len(stack) != 1:
        raise YangError(f"{name}: {stack[-1].keyword} {stack[-1].argument}: expected a }}")
    return tuple(stack[0].children), at


def _unquoted(token: str) -> str:
    return token[1:-1] if token[0] in "\"'" else token


def modules(tables: Iterable[str], known: TableModels) -> tuple[str, ...]:
    """Name the modules of the tables."""
    return tuple(dict.fromkeys(known[name].module for name in tables if name in known))


def xml(tables: Mapping[str, Any], known: TableModels) -> str:
    """Write a configuration as instance data.

    Raises ``YangError`` when no model has such a table, or an entry has another form.
    """
    by_top: dict[tuple[str, str], list[str]] = {}
    for name, entries in tables.items():
        if name not in known:
            raise YangError(f"{name}: no model has such a table; known: {', '.join(sorted(known))}")
        place = known[name]
        by_top.setdefault((place.top, place.namespace), []).append(_table(place, name, entries))
    tops = (
        f'<{top} xmlns="{escape(namespace, {chr(34): "&quot;"})}">{"".join(parts)}</{top}>\n'
        for (top, namespace), parts in by_top.items()
    )
    return "".join(tops)


def _table(place: TableModel, name: str, entries: Mapping[str, Any]) -> str:
    singles = {statement.argument for statement in place.table.all("container")}
    parts = (
        _element(key, _fields(f"{name}|{key}", fields))
        if key in singles
        else _entry(place.table, name, key, fields)
        for key, fields in entries.items()
    )
    return _element(name, "".join(parts))


def _entry(table: Statement, name: str, key: str, fields: Mapping[str, Any]) -> str:
    """Write an entry into the list with the same number of keys."""
    values = key.split("|")
    for statement in table.all("list"):
        keys = statement.text("key").split()
        if len(keys) != len(values):
            continue
        head = "".join(
            _element(leaf, escape(value)) for leaf, value in zip(keys, values, strict=True)
        )
        inner = next((child for child in statement.all("list") if child.argument == name), None)
        body = _pairs(inner, fields) if inner else _fields(f"{name}|{key}", fields)
        return _element(statement.argument, head + body)
    forms = [statement.text("key") for statement in table.all("list")]
    raise YangError(f"{name}|{key}: no list of {name} has {len(values)} keys; known: {forms}")


def _pairs(inner: Statement, fields: Mapping[str, Any]) -> str:
    """Write a map: each pair is an entry with a key and the leaf beside it."""
    key = inner.text("key")
    other = next(leaf.argument for leaf in inner.all("leaf") if leaf.argument != key)
    return "".join(
        _element(inner.argument, _element(key, escape(name)) + _element(other, escape(str(value))))
        for name, value in fields.items()
    )


def _fields(place: str, fields: Mapping[str, Any]) -> str:
    if not all(re.fullmatch(r"[A-Za-z_][\w.-]*", name) for name in fields):
        raise YangError(f"{place}: expected names of fields, not {sorted(fields)}")
    return "".join(
        _element(name, escape(str(part)))
        for name, value in fields.items()
        for part in (value.split(",") if name in LISTS else [value])
    )


def _element(name: str, content: str) -> str:
    return f"<{name}>{content}</{name}>"
