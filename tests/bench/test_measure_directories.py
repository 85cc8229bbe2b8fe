"""Directories of launches: removed after use, those of ended processes at the next launch."""

import subprocess
import sys
from pathlib import Path

from etherweave.bench.measure.executor import launch_directory, remove_abandoned

STAYING = """
import sys
from pathlib import Path
from etherweave.bench.measure.executor import launch_directory
with launch_directory(Path(sys.argv[1])) as place:
    (place / "records").mkdir()
    print("made", flush=True)
    sys.stdin.read()
"""


def test_a_launch_directory_is_removed_after_use(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    with launch_directory(cache) as place:
        (place / "0.ews").touch()
        assert [*cache.iterdir()] == [place]
    assert not [*cache.iterdir()]


def test_the_next_launch_removes_directories_of_ended_processes_only(tmp_path: Path) -> None:
    """Not those of the living, nor of another machine with the same cache, nor the executor."""
    words = [sys.executable, "-c", STAYING, str(tmp_path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout and process.stdout.readline() == b"made\n"
        (theirs,) = tmp_path.iterdir()
        machine, number, rest = theirs.name.split(".", 2)
        assert number == str(process.pid)
        elsewhere = tmp_path / f"{machine}-too.{number}.{rest}"
        others = {elsewhere, tmp_path / "executor-0123", tmp_path / "launch-of-somebody"}
        for other in others:
            other.mkdir()
        remove_abandoned(tmp_path)
        assert {*tmp_path.iterdir()} == {theirs, *others}, "it lives"
        process.kill()
    with launch_directory(tmp_path) as mine:
        assert {*tmp_path.iterdir()} == {mine, *others}
