"""Every help is one sentence that stands alone."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer.main

from etherweave.cli.manual import commands

BEGINS = re.compile(r"[A-Z0-9`]")
CONTINUES = re.compile(
    r"(That|Which|And|Or|Of|By|For|To|With|Without|In|On|At|As|If|Unless|Where|When|Who|What|From|"
    r"Than|Tell|Tells|Also|Else|Then|Beside|Only|Such|Its|Their)\b"
)
"""Beginnings of half sentences, and a word that is rejected."""
REJECTED = re.compile(
    r"\b(tells?|told|foretells?|foretold|(?<!-)ways?|lots?|wish(es)?|detour(ed)?|films?|culprits?|blame|"
    r"merits|exhibits?|sitting|companions?|rehears\w*|letters?|hangs on|as often as needed|ours)\b",
    re.IGNORECASE,
)
DEFAULT = re.compile(r" Default: [^.]+\.$")  # May follow the sentence.


def texts() -> Iterator[tuple[str, str]]:
    """Every help with where it stands: verbs by their first paragraph, parameters in full."""
    for words, command in commands():
        yield words or "etherweave", command.help.partition("\n\n")[0].replace("\n", " ")
        for parameter in command.params:
            if parameter.hidden:
                continue
            yield f"{words} {parameter.opts[-1]}", parameter.help or ""


def offence(text: str) -> str | None:
    """Name the faults of a help."""
    if not text.endswith("."):
        return "ends without a full stop"
    if re.search(r"[.!?] ", DEFAULT.sub(".", text)):
        return "is more than one sentence"
    if CONTINUES.match(text) or not BEGINS.match(text):
        return "begins as half a sentence"
    if found := REJECTED.search(text):
        return f"has the word {found[0]!r}"
    return None


def test_every_help_is_one_sentence_that_stands_alone() -> None:
    offences = {place: (offence(text), text) for place, text in texts() if offence(text)}
    assert not offences, "\n".join(f"{at}: {why}: {text}" for at, (why, text) in offences.items())


@pytest.mark.parametrize(
    "text",
    [
        "That they may take.",
        "Directory for the result",
        "Directory. Written after Ctrl-C too.",
        "Of the site, if it has several.",
        "Tell what is here.",
        "A file, by lot.",
        "to a file.",
        "",
    ],
)
def test_half_a_sentence_is_noticed(text: str) -> None:
    assert offence(text)


def test_units_in_square_brackets_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    app: Any = typer.Typer(rich_markup_mode=None)
    assert all(command.rich_markup_mode is None for _, command in commands())
    app.command()(_example)
    with pytest.raises(SystemExit):
        app(["--help"])
    assert "Time limit [ms]." in capsys.readouterr().out


def _example(limit: float = typer.Option(1.0, help="Time limit [ms].")) -> None:
    """Wait."""
