"""Files that users name, read with care.

Every reader of a file that a user names calls :func:`read_text` or :func:`read_bytes`. Neither
waits for a FIFO without a writer, nor fills the memory from ``/dev/zero`` or from a file that is
far too large. Pipes of a shell's process substitution (``/dev/fd/63``) and ``/dev/stdin`` are read.
"""

import errno
import os
import stat
from pathlib import Path

SIZE_MAX = 256 * 2**20
"""Largest file that is read unless the caller gives another limit [bytes]."""


class InputError(OSError):
    """A file that is not read: of another type than expected, too large, or no text.

    Handlers of :class:`OSError` see the file in ``filename`` and the reason in ``strerror``.

    Parameters
    ----------
    path
        The file.
    reason
        What is wrong, and what was expected.
    """

    def __init__(self, path: str | Path, reason: str) -> None:
        super().__init__(errno.EINVAL, reason, str(path))


def read_bytes(path: str | Path, size_max: int = SIZE_MAX) -> bytes:
    """Read a file.

    Parameters
    ----------
    path
        The file.
    size_max
        Largest size that is read [bytes].

    Raises
    ------
    InputError
        When it is a directory, a device, a FIFO or a socket, or larger than ``size_max``.
    OSError
        When the system cannot open or read it.
    """
    _check_type(path)
    with Path(path).open("rb") as file:
        content = file.read(size_max + 1)
    if len(content) > size_max:
        raise InputError(path, f"Larger than {size_max:,} bytes; expected a smaller file")
    return content


def read_text(path: str | Path, size_max: int = SIZE_MAX) -> str:
    """Read a file of UTF-8 text; lines end with a line feed, whatever ended them in the file.

    Parameters
    ----------
    path, size_max
        As for :func:`read_bytes`.

    Raises
    ------
    InputError
        As for :func:`read_bytes`, and when it is not UTF-8.
    OSError
        When the system cannot open or read it.
    """
    content = read_bytes(path, size_max)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(path, f"byte {error.start}: expected UTF-8 text") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _check_type(path: str | Path) -> None:
    mode = os.stat(path).st_mode  # noqa: PTH116 - follows links, and takes text as it is
    if stat.S_ISREG(mode) or (stat.S_ISFIFO(mode) and _is_open_already(path)):
        return
    names = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket"}
    raise InputError(path, f"Is {names.get(stat.S_IFMT(mode), 'a device')}; expected a file")


def _is_open_already(path: str | Path) -> bool:
    return str(path) == "/dev/stdin" or str(path).startswith(("/dev/fd/", "/proc/self/fd/"))
