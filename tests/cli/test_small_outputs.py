"""Lines of ``replay``, ``calibrate`` and ``lab exec``."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from etherweave.api.replays import processor_wait
from etherweave.bench.calibration.measured import MICRO
from etherweave.cli import replay
from etherweave.cli.calibrate import interval_us, not_determined
from etherweave.cli.lab import exec as lab_exec
from etherweave.control.lab import lifecycle
from support import command_line

FACTS = {
    **{"hosts": ["a"], "ranks": 2, "span_ns": 2e6, "library": "Open MPI", "calls": 7},
    **{"compute_share": 0.5, "recorder_share": 0.0, "record_ns_max": 9},
}


def line(waited: float, scale: float = 1.0) -> str:
    done: Any = SimpleNamespace(
        recorded=FACTS, library="open_mpi_4_1", compute_scale=scale, predicted_ns=1e6, error=-0.5
    )
    return replay.text(done, Path("fabric.toml"), waited).splitlines()[1]


def test_a_replay_begins_with_the_prediction() -> None:
    rest = "1.000 ms of computation, collectives of open_mpi_4_1"
    assert line(0.1) == f"fabric: 1.000 ms predicted, -50.0% against the recording; {rest}"
    assert "1.000 ms of computation x 0.5, " in line(0.1, scale=0.5)


def test_ranks_that_mostly_waited_for_a_processor_have_no_error() -> None:
    withheld = "1.000 ms predicted, not compared with the recording, whose ranks mostly waited"
    assert withheld in line(0.876) and "%" not in line(0.876)


def test_the_longest_wait_for_a_processor_is_read_from_the_heads(tmp_path: Path) -> None:
    assert processor_wait(tmp_path) == 0
    for rank, waited in enumerate((120_000, 876_000)):
        (tmp_path / f"{rank}.ewr").write_bytes(bytes(20) + waited.to_bytes(4, "little"))
    assert processor_wait(tmp_path) == 0.876


@pytest.mark.parametrize("words", [["ping", "host7"], ["--", "ping", "host7"]])
def test_a_command_in_a_lab_may_stand_behind_two_dashes(
    words: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls = list[Any]()
    lab = SimpleNamespace(layout=None, directory=tmp_path)
    monkeypatch.setattr(lab_exec, "root_only", lambda: None)
    monkeypatch.setattr(lifecycle, "find", lambda scope, name: lab)
    monkeypatch.setattr(lab_exec, "host_namespace", lambda layout, host: host)
    monkeypatch.setattr(lab_exec, "execute", lambda *call: calls.append(call))
    lab_exec.exec_verb("host0", words)
    assert calls == [("host0", tmp_path / "hosts", ["ping", "host7"])]


def constants(**inferred: bool) -> list[Any]:
    return [SimpleNamespace(key=key, is_inferred=value) for key, value in inferred.items()]


def test_what_is_not_determined_is_named() -> None:
    tests = {"osu_latency"}
    assert not_determined(constants(a=True), tests) == ""
    named = not_determined(constants(a=True, b=False), tests)
    assert named == "not determined by these measurements: b"
    none = not_determined(constants(a=False, b=False), tests)
    assert none.startswith("these measurements determine no constant")
    assert "; measure incast, osu_bw too, or predict intervals with `run --samples 64" in none
    assert "measure" not in not_determined(constants(a=False), MICRO).partition(";")[2]


def test_a_value_that_nothing_varies_has_no_interval() -> None:
    assert interval_us(146e-6, 146.2e-6) == "none"
    assert interval_us(146e-6, 152e-6) == "146 to 152"


@pytest.mark.parametrize("verb", ["advise", "sweep"])
def test_the_help_of_a_group_that_takes_a_file_says_so(verb: str) -> None:
    text = command_line.invoke(verb, "--help", code=0).output
    assert f"{verb} [OPTIONS] FILE | COMMAND [ARGS]..." in text
    assert f"{verb} FILE` is short for " in text and f"{verb} run --help` prints " in text
