"""The examples in the documentation of modules give what they say."""

import doctest
import importlib
from pathlib import Path

import pytest

import etherweave

PACKAGE = Path(etherweave.__file__).parent
EXAMPLES = [path for path in sorted(PACKAGE.rglob("*.py")) if ">>> " in path.read_text()]


def name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def test_there_are_examples() -> None:
    assert PACKAGE / "__init__.py" in EXAMPLES


@pytest.mark.parametrize("path", EXAMPLES, ids=name)
def test_examples_are_correct(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PACKAGE.parents[1])  # Examples name scenarios of the repository.
    done = doctest.testmod(importlib.import_module(name(path)), optionflags=doctest.ELLIPSIS)
    assert done.attempted > 0
    assert done.failed == 0
