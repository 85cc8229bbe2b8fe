"""Every command of the command line, imported."""

from collections.abc import Iterator
from typing import Any

import typer.main

from etherweave.cli import app


def program() -> Any:
    """The command line as a whole."""
    return typer.main.get_command(app)


def below(group: Any, name: str) -> Any:
    """A command of a group, with its options."""
    return group.load(name) if hasattr(group, "load") else group.commands[name]


def commands(command: Any = None, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every command with the words that call it: first the program, then what is below each."""
    command = command or program()
    yield " ".join(words), command
    for name in list(getattr(command, "commands", ())):
        yield from commands(below(command, name), (*words, name))
