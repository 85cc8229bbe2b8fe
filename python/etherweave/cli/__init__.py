"""The command line: each verb is a function, its parameters are the options."""

import os
import sys
from typing import NoReturn

from etherweave.cli import processes
from etherweave.cli.app import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line; arguments that are not UTF-8 are a mistake."""
    for number, word in enumerate(sys.argv):
        if not word.isprintable() and not _is_utf_8(word):
            from etherweave.cli.exits import USAGE, print_error

            print_error(f"argument {number}: {word!a}: expected UTF-8 text")
            sys.exit(USAGE)
    try:
        _run()
    except OSError as error:
        _end_output(error)


def _end_output(error: OSError) -> NoReturn:
    """End because output cannot be written; whoever closed a pipe has read enough."""
    from etherweave.cli.exits import FAILED, USAGE, ends_output, os_error, print_error

    if not ends_output(error):
        raise error
    is_closed = isinstance(error, BrokenPipeError)
    if not is_closed:
        print_error(os_error(error))
    # What is left in the buffer would fail again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(FAILED if is_closed else USAGE)


def _run() -> None:
    """Call the verb, and write what it has printed."""
    try:
        if processes.launched() > 1 and sys.argv[1:2] and sys.argv[1] in processes.VERBS:
            with processes.together():
                app()
        else:
            app()
    finally:
        if sys.stdout:
            sys.stdout.flush()


def _is_utf_8(word: str) -> bool:
    """Check a word of the command line: bytes that are no UTF-8 stand in it as surrogates."""
    return not any("\udc80" <= sign <= "\udcff" for sign in word)
