"""How the command line ends, beyond success."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

import typer

from etherweave.cli.progress import console

FAILED = 1
"""A strict study does not hold."""
USAGE = 2
"""The user's mistake: one line says which."""
STUCK = 3
"""Nothing in the simulation could go on."""
INTERRUPTED = 130
"""Ctrl-C: 128 + SIGINT, as shells count."""


def alarm(message: object) -> None:
    """Print what nobody should overlook, as it is."""
    console.print(str(message), style="red", highlight=False, markup=False, soft_wrap=True)


def told(error: OSError) -> str:
    """Tell what the system refuses, with the file first and without its number."""
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)


def refuse(mistake: object) -> NoReturn:
    """Print the user's mistake as one line and end."""
    alarm(mistake)
    raise typer.Exit(USAGE)


@contextmanager
def terminable() -> Iterator[None]:
    """Let a batch system's SIGTERM end a verb as Ctrl-C does."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
