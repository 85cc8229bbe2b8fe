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


def test_few_channels_leave_interfaces_idle_and_a_file_with_too_many_is_not_simulated(
    tmp_path: Path,
) -> None:
    """Two interfaces of 50 GB/s carry 15/8 of 64 MiB in 1.26 ms, eight in 0.31 ms."""
    file = tmp_path / "nccl_tuner.conf"

    def chosen(channels: int) -> dict[str, object]:
        file.write_text(f"allreduce,0,4294967295,ring,simple,{channels},2,16\n")
        words = ("tune", SCENARIO, "--collective", "allreduce", *FEW, "--file", file, "--json")
        return dict(json.loads(command_line.run_here(*words).stdout)["timings"][1])

    few, all_used = (float(str(chosen(channels)["chosen_s"])) for channels in (2, 8))
    of_interface = 15 / 8 * (64 << 20) / 50e9
    assert few - all_used == pytest.approx(of_interface / 2 - of_interface / 8, rel=0.1)
    assert chosen(33)["chosen"] is None


def test_switches_of_nodes_are_tried_where_nodes_have_them(tmp_path: Path) -> None:
    switches = ("--set", "job.0.workload.nccl_tests.node.reduction_rate=2476Gb/s")
    words = ("tune", SCENARIO, "--collective", "allreduce", *FEW, "--ranks", "16", "--ranks", "8")
    timings = json.loads(command_line.run_here(*words, *switches, "--json").stdout)["timings"]
    assert [timing["chosen"][0] for timing in timings if timing["size"] > 1 << 20] == [
        "nvls_tree",
        "nvls",
    ]
    file = tmp_path / "nccl_tuner.conf"
    file.write_text("allreduce,0,4294967295,nvls_tree,simple,-1,2,16\n")
    assert "not simulated" in command_line.run_here(*words[:-2], "--file", file).stdout


def test_gathers_of_nodes_of_one_try_trees_for_each_block_and_of_a_single_node_its_switches() -> (
    None
):
    node = "job.0.workload.nccl_tests.node"
    words = ("tune", SCENARIO, "--collective", "allgather", *FEW, "--json")

    def chosen(*more: str) -> list[list[object]]:
        timings = json.loads(command_line.run_here(*words, *more).stdout)["timings"]
        return [timing["chosen"] for timing in timings]

    assert chosen("--set", f"{node}.accelerators=1")[1][:2] == ["pat", "simple"]
    switches = ("--set", f"{node}.reduction_rate=7200Gb/s", "--ranks", "8")
    assert chosen(*switches)[1][:2] == ["nvls", "simple"]


def test_switches_of_the_network_are_tried_where_packets_reach_them() -> None:
    profile = ("--set", "interconnect.profile=infiniband-ndr")
    words = ("tune", SCENARIO, "--collective", "allreduce", *FEW, *profile, "--json")
    packets = (*words, "--set", "run.fidelity=packet")
    timings = [json.loads(command_line.run_here(*by).stdout)["timings"] for by in (packets, words)]
    packet, flow = ([timing["chosen"][0] for timing in of] for of in timings)
    assert packet[1] == "collnet_direct"
    assert not [name for name in flow if name.startswith("collnet")]


def test_a_file_for_ncclx_is_simulated_as_it_was_found(tmp_path: Path) -> None:
    """Where no line matches, NCCLX leaves the choice to NCCL, the plug-in of NCCL takes a ring."""
    file = tmp_path / "ncclx.csv"
    words = ("tune", SCENARIO, "--collective", "allreduce", *FEW, "--library", "ncclx", "--json")
    search, again = (
        json.loads(command_line.run_here(*words, *more).stdout)
        for more in (("-o", file), ("--file", file))
    )
    assert search == again
    file.write_text("allreduce,*,tree,ll,-1,[3,),*\n")
    (small, large) = json.loads(command_line.run_here(*words, "--file", file).stdout)["timings"]
    assert small["chosen"][0] == large["chosen"][0] == "own" and small["gain"] == 0


def test_channels_are_tried_beside_those_of_nccl() -> None:
    words = ("tune", SCENARIO, "--collective", "allgather", *FEW, "--channels", "8,16")
    assert ",ring," in command_line.run_here(*words).stdout


def test_a_group_without_an_entry_takes_ring_with_simple(tmp_path: Path) -> None:
    file = tmp_path / "nccl_tuner.conf"
    file.write_text("allreduce,0,4294967295,tree,ll,-1,1,8\n")
    words = ("tune", SCENARIO, "--collective", "allreduce", *FEW, "--file", file)
    assert command_line.run_here(*words).stdout.count("ring simple") == 2


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--sizes", "0B"), "--sizes 0B: expected 1 to 64 sizes of 1 B or more"),
        (("--sizes", "much"), "much: expected a size such as 64KiB"),
        (
            ("--channels", "8,33"),
            "--channels 8,33: expected numbers of channels, 1 to 32, by commas",
        ),
        (("--channels", "8,"), "--channels 8,: expected numbers of channels, 1 to 32, by commas"),
        (("--library", "aws"), "the tuner of aws-ofi-nccl reads no file"),
        (("--ranks", "12"), "ranks: 12; expected a multiple of 8, the accelerators of a node"),
    ],
)
def test_a_mistake_is_named(words: tuple[str, ...], reason: str) -> None:
    assert reason in command_line.run_here("tune", SCENARIO, *words, code=2).stderr


def test_a_scenario_without_nccl_is_refused() -> None:
    done = command_line.run_here("tune", SCENARIO.with_name("first.toml"), code=2)
    assert "expected one with workload.nccl_tests" in done.stderr
