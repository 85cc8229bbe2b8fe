"""The processes of one launch: started with their output in files, awaited, and ended together.

A process may leave its group and its session, as daemons of MPI do; the variable in the environment
of its start stays, and marks it.
"""

import contextlib
import os
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from etherweave.api.outputs import below
from etherweave.bench.launchers.access import GRACE_S
from etherweave.linux.processes import MARK, end_marked

_TEXT_MAX = 1 << 26  # Size of an output: more is no result [bytes].
_ERRORS_MAX = 4000  # Part of standard error that is kept, from its end [bytes].


class OverdueError(Exception):
    """The limit of a launch has passed."""


class ProcessGroup:
    """Processes that end with the ``with`` in which they start, whatever happens.

    Outputs become ``NAME.out`` and ``NAME.err`` in the directory of the launch; ``limit_s`` counts
    from now on [s].
    """

    def __init__(self, directory: Path, limit_s: float) -> None:
        self.directory = directory
        self.limit(limit_s)
        self._mark = uuid.uuid4().hex
        self._started: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> "ProcessGroup":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """End all that was started: ask, wait, kill."""
        for process in self._started:
            # On which guards behind ssh end their programs.
            _close(process.stdin)
        end_marked(MARK, self._mark, GRACE_S)
        for process in self._started:
            process.kill()
            process.wait()
        self._started.clear()

    def limit(self, limit_s: float) -> None:
        """Set the limit anew, from now on [s]."""
        self._end = time.monotonic() + limit_s

    @property
    def left_s(self) -> float:
        """Time that is left [s]; raises ``OverdueError`` when none is."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise OverdueError
        return left

    def start(
        self, name: str, words: Sequence[str], variables: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        """Start a program in a session of its own; a pipe holds its standard input open."""
        with self._file(name, "out").open("wb") as out, self._file(name, "err").open("wb") as err:
            process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=err,
                cwd=self.directory,
                env=os.environ | dict(variables) | {MARK: self._mark},
                start_new_session=True,
            )
        self._started.append(process)
        return process

    def wait(self, process: subprocess.Popen[bytes]) -> int:
        """Wait for a program; return its status.

        Raises ``OverdueError`` when the limit comes first.
        """
        try:
            return process.wait(self.left_s)
        except subprocess.TimeoutExpired:
            raise OverdueError from None

    def ask(self, words: Sequence[str]) -> str:
        """Return what a program prints that ends soon."""
        process = self.start("question", words, {})
        self.wait(process)
        self._started.remove(process)
        _close(process.stdin)
        return self.text("question")

    def text(self, name: str) -> str:
        """Return a program's standard output."""
        return read(self._file(name, "out"))

    def errors(self, *names: str) -> str:
        """Return the ends of what programs wrote to standard error."""
        texts = (_tail(self._file(name, "err")) for name in names)
        return "\n".join(text for text in texts if text.strip())

    def _file(self, name: str, ending: str) -> Path:
        return below(self.directory, f"{name}.{ending}")


def read(file: Path) -> str:
    """Return a file's text; bytes that are none are replaced."""
    with file.open("rb") as opened:
        return opened.read(_TEXT_MAX).decode(errors="replace")


def _tail(file: Path) -> str:
    if not file.exists():
        return ""
    with file.open("rb") as opened:
        opened.seek(max(file.stat().st_size - _ERRORS_MAX, 0))
        return opened.read().decode(errors="replace")


def _close(stream: IO[bytes] | None) -> None:
    if stream:
        with contextlib.suppress(OSError):
            stream.close()
