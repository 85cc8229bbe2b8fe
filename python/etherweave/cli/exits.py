"""How the command line ends beside success, and what it prints on standard error."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

import typer

FAILED = 1
"""Exit code of a check that failed, or of a machine that failed."""
USAGE = 2
"""Exit code after a user's mistake, which one line names."""
STUCK = 3
"""Exit code of a simulation in which no event could make progress."""
INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 + SIGINT, as shells count."""


def notice(text: object) -> None:
    """Print a line on standard error."""
    typer.echo(str(text), err=True)


def print_error(message: object) -> None:
    """Print an error or a warning on standard error, in red on a terminal."""
    typer.secho(str(message), fg=typer.colors.RED, err=True)


def os_error(error: OSError) -> str:
    """Write an error of the operating system with the file first and without its number."""
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)


def reject(mistake: object) -> NoReturn:
    """Print a user's mistake in one line and end with :data:`USAGE`."""
    print_error(mistake)
    raise typer.Exit(USAGE)


@contextmanager
def mistakes(*kinds: type[Exception]) -> Iterator[None]:
    """End with a user's mistake where one of these errors is raised, or one of a file.

    Parameters
    ----------
    kinds
        Errors whose text is the mistake.
    """
    try:
        yield
    except OSError as error:
        reject(os_error(error))
    except kinds as error:
        reject(error)


@contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM, which batch systems send, end a verb as Ctrl-C does."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
