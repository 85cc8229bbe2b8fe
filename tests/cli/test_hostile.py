"""Arguments and files that no verb expects end with 2 and one sentence, never with a traceback."""

import contextlib
import os
import subprocess
from pathlib import Path

import pytest

from support import command_line

FIRST = str(Path(__file__).parents[2] / "scenarios/first.toml")


def mistake(*words: str, cwd: Path | None = None) -> str:
    """Return the output of a command that ends with 2."""
    with contextlib.chdir(cwd or Path.cwd()):
        done = command_line.run_here(*words)
    return sentence(done.returncode, done.stdout, done.stderr)


def sentence(code: int, stdout: str, stderr: str) -> str:
    """Check how a command ends after a mistake."""
    assert code == 2, stderr
    assert "Traceback" not in stderr
    assert not stdout
    return stderr


@pytest.mark.parametrize("place", ["run", FIRST, "seed=1"])
def test_an_argument_that_is_not_utf_8_is_a_mistake(place: str) -> None:
    words = ["run", FIRST, "--set", "seed=1"]
    hostile = [word.encode() + b"\xff\xfe" if word == place else word for word in words]
    command = [*command_line.COMMAND, *hostile]
    done = subprocess.run(command, capture_output=True, check=False, timeout=60)
    said = sentence(done.returncode, done.stdout.decode(), done.stderr.decode("utf-8", "strict"))
    assert "expected UTF-8 text" in said


@pytest.mark.parametrize(
    "setting",
    [
        "seed=" + "9" * 5000,
        "seed=" + "9" * 4000,
        "x=" + "[" * 1000 + "]" * 1000,
        "x=" + "{a=" * 1000 + "1" + "}" * 1000,
        "=",
        "seed",
        "a.b.c.d.e.f=1",
        "a" + ".a" * 1000 + "=1",
        "seed=" + os.fsdecode(b"\xff"),
        "seed=1e999",
        ".=1",
        "@/dev/zero",
        "@/",
        "@nowhere",
    ],
    ids=lambda setting: f"{setting[:12]!r} of {len(setting)}",
)
def test_a_setting_that_no_scenario_holds_is_a_mistake(setting: str) -> None:
    assert mistake("run", FIRST, "--set", setting).count("\n") == 1


@pytest.mark.parametrize("number", [str(2**64), "-1", "0", "1e3", "x", "٣", "9" * 5000])
@pytest.mark.parametrize("verb", ["run", "curve", "observe", "design"])
def test_a_number_of_threads_that_there_cannot_be_is_a_mistake(verb: str, number: str) -> None:
    assert "--threads" in mistake(verb, FIRST, "--threads", number)


@pytest.mark.parametrize("seed", [str(2**64), str(2**63), "-1"])
def test_a_seed_that_there_cannot_be_is_a_mistake(seed: str) -> None:
    assert "--seed" in mistake("run", FIRST, "--seed", seed)


@pytest.mark.parametrize("verb", ["run", "show", "curve", "observe", "design"])
def test_a_scenario_that_is_no_regular_file_is_a_mistake(verb: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert "Is a FIFO; expected a file" in mistake(verb, "fifo", cwd=tmp_path)
    assert "Is a device; expected a file" in mistake(verb, "/dev/zero")
    assert "Is a directory; expected a file" in mistake(verb, "/")


def test_an_output_below_a_link_to_nothing_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    for output in ("link", "link/below"):
        assert "is a link to a missing file" in mistake("run", FIRST, "-o", output, cwd=tmp_path)
    curve = ("curve", FIRST, "-o", "link/points.csv")
    assert "No such file or directory" in mistake(*curve, cwd=tmp_path)
    drawn = ("design", FIRST, "--draw", "link/a.svg")
    assert "No such file or directory" in mistake(*drawn, cwd=tmp_path)
    assert "is a link to a missing file" in mistake(
        "design", FIRST, "--export", "dot", "-o", "link/x", cwd=tmp_path
    )
