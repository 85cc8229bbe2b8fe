"""Nothing takes an error apart by its text: what a caller needs is an attribute of the error."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import etherweave

PACKAGE = Path(etherweave.__file__).parent
TAKES_APART = {
    *("endswith", "find", "index", "partition", "removeprefix", "removesuffix", "replace"),
    *("rpartition", "rsplit", "split", "splitlines", "startswith"),
}
"""Methods of texts."""
PATTERNS = {"findall", "finditer", "fullmatch", "match", "search", "sub"}
"""Functions and methods of regular expressions."""


def offences(code: str) -> list[str]:
    """List expressions of handlers of errors that read a text of the error."""
    if not any(f"str({name})" in code for name in re.findall(r"except .* as (\w+):", code)):
        return []
    return [
        ast.unparse(node)
        for handler in ast.walk(ast.parse(code))
        if isinstance(handler, ast.ExceptHandler) and handler.name
        for node in _readers(handler, handler.name)
    ]


def _readers(handler: ast.ExceptHandler, name: str) -> Iterator[ast.AST]:
    nodes = list(ast.walk(handler))
    texts = {f"str({name})"}
    for node in nodes:
        if isinstance(node, ast.Assign) and ast.unparse(node.value) in texts:
            texts |= {ast.unparse(target) for target in node.targets}
    for node in nodes:
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            if ast.unparse(node.comparators[0]) in texts:
                yield node
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            is_of_text = node.func.attr in TAKES_APART and ast.unparse(node.func.value) in texts
            # Splitting at spaces alone writes a text on one line.
            is_lines = node.func.attr == "split" and not node.args
            words = {ast.unparse(argument) for argument in node.args}
            if (is_of_text and not is_lines) or (node.func.attr in PATTERNS and words & texts):
                yield node


def test_no_handler_reads_the_text_of_an_error() -> None:
    files = {str(path.relative_to(PACKAGE)): path for path in sorted(PACKAGE.rglob("*.py"))}
    known = {name: found for name, path in files.items() if (found := offences(path.read_text()))}
    assert not known, "expected attributes of the errors"


@pytest.mark.parametrize(
    "expression",
    [
        'str(error).partition(": ")[2]',
        '" has no " in str(error)',
        'str(error).removeprefix("override: ")',
        're.sub("a", "b", str(error))',
    ],
)
def test_a_planted_reader_is_found(expression: str) -> None:
    assert offences(f"try:\n    f()\nexcept E as error:\n    what = {expression}\n")


def test_a_text_that_is_kept_in_a_name_is_an_error_text_too() -> None:
    assert offences('try:\n    f()\nexcept E as error:\n    found = str(error)\n    "a" in found\n')


def test_writing_a_text_on_one_line_reads_nothing() -> None:
    code = 'try:\n    f()\nexcept E as error:\n    x = " ".join(str(error).split())[:160]\n'
    assert not offences(code)
