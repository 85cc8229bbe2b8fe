"""The docstring of a verb declares its arguments and options."""

from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
import typer

from etherweave.cli.declarations import declare
from etherweave.cli.parameters import Positive


class Colour(Enum):
    RED = "red"


def verb(
    file: Path,
    *,
    output: Path | None = None,
    is_dry: bool = False,
    with_all: bool = True,
    runs: Positive | None = None,
    colour: Colour = Colour.RED,
) -> None:
    """Do it.

    With all files.

    Parameters
    ----------
    file : SCENARIO
        Scenario file, which is described
        in two lines.
    output : -o DIRECTORY
        Directory of the result.
    is_dry : --dry-run
        Print what there is.
    with_all
        Take all.
    runs : N
        Number of runs.
    colour
        Colour of lines.
    """
    print(file, output, is_dry, with_all, runs, colour.value)


@pytest.fixture
def command() -> Callable[[str], int]:
    """Call the verb by words; returns the exit code."""
    app: Any = typer.Typer(rich_markup_mode=None)
    app.command(help=declare(verb))(verb)

    def call(words: str) -> int:
        with pytest.raises(SystemExit) as end:
            app(words.split())
        return int(end.value.code or 0)

    return call


def test_the_help_has_the_entries_of_the_docstring(
    command: Callable[[str], int], capsys: pytest.CaptureFixture[str]
) -> None:
    command("--help")
    text = " ".join(capsys.readouterr().out.split())
    assert "Do it. With all files. Arguments:" in text
    assert "SCENARIO <path> Scenario file, which is described in two lines. [required]" in text
    assert "-o, --output DIRECTORY Directory of the result." in text
    assert "--dry-run Print what there is." in text
    assert "--with-all / --no-with-all Take all. [default: with-all]" in text
    assert "--runs N Number of runs. [x>=1]" in text


def test_a_choice_is_read_in_any_case(
    command: Callable[[str], int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("a.toml -o out --dry-run --no-with-all --runs 2 --colour RED") == 0
    assert capsys.readouterr().out == "a.toml out True False 2 red\n"


def test_a_range_is_that_of_the_annotation(command: Callable[[str], int]) -> None:
    assert command("a.toml --runs 0") == 2


def test_an_entry_of_no_parameter_is_an_error() -> None:
    def wrong() -> None:
        """Do it.

        Parameters
        ----------
        other
            No parameter.
        """

    with pytest.raises(KeyError, match="other"):
        declare(wrong)
