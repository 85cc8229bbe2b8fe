"""The command line understands the commands in helps and guides."""

import re
import shlex
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import pytest

from etherweave.cli import verbs
from etherweave.cli.manual import below, commands, program

DOCUMENTS = Path(__file__).parents[2] / "docs"
PAGES = [*sorted(DOCUMENTS.glob("guide/*.md")), *sorted(DOCUMENTS.glob("tutorials/*.md"))]
PROGRAM = "etherweave"
ENDS = {"|", "||", "&&", ">", "<", ";", ")"}


def examples() -> Iterator[str]:
    for _, command in commands():
        lines = (command.epilog or "").replace("\n--", " --").splitlines()
        yield from lines


def in_fences(guide: Path) -> Iterator[str]:
    for part in guide.read_text().split("```")[1::2]:
        language, _, text = part.partition("\n")
        yield from text.replace("\\\n", "").splitlines() if language in {"", "sh"} else ()


def words_of(lines: Iterator[str]) -> list[list[str]]:
    """Return the words behind the program's name in each command, without redirections."""
    result = []
    for line in (line for line in lines if PROGRAM in line):
        after = shlex.split(re.sub(r"\$\(|\)", " ; ", line), comments=True)
        while PROGRAM in after:
            after = after[after.index(PROGRAM) + 1 :]
            result.append(list(takewhile(lambda word: word not in ENDS, after)))
    return result


def understood(words: list[str]) -> None:
    """Let the verb parse its words; raises the error that a user would see.

    What follows ``--`` may be for another program.
    """
    command = program()
    while hasattr(command, "commands"):
        words = getattr(command, "with_verb", list)(words)
        command, words = below(command, words[0]), words[1:]
    parser = command.make_parser(command.context_class(command, **command.context_settings))
    values, rest, _ = parser.parse_args(list(words))
    needed = {param.name for param in command.params if param.required}
    assert needed <= {name for name, value in values.items() if value is not None}, words
    others = words[words.index("--") + 1 :] if "--" in words else []
    assert rest in ([], others), words


@pytest.mark.parametrize("words", words_of(examples()), ids=" ".join)
def test_an_example_of_a_help_names_options_that_there_are(words: list[str]) -> None:
    understood(words)


GUIDED = [words for page in PAGES for words in words_of(in_fences(page))]


@pytest.mark.parametrize("words", GUIDED, ids=" ".join)
def test_a_command_of_a_guide_names_options_that_there_are(words: list[str]) -> None:
    understood(words)


@pytest.mark.parametrize(
    "words",
    ["measure a.toml --lunches 5", "bench compare a", "bench run -o x", "schema switch more"],
)
def test_a_command_that_is_wrong_is_noticed(words: str) -> None:
    with pytest.raises(Exception, match=r"."):
        understood(words.split())


def test_examples_are_those_of_verbs() -> None:
    text = Path(verbs.__file__).with_name("examples.txt").read_text(encoding="utf-8")
    listed = re.findall(r"^\[(.+)\]$", text, re.MULTILINE)
    assert {words for line in listed for words in line.split(", ")} <= {
        name for name, _ in commands()
    }
