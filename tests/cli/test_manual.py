"""Every command has a man page that troff understands, and shells complete what there is."""

import os
import subprocess
from pathlib import Path

import pytest

from etherweave.cli import manual
from support.command_line import COMMAND


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("usr")
    manual.write(home)
    return home


def test_every_command_has_a_man_page(tree: Path) -> None:
    names = {path.stem for path in (tree / "share/man/man1").iterdir()}
    assert names == {page.name for page in manual.pages()}
    assert {"etherweave", "etherweave-run", "etherweave-bench-run"} <= names


@pytest.mark.needs("groff")
def test_troff_has_no_warning_about_a_man_page(tree: Path) -> None:
    words = ["groff", "-man", "-ww", "-z", *map(str, sorted((tree / "share/man/man1").iterdir()))]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stderr == ""


@pytest.mark.needs("groff")
def test_a_man_page_shows_dashes_quotes_and_backslashes_as_they_are() -> None:
    page = manual.Page("x", "x --a", ["Does 'b' and \\c."], [], [("--a", ".5 is all.")], ["x -y"])
    words = ["groff", "-man", "-Tascii", "-P-c"]
    text = subprocess.run(
        words, input=manual.roff(page, "1"), capture_output=True, text=True, check=True
    ).stdout
    plain = " ".join("".join(text.split("\b_")).split())
    for shown in ("does 'b' and \\c", "--a", ".5 is all.", "x -y"):
        assert shown in plain


@pytest.mark.parametrize(
    ("words", "among"),
    [("etherweave r", "run"), ("etherweave bench r", "run"), ("etherweave run --se", "--seed")],
)
def test_bash_completes_verbs_and_options(words: str, among: str) -> None:
    asked = {
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
        "_ETHERWEAVE_COMPLETE": "complete_bash",
    }
    assert among in subprocess.check_output(COMMAND, env=os.environ | asked, text=True).split()


@pytest.mark.parametrize("shell", manual.COMPLETIONS)
def test_a_script_for_completion_calls_the_command_line(tree: Path, shell: str) -> None:
    script = (tree / manual.COMPLETIONS[shell]).read_text()
    assert f"_ETHERWEAVE_COMPLETE=complete_{shell}" in script
