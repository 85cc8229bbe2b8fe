"""Traces in GOAL and Chakra: simulated on the fabric of any scenario, and converted."""

import gzip
import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from etherweave.api.results import Result
from support.command_line import COMMAND, run_here

SCENARIOS = Path(__file__).parents[2] / "scenarios"
FABRIC = (
    '[topology.single_switch]\nhosts = 4\n[[job]]\nname = "a"\nworkload.osu_latency = {}\n'
    "placement.hosts = [3, 1]\n"
)
GOAL = "num_ranks 2\nrank 0 {\nsend 10b to 1\n}\nrank 1 {\nrecv 10b from 0\n}\n"
BOTH_SEND_FIRST = """num_ranks 2
rank 0 {
s: send 1000000b to 1
r: recv 1000000b from 1
r requires s
}
rank 1 {
s: send 1000000b to 0
r: recv 1000000b from 0
r requires s
}
"""
"""Ends only where a send does not wait for its receive."""


@pytest.fixture
def fabric(tmp_path: Path) -> Path:
    file = tmp_path / "fabric.toml"
    file.write_text(FABRIC)
    return file


def predicted(*words: object) -> float:
    document = json.loads(run_here("replay", *words, "--json", code=0).stdout)
    assert (document["recorded"], document["recorded_ns"], document["error"]) == (None, None, None)
    span_ns: float = document["predicted_ns"]
    return span_ns


def test_a_goal_trace_is_replayed_as_text_and_as_binary(fabric: Path, tmp_path: Path) -> None:
    text, result = tmp_path / "trace.txt", tmp_path / "result"
    text.write_text(GOAL)
    assert run_here("schedule", text.rename(tmp_path / "t.goal"), "-o", tmp_path).returncode == 0
    span_ns = predicted(tmp_path / "t.goal", "--on", fabric, "-o", result)
    assert span_ns == predicted(tmp_path / "t.bin", "--on", fabric)
    assert {"host1", "host3"} <= set(Result.load(result).values("iterations", "host"))
    slow = ("--set", "topology.single_switch.rate=1Gb/s")
    assert predicted(tmp_path / "t.goal", "--on", fabric, *slow) > span_ns
    line = run_here("replay", tmp_path / "t.goal", "--on", fabric).stdout
    assert line == f"fabric: {span_ns / 1e6:,.3f} ms predicted\n"


def test_a_fabric_without_jobs_is_enough(fabric: Path, tmp_path: Path) -> None:
    (trace := tmp_path / "t.goal").write_text(GOAL)
    bare, result = tmp_path / "bare.toml", tmp_path / "result"
    bare.write_text("topology.single_switch.hosts = 4\n")
    assert predicted(trace, "--on", bare, "-o", result) == predicted(trace, "--on", fabric)
    assert set(Result.load(result).values("iterations", "job")) == {"program"}


def test_the_time_is_that_of_the_trace_beside_longer_jobs(fabric: Path, tmp_path: Path) -> None:
    (trace := tmp_path / "t.goal").write_text(GOAL)
    both = tmp_path / "both.toml"
    other = '[[job]]\nname = "b"\nworkload.osu_latency = {}\nplacement.hosts = [0, 2]\n'
    both.write_text(FABRIC + other)
    assert predicted(trace, "--on", both) == pytest.approx(
        predicted(trace, "--on", fabric), rel=0.01
    )


def test_a_stuck_replay_names_its_waits_and_keeps_its_result(fabric: Path, tmp_path: Path) -> None:
    (trace := tmp_path / "t.goal").write_text(BOTH_SEND_FIRST)
    result, drawn = tmp_path / "result", tmp_path / "trace.json"
    done = run_here("replay", trace, "--on", fabric, "-o", result, "--trace", drawn, code=3)
    assert done.stdout == ""
    assert f"Stuck: the result in {result} is partial." in done.stderr
    assert "No event can make progress:\njob a: rank 0 on host3 waits for" in done.stderr
    assert Result.load(result).summary["finished"] == "stuck"
    assert json.loads(drawn.read_text())["traceEvents"]


def test_a_run_that_ends_before_the_trace_gives_no_time(fabric: Path, tmp_path: Path) -> None:
    (trace := tmp_path / "t.goal").write_text(GOAL)
    done = run_here("replay", trace, "--on", fabric, "--set", "run.end=1us", code=2)
    assert done.stderr == ("fabric: run.end: a has not ended then; expected a later end, or none\n")


def test_traces_of_chakra_are_replayed_by_folder_or_pattern(fabric: Path, tmp_path: Path) -> None:
    on = ("--on", fabric, "--set", "job.0.placement.hosts=[0,1,2,3]")
    folder = SCENARIOS / "chakra"
    span_ns = predicted(folder, *on)
    assert span_ns == predicted(folder / "step.{rank}.et.gz", *on)
    assert predicted(folder, *on, "--compute-scale", "0.5") < span_ns


def test_the_workload_of_a_job_keeps_its_other_keys(tmp_path: Path) -> None:
    (trace := tmp_path / "t.goal").write_text(GOAL)
    (scenario := tmp_path / "s.toml").write_text(
        'topology.single_switch.hosts = 4\n[[job]]\nname = "a"\n[job.workload.goal]\n'
        'file = "none.goal"\nsha256 = "00"\niterations = 3\n'
    )
    run_here("replay", trace, "--on", scenario, "-o", tmp_path / "result", code=0)
    assert set(Result.load(tmp_path / "result").values("iterations", "iteration")) == {0, 1, 2}
    half, given = SCENARIOS / "chakra.toml", ("--compute-scale", "1")
    assert predicted(SCENARIOS / "chakra", "--on", half) < predicted(
        SCENARIOS / "chakra", "--on", half, *given
    )


@pytest.mark.parametrize("has_job", [False, True])
def test_settings_of_the_first_job_apply_to_it(has_job: bool, fabric: Path, tmp_path: Path) -> None:
    (trace := tmp_path / "t.goal").write_text(GOAL)
    if not has_job:
        fabric.write_text("topology.single_switch.hosts = 4\n")
    settings = ("--set", "job.0.workload.goal.iterations=3", "--set", "job.0.name=x")
    result = tmp_path / "result"
    predicted(trace, "--on", fabric, *settings, "-o", result)
    assert Result.load(result).values("iterations", "job") == ["x"] * 6
    control = ("--set", "job.0.workload.chakra.control_dependencies=false")
    groups = ("--set", "job.0.workload.chakra.groups={ 7 = [0, 9] }")
    on = ("--on", fabric, *control, *groups, "--set", "job.0.placement.hosts=[0,1,2,3]")
    wrong = run_here("replay", SCENARIOS / "chakra", *on)
    assert "job.0.workload.chakra.groups.7: rank 9 of a job of 4 ranks" in wrong.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("t.goal", "--compute-scale", "2"), "t.goal: a GOAL trace with another factor"),
        (("t.goal", "--library", "mpich_4"), "t.goal: a GOAL trace with another factor"),
        (("t.goal", "--ranks-per-node", "2"), "t.goal: a trace with a number of ranks of a node"),
        (("t.goal", "--keep", "kept"), "t.goal: a trace with a number of ranks of a node"),
        (("none.goal",), "none.goal: No such file or directory; expected the directory of a rec"),
        (("cycle.goal",), "cycle.goal: line 3: an operation that waits for itself"),
        (("traces",), "traces/0.0.et: byte 0: "),
        (("traces/0.{rank}.et",), "traces/0.0.et: byte 0: "),
        (("empty",), "empty: no files; expected a file for each rank, ending in .ewr"),
        (("t.goal.gz",), "a file compressed by gzip; expected a schedule in GOAL, text or binary"),
    ],
)
def test_what_a_trace_has_not_is_refused(
    words: tuple[str, ...],
    message: str,
    fabric: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.goal").write_text(GOAL)
    Path("t.goal.gz").write_bytes(gzip.compress(GOAL.encode()))
    Path("empty").mkdir()
    Path("cycle.goal").write_text("num_ranks 1\nrank 0 {\na: calc 1\na requires a\n}\n")
    Path("traces").mkdir()
    Path("traces/0.0.et").write_bytes(b"\7")
    done = run_here("replay", *words, "--on", fabric, code=2)
    assert message in done.stderr
    assert "override" not in done.stderr


def test_an_error_of_the_job_names_the_scenario(tmp_path: Path) -> None:
    (trace := tmp_path / "t.goal").write_text(GOAL)
    (bare := tmp_path / "bare.toml").write_text("topology.single_switch.hosts = 1\n")
    assert run_here("replay", trace, "--on", bare, code=2).stderr.startswith(f"{bare}: job.0")


@pytest.mark.parametrize("verb", ["run", "show", "design"])
def test_a_trace_in_place_of_a_scenario_is_a_mistake(verb: str, tmp_path: Path) -> None:
    (trace := tmp_path / "t.goal").write_text(GOAL)
    done = run_here(verb, trace, code=2)
    assert done.stderr.startswith(f"{trace}: a trace; expected a scenario, on which")


def test_a_text_of_windows_is_read(fabric: Path, tmp_path: Path) -> None:
    plain, windows = tmp_path / "plain.goal", tmp_path / "windows.goal"
    plain.write_text(GOAL)
    windows.write_bytes(b"\xef\xbb\xbf" + GOAL.replace("\n", "\r\n").encode())
    assert predicted(plain, "--on", fabric) == predicted(windows, "--on", fabric)


@pytest.mark.parametrize(
    ("text", "output", "message"),
    [
        ("none.goal", "out", "none.goal: No such file or directory"),
        ("folder.goal", "out", "folder.goal: text: line 1: it cannot be read (Is a directory"),
        ("t.goal", "/proc/none", "/proc/none: No such file or directory"),
    ],
)
def test_a_conversion_names_the_file_that_is_wrong(
    text: str, output: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.goal").write_text(GOAL)
    Path("folder.goal").mkdir()
    assert run_here("schedule", text, "-o", output, code=2).stderr[: len(message)] == message


def test_an_interrupted_conversion_leaves_what_was_there(tmp_path: Path) -> None:
    binary = tmp_path / "t.bin"
    binary.write_bytes(b"before")
    os.mkfifo(text := tmp_path / "t.goal")
    process = subprocess.Popen([*COMMAND, "schedule", text, "-o", tmp_path], stderr=subprocess.PIPE)
    with suppress(BrokenPipeError), text.open("w") as pipe:
        pipe.write("num_ranks 2\nrank 0 {\n")
        pipe.flush()
        while not (tmp_path / "t.bin.part").exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        for _ in range(1 << 15):
            pipe.write("calc 10\n" * 10)
    process.communicate(timeout=60)
    assert (process.returncode, binary.read_bytes()) == (130, b"before")
    assert not (tmp_path / "t.bin.part").exists()


def test_experts_are_written_as_chakra_and_goal_and_take_as_long(tmp_path: Path) -> None:
    """Messages of a driver, in the order in which it sends them, by the library that it has."""
    file = SCENARIOS / "moe.toml"
    own = ("--set", "job.0.workload.moe.tokens=64", "--set", "run.fidelity=flow")
    same = ("--set", "host.mpi_roce.profile=deepep", "--set", "job.0.connections=10")
    assert run_here("run", file, *own, *same, "-o", tmp_path / "r").returncode == 0
    run = Result.load(tmp_path / "r")
    rows = (run.values("iterations", column) for column in ("start_ns", "duration_ns"))
    span_ns = max(map(sum, zip(*rows, strict=True)))
    done = run_here("schedule", file, *own, "-o", tmp_path, "--chakra", "--goal", code=0)
    needed = "--set job.0.connections=10 --set 'host.mpi_roce.profile=\"deepep\"'"
    assert f"a replay of its trace needs {needed}" in done.stderr
    for trace in ("0.{rank}.et", "0.goal"):
        on = ("--on", file, "--set", "run.fidelity=flow", *same)
        assert predicted(tmp_path / trace, *on) == pytest.approx(span_ns, rel=0.01)


def test_a_job_that_states_its_connections_needs_the_profile_of_its_library(tmp_path: Path) -> None:
    text = (SCENARIOS / "moe.toml").read_text()
    file = tmp_path / "stated.toml"
    file.write_text(text.replace("[[job]]\n", "[[job]]\nconnections = 10\n"))
    options = ("--set", "job.0.workload.moe.tokens=64", "-o", tmp_path, "--goal")
    done = run_here("schedule", file, *options)
    needed = "--set 'host.mpi_roce.profile=\"deepep\"'"
    assert f"a replay of its trace needs {needed}\n" in done.stderr
    # A key of the library leaves its others to the profile.
    file.write_text(file.read_text() + '[host.mpi_roce]\neager_max = "1MiB"\n')
    assert f"a replay of its trace needs {needed}\n" in run_here("schedule", file, *options).stderr
    file.write_text(file.read_text() + 'profile = "deepep"\n')
    assert "a replay of its trace" not in run_here("schedule", file, *options).stderr
