"""A verb whose libraries are not installed names the package, and the command that installs it."""

import re
import sys
from pathlib import Path

import pytest

from support import command_line

ROOT = Path(__file__).parents[2]
SCENARIO = ROOT / "scenarios/first.toml"


def lacking(monkeypatch: pytest.MonkeyPatch, package: str, *words: object) -> str:
    """Run a command where a package is not installed; gives what it prints as a mistake."""
    monkeypatch.setitem(sys.modules, package, None)
    for name in [
        name
        for name in sys.modules
        if re.match(r"etherweave\.(bench|measurements|pages|report)\b", name)
    ]:
        monkeypatch.delitem(sys.modules, name)
    return command_line.invoke(*words, code=2).stderr


@pytest.mark.parametrize(
    ("package", "words", "extra"),
    [
        ("matplotlib", f"design {SCENARIO} --draw fabric.svg", "report"),
        ("scipy", "study sandia-2020", "all"),
        ("jinja2", "report .", "report"),
        ("scipy", f"advise {SCENARIO}", "advise"),
        ("numpy", f"calibrate {SCENARIO} --measured .", "bench"),
    ],
)
def test_a_missing_package_is_one_sentence_with_the_command(
    monkeypatch: pytest.MonkeyPatch, package: str, words: str, extra: str
) -> None:
    sentence = f"{package} is not installed; expected: pip install 'etherweave[{extra}]'\n"
    assert lacking(monkeypatch, package, *words.split()) == sentence


def test_a_module_that_no_extra_brings_is_no_user_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "etherweave.api.fabrics", None)
    monkeypatch.delitem(sys.modules, "etherweave.cli.design", raising=False)
    with pytest.raises(ModuleNotFoundError, match=r"etherweave\.api\.fabrics"):
        raise command_line.invoke("design", SCENARIO).exception or AssertionError
