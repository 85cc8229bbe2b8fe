"""The processes of one launch: started with their output in files, awaited, and ended together.

A process may leave its group and its session, as daemons of MPI do; the variable in the environment
of its start stays, and marks it.
"""

import contextlib
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

from etherweave.bench.launchers.access import GRACE_S

_TEXT_MOST = 1 << 26
"""Of an output: more is no result [bytes]."""
_ERRORS_MOST = 4000
"""Of standard error, from its end [bytes]."""


class OverdueError(Exception):
    """The limit of a launch has passed."""


class ProcessGroup:
    """What is started within a ``with`` ends with it, whatever happens.

    Parameters
    ----------
    directory
        Of the launch; outputs become ``NAME.out`` and ``NAME.err`` in it.
    limit_s
        From now on [s].
    """

    def __init__(self, directory: Path, limit_s: float) -> None:
        self.directory = directory
        self.limit(limit_s)
        self._mark = uuid.uuid4().hex
        self._started: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> "ProcessGroup":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.end()

    def end(self) -> None:
        """End all that was started: ask, wait, kill."""
        for process in self._started:
            # On which guards behind ssh end their programs.
            _close(process.stdin)
        end_marked(self._mark)
        for process in self._started:
            process.kill()
            process.wait()
        self._started.clear()

    def limit(self, limit_s: float) -> None:
        """Set the limit anew, from now on [s]."""
        self._end = time.monotonic() + limit_s

    @property
    def left_s(self) -> float:
        """Time that is left [s].

        Raises
        ------
        OverdueError
            When none is.
        """
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
                env=self._environment(variables),
                start_new_session=True,
            )
        self._started.append(process)
        return process

    def wait(self, process: subprocess.Popen[bytes]) -> int:
        """Wait for a program; return its status.

        Raises
        ------
        OverdueError
            When the limit comes first.
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
        return self.directory / f"{name}.{ending}"

    def _environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        return os.environ | dict(variables) | {VARIABLE: self._mark}


def read(file: Path) -> str:
    """Return a file's text; bytes that are none are replaced."""
    with file.open("rb") as opened:
        return opened.read(_TEXT_MOST).decode(errors="replace")


def _tail(file: Path) -> str:
    if not file.exists():
        return ""
    with file.open("rb") as opened:
        opened.seek(max(file.stat().st_size - _ERRORS_MOST, 0))
        return opened.read().decode(errors="replace")


def _close(stream: IO[bytes] | None) -> None:
    if stream:
        with contextlib.suppress(OSError):
            stream.close()


VARIABLE = "ETHERWEAVE_LAUNCH"
_PAUSE_S = 0.01
_PATIENCE_S = 5.0
"""For what was killed to be gone: the kernel may hold a process for a while [s]."""


def marked_processes(mark: str) -> list[int]:
    """Return the numbers of living processes with a mark."""
    wanted = f"{VARIABLE}={mark}".encode()
    numbers = (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())
    return [number for number in numbers if _has_mark(number, wanted)]


def _has_mark(number: int, wanted: bytes) -> bool:
    with contextlib.suppress(OSError):
        return wanted in Path(f"/proc/{number}/environ").read_bytes().split(b"\0")
    return False


def end_marked(mark: str) -> None:
    """End all with a mark: ask them, then kill what is left."""
    _signal_all(mark, signal.SIGTERM)
    asked = time.monotonic()
    while marked_processes(mark) and time.monotonic() < asked + GRACE_S:
        time.sleep(_PAUSE_S)
    killed = time.monotonic()
    while _signal_all(mark, signal.SIGKILL) and time.monotonic() < killed + _PATIENCE_S:
        time.sleep(_PAUSE_S)


def _signal_all(mark: str, number: signal.Signals) -> int:
    """Signal all; return how many. A descriptor holds each: the kernel gives numbers again."""
    wanted = f"{VARIABLE}={mark}".encode()
    found = marked_processes(mark)
    for process in found:
        with contextlib.suppress(OSError):
            held = os.pidfd_open(process)
            try:
                if _has_mark(process, wanted):
                    signal.pidfd_send_signal(held, number)
            finally:
                os.close(held)
    return len(found)


_START_FIELD = 19
"""Of ``/proc/PID/stat`` behind the name in parentheses: field 22, ``starttime``, proc(5)."""


def process_identity() -> str:
    """Return the identity of this process on this machine: its number and its time of start."""
    return f"{os.getpid()}.{_start_time(os.getpid())}"


def has_ended(owner: str) -> bool:
    """Whether a process of this machine has ended, by what :func:`own` returned there."""
    number, _, started = owner.partition(".")
    return _start_time(int(number)) != int(started)


def _start_time(process: int) -> int | None:
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return None
    return int(text.rpartition(")")[2].split()[_START_FIELD])
