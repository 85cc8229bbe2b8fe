"""The verb ``tune``: a file for NCCL's tuner from simulated calls, and what it gains."""

import json
from pathlib import Path

import pytest

from support import command_line

SCENARIO = Path(__file__).parents[2] / "scenarios" / "nccl_tests.toml"
FEW = ("--set", "job.0.workload.nccl_tests.ranks=16", "--sizes", "8KiB,64MiB")


def test_the_best_of_each_size_is_no_slower_than_the_choice_of_nccl(tmp_path: Path) -> None:
    file = tmp_path / "nccl_tuner.conf"
    words = ("tune", SCENARIO, "--collective", "allreduce", *FEW, "-o", file)
    search = json.loads(command_line.run_here(*words, "--json").stdout)
    assert [timing["size"] for timing in search["timings"]] == [8 << 10, 64 << 20]
    assert all(timing["gain"] >= 0 for timing in search["timings"])
    assert search["entries"][0]["min_bytes"] == 0
    again = json.loads(
        command_line.run_here(
            *("tune", SCENARIO, "--collective", "allreduce", *FEW, "--file", file, "--json")
        ).stdout
    )
    times = [[timing["chosen_s"] for timing in facts["timings"]] for facts in (search, again)]
    assert times[0] == pytest.approx(times[1])


def test_a_group_without_an_entry_takes_ring_with_simple(tmp_path: Path) -> None:
    file = tmp_path / "nccl_tuner.conf"
    file.write_text("allreduce,0,4294967295,tree,ll,-1,1,8\n")
    words = ("tune", SCENARIO, "--collective", "allreduce", *FEW, "--file", file)
    text = command_line.run_here(*words).stdout
    assert text.count("ring simple") == 2


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--sizes", "0B"), "--sizes 0B: expected 1 to 64 sizes of 1 B or more"),
        (("--sizes", "much"), "much: expected a size such as 64KiB"),
        (("--ranks", "12"), "ranks: 12; expected a multiple of 8, the accelerators of a node"),
    ],
)
def test_a_mistake_is_named(words: tuple[str, ...], reason: str) -> None:
    done = command_line.run_here("tune", SCENARIO, *words, code=2)
    assert reason in done.stderr


def test_a_scenario_without_nccl_is_refused() -> None:
    done = command_line.run_here("tune", SCENARIO.with_name("first.toml"), code=2)
    assert "expected one with workload.nccl_tests" in done.stderr
