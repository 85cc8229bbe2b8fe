"""Ends of the command line beside success, and its messages on standard error."""

import errno
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

from etherweave.linux.processes import ENDINGS, handled

if TYPE_CHECKING:
    from etherweave.api.results import Summary

FAILED = 1  # Exit code of a check that failed, or of a machine that failed.
USAGE = 2  # Exit code after a user's mistake, which one line names.
STUCK = 3  # Exit code of a simulation in which no event could make progress.
FAULT = 70
"""Exit code of a fault of Etherweave itself: an internal error, as ``sysexits.h`` numbers it."""
INTERRUPTED = 130  # Exit code after Ctrl-C: 128 + SIGINT, as shells count.
WARNINGS_MAX = 100  # Most warnings of a run that are printed.
OUTPUT_ENDS = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Errors of an output that is a pipe which was closed, or a file on a full disk."""
PACKAGE = Path(__file__).parents[1]  # Directory of the installed package.


def notice(text: object) -> None:
    """Print a line on standard error."""
    typer.echo(str(text), err=True)


def print_error(message: object) -> None:
    """Print an error or a warning on standard error, in red on a terminal."""
    typer.secho(str(message), fg=typer.colors.RED, err=True)


def os_error(error: OSError) -> str:
    """Write an error of the operating system with the file first and without its number."""
    if ends_output(error):
        return f"the output cannot be written: {error.strerror}"
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)


def ends_output(error: OSError) -> bool:
    """Return whether output cannot be written: a closed pipe, or a full disk."""
    return error.filename is None and error.errno in OUTPUT_ENDS


def reject(mistake: object) -> NoReturn:
    """Print a user's mistake in one line and end with :data:`USAGE`."""
    print_error(mistake)
    raise typer.Exit(USAGE)


def reject_file(error: OSError) -> NoReturn:
    """End where a file cannot be used: with :data:`FAILED` if it is one that the package lacks.

    No user names such a file: the installation is broken.
    """
    if not is_of_package(error):
        reject(os_error(error))
    print_error(
        f"{os_error(error)}; the file belongs to Etherweave, whose installation is broken; "
        "expected the package installed again"
    )
    raise typer.Exit(FAILED)


def is_of_package(error: OSError) -> bool:
    """Return whether the file of an error is one that the installed package lacks."""
    name = error.filename
    is_missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
    return is_missing and isinstance(name, str | Path) and PACKAGE in Path(name).parents


def print_warnings(warnings: Iterable[str], printed: set[str]) -> None:
    """Print warnings on standard error, each once; extends those that have been printed."""
    new = [warning for warning in dict.fromkeys(warnings) if warning not in printed]
    printed.update(new)
    for warning in new[:WARNINGS_MAX]:
        print_error(f"WARNING: {warning}")
    if len(new) > WARNINGS_MAX:
        print_error(f"WARNING: {len(new) - WARNINGS_MAX:,} more, which summary.json lists")


def exit_as(summary: "Summary", kept: str, printed: set[str]) -> None:
    """Print the warnings of a run, and end as it ended where it is partial.

    ``kept`` is what of a partial run there is: ``"the result in DIRECTORY"``.
    """
    print_warnings(summary["warnings"], printed)
    finished = summary["finished"]
    if finished in ("interrupted", "stuck"):
        print_error(f"{finished.capitalize()}: {kept} is partial.")
    if finished == "stuck":
        print_error(f"No event can make progress:\n{summary.get('stuck_report')}")
        raise typer.Exit(STUCK)
    if finished == "interrupted":
        raise typer.Exit(INTERRUPTED)


@contextmanager
def mistakes(
    *kinds: type[Exception],
    failures: tuple[type[Exception], ...] = (),
    before: str = "",
    after: str = "",
) -> Iterator[None]:
    """End with a user's mistake where one of these errors is raised, or one of a file.

    ``failures`` are errors of the machine, after which it ends with :data:`FAILED`. ``before`` and
    ``after`` stand around the mistake: where it is, and what is expected.
    """
    try:
        yield
    except failures as error:
        print_error(error)
        raise typer.Exit(FAILED) from None
    except OSError as error:
        # Whoever reads the output has enough, and click ends without a word; a pipe that an option
        # names, or the core has written, is another file.
        if isinstance(error, BrokenPipeError) and ends_output(error):
            raise
        reject_file(error)
    except kinds as error:
        text = error.args[0] if isinstance(error, KeyError) else error
        reject(f"{before}{text}{after}")


@contextmanager
def kept_in(home: Path, *, is_fresh: bool = False) -> Iterator[None]:
    """Print after an interruption where finished work is kept.

    It is not repeated, unless all work is done again in any case.
    """
    try:
        yield
    except KeyboardInterrupt:
        if home.is_dir():
            ending = "" if is_fresh else ", and is not repeated"
            print_error(f"Interrupted: what has ended is kept in {home}{ending}.")
        raise


def _endings() -> list[signal.Signals]:
    """Return what ends a verb beside Ctrl-C: all of them but what is ignored, as under nohup."""
    return [number for number in ENDINGS if signal.getsignal(number) is not signal.SIG_IGN]


@contextmanager
def terminable() -> Iterator[None]:
    """Let batch systems and closed terminals end a verb as Ctrl-C does."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with handled(_endings(), interrupt):
        yield


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Give whether Ctrl-C or another end has come; a second one ends the verb at once."""
    came: list[int] = []

    def note(number: int, _: object) -> None:
        if came:
            raise KeyboardInterrupt
        came.append(number)

    with handled((signal.SIGINT, *_endings()), note):
        yield lambda: bool(came)
