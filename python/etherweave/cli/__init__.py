"""The command line: each verb is a function, its parameters are the options."""

import sys

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
    if processes.launched() > 1 and sys.argv[1:2] and sys.argv[1] in processes.VERBS:
        with processes.together():
            app()
    else:
        app()


def _is_utf_8(word: str) -> bool:
    """Check a word of the command line: bytes that are no UTF-8 stand in it as surrogates."""
    return not any("\udc80" <= sign <= "\udcff" for sign in word)
