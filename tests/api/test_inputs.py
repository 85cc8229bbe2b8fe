"""Files that users name are read with care."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from etherweave.api.inputs import InputError, read_bytes, read_json, read_text, read_toml


def reason(path: Path | str, size_max: int = 100) -> str:
    with pytest.raises(InputError) as caught:
        read_text(path, size_max)
    assert caught.value.filename == str(path)
    return str(caught.value.strerror)


def test_text_is_read_with_line_feeds(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"one\r\ntwo\rthree\n")
    assert read_text(file) == "one\ntwo\nthree\n"


def test_a_file_of_the_largest_size_is_read_and_a_larger_one_is_not(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"x" * 100)
    assert read_bytes(file, 100) == b"x" * 100
    assert reason(file, 99) == "Larger than 99 bytes; expected a smaller file"


def test_a_device_without_end_is_rejected() -> None:
    assert reason("/dev/zero") == "Is a device; expected a file"


def test_a_fifo_without_a_writer_is_rejected_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert reason(tmp_path / "fifo") == "Is a FIFO; expected a file"


def test_a_directory_is_rejected(tmp_path: Path) -> None:
    assert reason(tmp_path) == "Is a directory; expected a file"


@pytest.mark.parametrize("read", [read_json, read_toml])
def test_a_file_that_is_not_read_is_named_once(
    read: Callable[[Path], object], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=f"^{tmp_path}: Is a directory; expected a file$"):
        read(tmp_path)


def test_bytes_that_are_no_utf_8_are_rejected_with_their_place(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"ab\xff")
    assert reason(file) == "byte 2: expected UTF-8 text"


def test_a_missing_file_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_text(tmp_path / "none")


def test_a_pipe_that_is_open_already_is_read() -> None:
    program = "from etherweave.api.inputs import read_text; print(read_text('/dev/stdin'), end='')"
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, input="piped\n", capture_output=True, text=True, check=True)
    assert done.stdout == "piped\n"
