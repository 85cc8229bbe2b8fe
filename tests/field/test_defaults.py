"""Defaults of hosts and libraries that decide what a collective takes."""

from typing import Any

import pytest

import etherweave
from etherweave.api.overview import overview
from etherweave.api.simulation import foresee


def run(scenario: dict[str, Any]) -> dict[str, float]:
    """Return the times of the only job of a scenario."""
    jobs: dict[str, dict[str, float]] = overview(etherweave.run(scenario))["jobs"]
    (times,) = jobs.values()
    return times


def nccl(operation: dict[str, Any], **host: Any) -> dict[str, Any]:
    """Describe two servers of four accelerators with 400 Gb/s each."""
    workload = {"ranks": 8, "operation": operation, "iterations": 2, "node": {"accelerators": 4}}
    return {
        "topology": {"rail_optimised": {"servers": 2, "rails": 4, "servers_per_pod": 2}},
        "interconnect": {"profile": "ethernet-400-roce"},
        "host": host,
        "run": {"fidelity": "flow"},
        "job": [{"name": "a", "workload": {"nccl_tests": workload}}],
    }


def test_an_all_to_all_of_accelerators_takes_the_time_of_its_network() -> None:
    """Four blocks of 1 GiB of each rank leave its server: 4 * 2^30 * 8 / 400e9 s = 85.9 ms."""
    least_us = 4 * 2**30 * 8 / 400e9 * 1e6
    assert least_us < run(nccl({"alltoall": {"bytes": "1GiB"}}))["mean_us"] < 1.03 * least_us


def test_a_library_that_is_given_stays_and_a_run_warns_of_its_copies() -> None:
    scenario = nccl({"alltoall": {"bytes": "16MiB"}}, mpi_roce={"profile": "ucx-1.18"})
    free = nccl({"alltoall": {"bytes": "16MiB"}})
    assert run(scenario)["mean_us"] > 1.5 * run(free)["mean_us"]
    estimate = foresee(scenario)
    assert estimate is not None
    (warning,) = estimate["warnings"]
    assert "nccl-2.21" in warning and "job.0.workload.nccl_tests" in warning


def test_mpi_copies_its_own_block_once() -> None:
    """16 MiB: 1,370 us on the wire of 100 Gb/s, 16,384 copies of 1 KiB at 87.623 ns beside."""
    operation = {"alltoall": {"bytes": "16MiB"}}
    workload = {"ranks": 2, "operation": operation, "warm_up": 0, "iterations": 1}
    times = run(
        {
            "topology": {"single_switch": {"hosts": 2}},
            "interconnect": {"profile": "ethernet-100-roce"},
            "job": [{"name": "a", "workload": {"osu_collective": workload}}],
        }
    )
    assert times["mean_us"] == pytest.approx(1_370 + 16_384 * 0.087623, rel=0.03)


@pytest.mark.parametrize("profile", ["infiniband-ndr", "ethernet-400-roce"])
def test_blocks_of_256_kib_are_not_copied(profile: str) -> None:
    """Per byte a block of 256 KiB takes at most half more than one of 1 MiB."""

    def per_kib(size: int) -> float:
        operation = {"alltoall": {"bytes": f"{size}KiB"}}
        workload = {"ranks": 8, "operation": operation, "warm_up": 0, "iterations": 1}
        scenario = {
            "topology": {"single_switch": {"hosts": 8}},
            "interconnect": {"profile": profile},
            "job": [{"name": "a", "workload": {"osu_collective": workload}}],
        }
        return run(scenario)["mean_us"] / size

    assert per_kib(256) < 1.5 * per_kib(1024)


@pytest.mark.parametrize("operation", ["allgather", "allreduce", "alltoall"])
def test_a_sampled_collective_prints_the_time_of_the_call(operation: str) -> None:
    """Rounds are alike: three of each pass give the time of all within 3 %."""
    algorithm = "pairwise" if operation == "alltoall" else "ring"

    def times(**keys: int) -> dict[str, float]:
        workload = {
            "ranks": 16,
            "algorithm": algorithm,
            "operation": {operation: {"bytes": "1MiB"}},
            "warm_up": 0,
            "iterations": 1,
            **keys,
        }
        job = {"name": "a", "workload": {"osu_collective": workload}}
        return run({"topology": {"single_switch": {"hosts": 16}}, "job": [job]})

    own = times()
    assert "call_us" not in own
    assert times(samples=3)["call_us"] == pytest.approx(own["mean_us"], rel=0.03)
