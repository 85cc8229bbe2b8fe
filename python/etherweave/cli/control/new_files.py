"""Files that appear in a directory all together, or not at all."""

import os
import secrets
import shutil
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from etherweave.cli.exits import reject, terminable
from etherweave.cli.parameters import directory
from etherweave.linux.processes import handled

PREFIX = ".export-"
"""Begins the name of the directory of files that are not complete."""


@contextmanager
def new_files(output: Path | None) -> Iterator["NewFiles | None"]:
    """Collect files beside their places; what is not placed is removed, after SIGTERM, too."""
    if output is None:
        yield None
        return
    directory(output).mkdir(parents=True, exist_ok=True)
    folder = output / f"{PREFIX}{secrets.token_hex(4)}"
    with terminable():
        try:
            folder.mkdir()
            yield NewFiles(folder, output)
        finally:
            with uninterrupted():
                shutil.rmtree(folder, ignore_errors=True)


def uninterrupted() -> AbstractContextManager[None]:
    """Ignore SIGTERM and SIGINT for the short time of what must not be left half done."""
    return handled((signal.SIGTERM, signal.SIGINT), lambda *_: None)


class NewFiles:
    """Files that are not complete.

    Parameters
    ----------
    folder
        A directory in the same file system.
    output
        Where they belong.
    """

    def __init__(self, folder: Path, output: Path) -> None:
        self._folder = folder
        self._output = output
        self._made = {""}

    def add(self, name: str, text: str) -> None:
        """Write a file, or go on with it; a script can be executed."""
        parent = name.rpartition("/")[0]
        if parent not in self._made:
            (self._folder / parent).mkdir(parents=True)
            self._made.add(parent)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        mode = 0o777 if name.endswith(".sh") else 0o666
        file = os.open(f"{self._folder}/{name}", flags, mode)
        with os.fdopen(file, "wb") as opened:
            opened.write(text.encode())

    def place(self) -> None:
        """Move all files to their places; a directory that is new there moves as a whole."""
        for one in self._folder.iterdir():
            place = self._output / one.name
            if place.exists() and place.is_dir() != one.is_dir():
                reject(f"{place}: expected {'a directory' if one.is_dir() else 'a file'}")
        with uninterrupted():
            _place(self._folder, self._output)


def _place(folder: Path, output: Path) -> None:
    for one in folder.iterdir():
        place = output / one.name
        if one.is_dir() and place.is_dir():
            _place(one, place)
        else:
            one.replace(place)
